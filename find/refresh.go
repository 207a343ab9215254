package find

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/find/copies"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/place"
)

// source is a source with what is known of its logs.
type source struct {
	place.Source
	key    string // in the catalogue
	pathOf func(name string) string
	logs   *index.Logs
	// unread are the rows of logs that could not be read. They are not in the catalogue.
	unread []place.Row
	// here counts the logs that the catalogue must know.
	here int
}

// refresh brings the catalogue up to date with the logs of all sources: it reads the logs that are new or changed, and
// forgets those that are gone. If it is interrupted, it keeps what was read by then.
//
// A commit merges with the catalogue that other processes left. Another process may have deleted it, or replaced it with another version,
// so it may know less than the one that refresh began with. Then the missing logs are read again.
func (f *Finder) refresh(ctx context.Context, opt RefreshOptions) ([]source, error) {
	const tries = 3
	for n := 1; ; n++ {
		list, err := f.refreshOnce(ctx, opt)
		all := !slices.ContainsFunc(list, func(s source) bool { return s.logs.Len() < s.here })
		if err != nil || all {
			return list, err
		}
		if n == tries {
			if opt.Problem != nil {
				opt.Problem(errors.New("the list of sessions is incomplete: other processes keep changing the catalogue"))
			}
			return list, nil
		}
	}
}

func (f *Finder) refreshOnce(ctx context.Context, opt RefreshOptions) ([]source, error) {
	var list []source
	var todo []job
	var keys []string
	known := f.ix.Catalogue()
	for _, src := range f.m.Sources() {
		if src.Err != nil {
			return nil, src.Err
		}
		s := source{Source: src, key: src.Key(), pathOf: src.Paths()}
		keys = append(keys, s.key)
		if src.Needs != "" {
			continue // another program with that driver may have listed its logs: they stay in the catalogue
		}
		b, err := f.m.Open(src.Root.Sessions)
		if err != nil {
			return nil, err
		}
		more, err := f.compare(ctx, b, s.key, known.Logs(s.key), opt.Problem, func(l backend.Log) bool {
			if !s.Owns(l.Name) {
				return false
			}
			s.here++
			return true
		})
		if err != nil {
			return nil, err
		}
		for i := range more {
			more[i].source = len(list)
		}
		list, todo = append(list, s), append(todo, more...)
	}
	for _, src := range f.m.RunSources() {
		keys = append(keys, runsKey(&src)) // a search brings them up to date
	}
	// Before the reading: even if that is interrupted, the catalogue has no texts that are in no file.
	f.prune(ctx, known, keys)
	read := func(todo []job) error {
		err := f.readAll(ctx, list, todo, opt)
		// Also after a cancellation: reading was the expensive part.
		if commitErr := f.ix.Commit(context.WithoutCancel(ctx)); err == nil {
			err = commitErr
		}
		known := f.ix.Catalogue()
		for i := range list {
			list[i].logs = known.Logs(list[i].key)
		}
		return err
	}
	if err := read(todo); err != nil {
		return list, err
	}
	todo, err := f.copies(ctx, list)
	if len(todo) == 0 || err != nil {
		return list, err
	}
	return list, read(todo)
}

// prune checks the places in the catalogue that are not sources now, for example because another shell has other settings. It forgets what
// is gone or changed there; the next refresh with that source reads it again.
func (f *Finder) prune(ctx context.Context, known *index.Catalogue, keys []string) {
	for i := range known.Sources {
		src := &known.Sources[i]
		if slices.Contains(keys, src.Key) {
			continue
		}
		dir, name, _ := strings.Cut(src.Key, "\x00")
		d, err := f.m.Dialect(name)
		if err != nil {
			// This program does not have the dialect, so it cannot tell which logs belong to it.
			f.ix.Put(index.Update{Source: src.Key, Forget: true})
			continue
		}
		b, err := f.m.Open(dir)
		if err != nil {
			continue
		}
		// Without claims: a log that is listed for another source now stays known here as well, until it changes.
		s := place.Source{Dialect: d, Root: dialect.Root{Sessions: dir}}
		changed, err := f.compare(ctx, b, src.Key, src.Logs, nil, func(l backend.Log) bool { return s.Owns(l.Name) })
		if err != nil {
			return // interrupted
		}
		var stale []string
		for k := range changed {
			if changed[k].known != nil { // new logs stay unknown
				stale = append(stale, changed[k].log.Name)
			}
		}
		if len(stale) > 0 {
			f.ix.Put(index.Update{Source: src.Key, Remove: stale})
		}
	}
}

// job is a log that is to be read.
type job struct {
	b      backend.Backend
	source int // index in the list of sources
	log    backend.Log
	known  *index.Log       // what was known of it, or nil
	copied *copies.Relation // what it is a copy of, if that is known
	told   int64            // see meter
	// shared and found are the source, and what was known, of a log in a shared index.
	shared *place.Source
	found  *index.Found
}

