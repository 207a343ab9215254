package find

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/index"
)

// RefreshOptions are for those who bring the catalogue up to date.
type RefreshOptions struct {
	// Problem, if set, is told of folders that could not be read.
	Problem func(error)
	// Progress, if set, is told now and then how far the reading is, never by two goroutines at once.
	Progress func(Progress)
}

// catalogued is a source with what is known of its logs.
type catalogued struct {
	Source
	// key is how the catalogue calls the source; see sourceKey. below is its folder with a separator behind it.
	key, below string
	logs       []index.Log
	// unread are logs that could not be read, and why. They are in no catalogue.
	unread []Row
	// here is how many logs there are that the catalogue must know.
	here int
}

// refresh brings the catalogue up to date with the logs of all sources: those that are new or changed are read, those that
// are gone are forgotten. When it is interrupted, what was read by then is kept.
//
// To keep it, the catalogue that others left is read. It may know less than the one that we began with: somebody deleted it, or a
// program of another version made its own. What it does not know is then read once more.
func (s *Store) refresh(ctx context.Context, opt RefreshOptions) ([]catalogued, error) {
	const tries = 3
	for n := 1; ; n++ {
		list, err := s.refreshOnce(ctx, opt)
		all := !slices.ContainsFunc(list, func(c catalogued) bool { return len(c.logs) < c.here })
		if err != nil || all {
			return list, err
		}
		if n == tries {
			if opt.Problem != nil {
				opt.Problem(errors.New("not all sessions are known: others change the catalogue again and again"))
			}
			return list, nil
		}
	}
}

func (s *Store) refreshOnce(ctx context.Context, opt RefreshOptions) ([]catalogued, error) {
	var list []catalogued
	var todo []errand
	known := s.opt.Index.Catalogue()
	for _, src := range s.readable() {
		c := catalogued{Source: src, key: sourceKey(src), below: filepath.Clean(src.Root.Sessions) + string(filepath.Separator)}
		b, err := s.opt.OpenDir(src.Root.Sessions)
		if err != nil {
			return nil, err
		}
		// Until all is read: the errands read from it.
		defer b.Close()
		more, err := s.compare(ctx, b, &c, known.Logs(c.key), opt)
		if err != nil {
			return nil, err
		}
		for i := range more {
			more[i].source = len(list)
		}
		list, todo = append(list, c), append(todo, more...)
	}
	// Before the reading, so that texts which are gone from the files are gone from the catalogue, even if the rest is
	// interrupted.
	s.prune(ctx, known, list)
	err := s.readAll(ctx, list, todo, opt)
	// What was read is kept even when it is cancelled: reading it was the expensive part.
	if commitErr := s.opt.Index.Commit(context.WithoutCancel(ctx)); err == nil {
		err = commitErr
	}
	// Asked again: it is another one by now.
	known = s.opt.Index.Catalogue()
	for i := range list {
		list[i].logs = known.Logs(list[i].key)
	}
	return list, err
}

// sourceKey is how a source is called in the catalogue. Values that share a folder have their own logs each.
func sourceKey(src Source) string {
	return filepath.Clean(src.Root.Sessions) + "\x00" + src.Dialect.Name()
}

// prune looks at places that are in the catalogue and no sources now (another shell's, or one that the settings no longer
// name): what is gone there is forgotten, and so is what changed. The catalogue holds no text that no file holds, and
// whoever looks there next finds the rest.
func (s *Store) prune(ctx context.Context, known *index.Catalogue, list []catalogued) {
	var runs []string
	for _, p := range s.runPlaces() {
		runs = append(runs, runsKey(p)) // searching brings them up to date
	}
	for i := range known.Sources {
		src := &known.Sources[i]
		if slices.ContainsFunc(list, func(c catalogued) bool { return c.key == src.Key }) || slices.Contains(runs, src.Key) {
			continue
		}
		dir, name, _ := strings.Cut(src.Key, "\x00")
		d, err := s.Dialect(name)
		if err != nil {
			// A dialect that this program does not have: nobody can say any more which logs are its own.
			s.opt.Index.Put(index.Update{Source: src.Key, Forget: true})
			continue
		}
		b, err := s.opt.OpenDir(dir)
		if err != nil {
			continue
		}
		// Without claims: a log that is listed for another source now stays known here as well, until it changes.
		c := catalogued{Source: Source{Dialect: d, Root: dialect.Root{Sessions: dir}}, key: src.Key}
		changed, err := s.compare(ctx, b, &c, src.Logs, RefreshOptions{})
		b.Close()
		if err != nil {
			return // interrupted
		}
		var stale []string
		// Those that are new there are nobody's business: only what is in the catalogue must be true.
		for k := range changed {
			if changed[k].known != nil {
				stale = append(stale, changed[k].log.Name)
			}
		}
		if len(stale) > 0 {
			s.opt.Index.Put(index.Update{Source: src.Key, Remove: stale})
		}
	}
}