// compare lists the logs of a source in parallel with what is known of them, both in the order of names, and returns those that are new or
// changed. owns selects the logs of the source. No log is opened: names, sizes, times and generations are compared. Logs that are gone are
// forgotten at once.
func (f *Finder) compare(
	ctx context.Context, b backend.Backend, key string, known *index.Logs, problem func(error), owns func(backend.Log) bool,
) ([]job, error) {
	var todo []job
	var gone []string
	next := 0 // in known
	for log, err := range b.List(ctx, "") {
		if err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			// The logs of a folder that cannot be read are forgotten, and read again when it can be.
			if problem != nil {
				problem(err)
			}
			continue
		}
		if !owns(log) {
			continue
		}
		for next < known.Len() && known.Compare(next, log.Name) < 0 {
			gone = append(gone, nameOf(known, next))
			next++
		}
		j := job{b: b, log: log}
		if next < known.Len() && known.Compare(next, log.Name) == 0 {
			same := known.Brief(next)
			if next++; same.Same(log.Generation, log.Size, log.Time.UnixNano(), log.Changed) {
				continue
			}
			j.known = known.At(next - 1)
		}
		todo = append(todo, j)
	}
	for ; next < known.Len(); next++ {
		gone = append(gone, nameOf(known, next))
	}
	if len(gone) > 0 {
		f.ix.Put(index.Update{Source: key, Remove: gone})
		dir, _, _ := strings.Cut(key, "\x00")
		for _, name := range gone {
			f.ix.ForgetRows(place.Dir(place.Join(dir, name)))
		}
	}
	return todo, nil
}

func nameOf(logs *index.Logs, i int) string {
	b := logs.Brief(i)
	return b.Name()
}

// Limits for commits during the reading, so that an interrupted first run continues where it was.
const (
	commitEvery = 2 * time.Second
	commitBytes = 8 << 20 // see index.Index.Pending
)

// readAll reads logs, several at a time, and puts the results into the index. A log that cannot be read becomes a row with an error and
// does not stop the reading.
func (f *Finder) readAll(ctx context.Context, list []source, todo []job, opt RefreshOptions) error {
	if len(todo) == 0 {
		return nil
	}
	var mu sync.Mutex
	g := meter{mu: &mu, p: Progress{OfLogs: len(todo)}, tell: opt.Progress}
	for i := range todo {
		g.p.OfBytes += todo[i].log.Size
	}
	var next atomic.Int64
	last := f.clock()
	commit := func() {
		if now := f.clock(); now.Sub(last) >= commitEvery || f.ix.Pending() >= commitBytes {
			last = now
			_ = f.ix.Commit(ctx) // if it is cancelled, so is the caller
		}
	}
	// done takes a log that was read, and reports whether it is valid; a log that is to share a signature is put later.
	done := func(j *job, l index.Log, put bool, err error) bool {
		mu.Lock()
		defer mu.Unlock()
		s := &list[j.source]
		switch {
		case ctx.Err() != nil:
			return false // a cancelled read may have only half of the log
		case errors.Is(err, backend.ErrNotExist):
			s.here-- // removed between the list and the reading
			f.ix.Put(index.Update{Source: s.key, Remove: []string{j.log.Name}})
		case err != nil:
			s.here--
			s.unread = append(s.unread, place.Row{Source: s.Source, Path: s.pathOf(j.log.Name), Log: j.log, Err: err})
			f.ix.Put(index.Update{Source: s.key, Remove: []string{j.log.Name}})
		case put:
			f.ix.Put(index.Update{Source: s.key, Put: []index.Log{l}})
		}
		g.done(j)
		j.log, j.known = backend.Log{}, nil // the names of a hundred thousand logs are much memory
		commit()
		return err == nil
	}
	share := func(r *reader) {
		if len(r.short) == 0 {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		f.ix.Put(index.Update{Source: list[r.shortOf].key, Put: r.short, Together: r.together.Together()})
		r.short, r.shortBytes = nil, 0
		commit()
	}
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(todo)) {
		wg.Go(func() {
			r := reader{f: f, meter: &g, peek: f.m.NewPeeker()}
			r.together.Whole = true
			defer share(&r)
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(todo) {
					return
				}
				j := &todo[i]
				if j.source != r.shortOf || r.shortBytes >= index.SharedBytes {
					share(&r)
				}
				l, err := r.read(ctx, j, list[j.source].pathOf(j.log.Name))
				if done(j, l, !r.shares, err) && r.shares {
					r.short, r.shortBytes, r.shortOf = append(r.short, l), r.shortBytes+l.Stamp.Size, j.source
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// Progress is how far the reading of logs is.
type Progress struct {
	// Logs of OfLogs logs were read, and Bytes of OfBytes bytes, including those of logs that are being read. A log that was continued
	// counts as a whole. Neither number decreases, unless another process removed the catalogue meanwhile; then the reading begins again.
	Logs, OfLogs   int
	Bytes, OfBytes int64
}

// tellEvery is how many bytes of a log are read between two reports: a fraction of a second, and rare enough to cost nothing.
const tellEvery = 1 << 20

// meter counts for all workers and reports.
type meter struct {
	mu   *sync.Mutex // shared with commits, which may report to the caller as well
	p    Progress
	tell func(Progress) // may be nil
}

// reached reports that a log was read up to a byte. It does not wait for a worker that is committing: the next report follows soon.
func (g *meter) reached(j *job, at int64) {
	if !g.mu.TryLock() {
		return
	}
	defer g.mu.Unlock()
	// The log may have grown since it was listed, or be read a second time.
	if at = min(at, j.log.Size); at > j.told {
		g.p.Bytes += at - j.told
		j.told = at
		g.tell(g.p)
	}
}

// done reports that a log is read. The caller holds the lock.
func (g *meter) done(j *job) {
	g.p.Logs++
	g.p.Bytes += j.log.Size - j.told
	if g.tell != nil {
		g.tell(g.p)
	}
}

// next returns the byte at which a reader reports again.
func (g *meter) next(at int64) int64 {
	if g.tell == nil {
		return math.MaxInt64
	}
	return at + tellEvery
}