// errand is a log that is to be read.
type errand struct {
	b      backend.Backend
	source int // in the list of sources
	log    backend.Log
	known  *index.Log // what was known of it, or nil
	told   int64      // see gauge
}

// compare lists the logs of a source beside what is known of them, both in the order of names. Nothing is opened: names,
// sizes, times and what the backend calls a generation are all that is looked at. What is gone is forgotten at once.
func (s *Store) compare(ctx context.Context, b backend.Backend, c *catalogued, known []index.Log, opt RefreshOptions) ([]errand, error) {
	var todo []errand
	var gone []string
	for log, err := range b.List(ctx, "") {
		if err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			// A folder that cannot be read looks as if its logs were gone: they are forgotten, and read again when it can
			// be.
			if opt.Problem != nil {
				opt.Problem(err)
			}
			continue
		}
		if !c.owns(log.Name) {
			continue
		}
		c.here++
		for len(known) > 0 && known[0].Name < log.Name {
			gone, known = append(gone, known[0].Name), known[1:]
		}
		r := errand{b: b, log: log}
		if len(known) > 0 && known[0].Name == log.Name {
			r.known, known = &known[0], known[1:]
			if r.known.Stamp.Same(log.Generation, log.Size, log.Time.UnixNano()) {
				continue
			}
		}
		todo = append(todo, r)
	}
	for i := range known {
		gone = append(gone, known[i].Name)
	}
	if len(gone) > 0 {
		s.opt.Index.Put(index.Update{Source: c.key, Remove: gone})
	}
	return todo, nil
}

const (
	// keepEvery is how often what was read is kept meanwhile, keepBytes how many bytes of signatures are not kept for longer.
	keepEvery = 2 * time.Second
	keepBytes = 8 << 20
)

// readAll reads logs, several at a time, and puts what they say into the index. A log that cannot be read is a row with an
// error and does not stop the others.
func (s *Store) readAll(ctx context.Context, list []catalogued, todo []errand, opt RefreshOptions) error {
	if len(todo) == 0 {
		return nil
	}
	var mu sync.Mutex
	g := gauge{mu: &mu, p: Progress{OfLogs: len(todo)}, tell: opt.Progress}
	for i := range todo {
		g.p.OfBytes += todo[i].log.Size
	}
	var next atomic.Int64
	last := s.opt.Clock()
	// done is called by one worker at a time; it also keeps what was read so far, so that an interrupted first run goes on
	// where it was.
	done := func(r *errand, l index.Log, err error) {
		mu.Lock()
		defer mu.Unlock()
		c := &list[r.source]
		switch {
		// What was read may be half of it.
		case ctx.Err() != nil:
			return
		// It went between the list and the reading.
		case errors.Is(err, backend.ErrNotExist):
			c.here--
			s.opt.Index.Put(index.Update{Source: c.key, Remove: []string{r.log.Name}})
		case err != nil:
			c.here--
			c.unread = append(c.unread, Row{Source: c.Source, Path: pathIn(c.Source, r.log.Name), Log: r.log, Err: err})
			s.opt.Index.Put(index.Update{Source: c.key, Remove: []string{r.log.Name}})
		default:
			s.opt.Index.Put(index.Update{Source: c.key, Put: []index.Log{l}})
		}
		g.done(r)
		if now := s.opt.Clock(); now.Sub(last) >= keepEvery || s.opt.Index.Pending() >= keepBytes {
			last = now
			_ = s.opt.Index.Commit(ctx) // cancelled: the caller sees it himself
		}
	}
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(todo)) {
		wg.Go(func() {
			// One for each worker: its buffers and its signer are used again for each log.
			v := surveyor{s: s, gauge: &g, buf: peekBuffer{places: s.places()}}
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(todo) {
					return
				}
				r := &todo[i]
				l, err := v.survey(ctx, r, list[r.source].Source)
				done(r, l, err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

func pathIn(src Source, name string) string {
	return filepath.Clean(src.Root.Sessions) + string(filepath.Separator) + filepath.FromSlash(name)
}

// Catalogue gives the sessions of all sources, newest first, with all that is known of them. The catalogue is brought up to
// date first.
func (s *Store) Catalogue(ctx context.Context, opt RefreshOptions) ([]Row, error) {
	list, err := s.refresh(ctx, opt)
	if err != nil {
		return nil, err
	}
	return s.rowsOf(list), nil
}

// Models gives the models that answered in the sessions of the catalogue as it was kept, by name. Nothing is brought up to
// date: it is for those who cannot wait.
func (s *Store) Models() []string {
	var list []string
	known := s.opt.Index.Catalogue()
	for i := range known.Sources {
		for k := range known.Sources[i].Logs {
			list = append(list, known.Sources[i].Logs[k].Summary.Models...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// rowsOf makes rows of what is known.
func (s *Store) rowsOf(list []catalogued) []Row {
	n := 0
	for i := range list {
		n += len(list[i].logs) + len(list[i].unread)
	}
	rows := make([]Row, 0, n)
	for i := range list {
		rows = s.appendRows(rows, &list[i])
	}
	shorten(rows)
	return newestFirst(rows, (*Row).When)
}

// appendRows adds the rows of one source, in the order of names, and behind them those that could not be read. Working
// directories that a log does not name are worked out here and not kept: they depend on what lies beside it.
func (s *Store) appendRows(rows []Row, c *catalogued) []Row {
	begin := len(rows)
	names, byName := byNames(c.Dialect)
	for k := range c.logs {
		rows = append(rows, s.rowOf(c, &c.logs[k]))
		switch r := &rows[len(rows)-1]; {
		case isRuns(r.Dialect):
			rows = rows[:len(rows)-1] // logs of runs belong to Runs, wherever they lie
		case byName && r.Err == nil:
			r.ID, r.Created = names.Named(r.Log.Name)
		}
	}
	s.placeRows(rows[begin:])
	return append(rows, c.unread...)
}

// speaks says whether a row of this source is what rowOf says of its log: nothing depends on what its file is called, or on
// what lies beside it.
func (s *Store) speaks(c *catalogued) bool {
	if _, ok := placer(c.Dialect); ok || isRuns(c.Dialect) {
		return false
	}
	for i := range c.logs {
		if name := c.logs[i].Summary.Dialect; name != c.Dialect.Name() {
			d, err := s.Dialect(name)
			if _, ok := placer(d); ok || err == nil && isRuns(d) {
				return false
			}
		}
	}
	return true
}

// rowOf makes a row of a log that is known.
func (s *Store) rowOf(c *catalogued, l *index.Log) Row {
	known := &l.Summary
	r := Row{
		Source: c.Source, Path: c.below + filepath.FromSlash(l.Name), Known: known, kept: l, Dialect: c.Dialect,
		Log: backend.Log{Name: l.Name, Generation: l.Stamp.Generation, Size: l.Stamp.Size, Time: time.Unix(0, l.Stamp.Nanos)},
	}
	// A log's content may say another value of the family than its place does.
	if known.Dialect != c.Dialect.Name() {
		if d, err := s.Dialect(known.Dialect); err == nil {
			r.Dialect = d
		}
	}
	// An empty file is one that an agent is about to fill: no error, and no session yet.
	if !known.Session && l.Stamp.Size > 0 {
		r.Err = ErrNotSession
		return r
	}
	r.Summary = dialect.Summary{
		ID: known.ID, CWD: known.CWD, Title: known.Title, Prompt: known.Prompt, Created: known.Created, Active: known.Active,
		Messages: known.Messages, Parent: known.Parent, Version: known.Version, OK: known.Session,
	}
	return r
}

// bounded cuts a text that is kept for lists: it may be a whole file.
func bounded(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(strings.Clone(text[:most]), "") // not a part, which would keep all of it
}
