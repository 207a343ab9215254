package find

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// The logs of an archive have an index beside them (index.Shared), which all programs share. The database tells which logs changed, so no
// logs are listed to bring it up to date. Logs are read in the same way as for an Index. A working directory that a log does not name is
// taken from the log's own name; its neighbours are not read.

// NewShared returns a Finder for the sessions of an archive, with the index that lies beside them.
func NewShared(m *place.Machine, shared index.Shared, clock func() time.Time) *Finder {
	return &Finder{m: m, ix: index.Open(index.Options{}), shared: shared, updating: make(chan struct{}, 1), clock: clock}
}

// Beside returns the index beside the archive, brought up to date if fresh is set; nil if there is none. The Finder closes it.
func (f *Finder) Beside(ctx context.Context, fresh bool, opt RefreshOptions) (index.Shared, error) {
	if !fresh && f.beside() {
		return f.shared, nil
	}
	if beside, err := f.fresh(ctx, opt); !beside {
		return nil, err
	}
	return f.shared, nil
}

// beside reports whether the index beside the archive is used.
func (f *Finder) beside() bool { return f.shared != nil && !f.none.Load() }

// fresh brings the archive's own index up to date. beside is false if the archive has no index: then all logs are read instead.
func (f *Finder) fresh(ctx context.Context, opt RefreshOptions) (beside bool, err error) {
	if !f.beside() {
		return false, nil
	}
	if err = f.update(ctx, opt); errors.Is(err, index.ErrNone) {
		f.none.Store(true)
		return false, nil
	}
	return err == nil, err
}

const (
	// changesMost is how many logs are brought up to date, and how many groups are compared, at a time. The mark is kept after each step,
	// so an interrupted update continues there.
	changesMost = 1024
	// putKeys and putLogs are how much is put in one transaction: much, since a key that several chunks have is then put once. A key takes
	// some 30 bytes of memory meanwhile.
	putKeys = 1 << 20
	putLogs = 1024
	// readersLeast is the least number of logs that are read at once: a reader usually waits for the database.
	readersLeast = 4
	// overtakenMost is how often an update begins again because another program updated the index.
	overtakenMost = 10
)

// update brings the shared index up to date. If this program may not write to it, the index is used as it is.
//
// What is known of a log may depend on other logs (index.Group). A put records in the index that the group of the log must be compared, and
// comparing begins with these records. So an update that is interrupted or overtaken loses nothing.
func (f *Finder) update(ctx context.Context, opt RefreshOptions) error {
	select {
	case f.updating <- struct{}{}: // a waiting call then finds nothing left to do
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-f.updating }()
	last, most := index.Mark(""), changesMost
	for overtaken := 0; ; {
		asked := most
		now, err := f.shared.Changes(ctx, asked)
		more := len(now.Logs) >= asked || len(now.Compare) >= asked
		if err == nil {
			err = f.compareShared(ctx, now.Compare, opt)
		}
		if err == nil && len(now.Logs) > 0 {
			p := putter{f: f, ctx: ctx}
			err = f.take(&p, now.Logs, now.Mark, opt)
			more = more || p.grouped
			if err == nil && now.Mark == last && p.put < len(now.Logs)/2 {
				most *= 2 // the same transaction wrote more logs that are not sessions
			}
			last = now.Mark
		}
		switch {
		case errors.Is(err, index.ErrOvertaken):
			if overtaken++; overtaken > overtakenMost {
				return nil // other programs bring it up to date
			}
		case errors.Is(err, index.ErrReadOnly):
			if opt.Problem != nil {
				opt.Problem(fmt.Errorf("the list may be out of date: %w", err))
			}
			return nil
		case err != nil || !more:
			return err
		}
	}
}

// take reads logs that changed and puts the results.
func (f *Finder) take(p *putter, list []index.Change, mark index.Mark, opt RefreshOptions) error {
	var todo []job
	for i := range list {
		c := &list[i]
		src, ok := f.m.ArchivedSource(c.Source)
		if c.Gone || !ok || !src.Owns(c.Name) {
			if c.Known != nil {
				p.add(index.Update{Source: c.Source, Remove: []string{c.Name}, Compare: f.groups(c.Known)}, 0)
			}
			continue
		}
		b, err := f.m.Open(src.Root.Sessions)
		if err != nil {
			return err
		}
		j := job{b: b, log: backend.Log{Name: c.Name}, shared: &src, found: c.Known}
		if c.Known != nil {
			j.known = &c.Known.Log
		}
		todo = append(todo, j)
	}
	if err := f.readShared(p, todo, opt); err != nil {
		return err
	}
	return p.flush(mark)
}

// putter collects updates and puts several at a time.
type putter struct {
	f       *Finder
	ctx     context.Context
	updates []index.Update
	keys    int
	// together: all are put in one transaction.
	together bool
	// put is the number of updates; grouped is set if one of them names groups to compare.
	put     int
	grouped bool
}

func (p *putter) add(u index.Update, keys int) {
	p.updates, p.keys = append(p.updates, u), p.keys+keys
	p.put, p.grouped = p.put+1, p.grouped || len(u.Compare) > 0
}

// full returns the collected updates if they are enough for a transaction, otherwise nil.
func (p *putter) full() (updates []index.Update) {
	if !p.together && (p.keys >= putKeys || len(p.updates) >= putLogs) {
		updates, p.updates, p.keys = p.updates, nil, 0
	}
	return updates
}

// flush puts the collected updates, with the mark if there is one.
func (p *putter) flush(mark index.Mark) error {
	if len(p.updates) == 0 && mark == "" {
		return nil
	}
	updates := p.updates
	p.updates, p.keys = nil, 0
	return p.f.shared.Put(p.ctx, mark, updates...)
}

// readShared reads logs, several at a time. For a log that cannot be read it keeps the reason.
func (f *Finder) readShared(p *putter, todo []job, opt RefreshOptions) error {
	if len(todo) == 0 {
		return nil
	}
	ctx := p.ctx
	var mu sync.Mutex
	var failed error
	g := meter{mu: &mu, p: Progress{OfLogs: len(todo)}, tell: opt.Progress}
	done := func(j *job, l index.Log, err error) (updates []index.Update) {
		mu.Lock()
		defer mu.Unlock()
		folder, _ := f.m.ArchivedFolder(j.shared.Root.Sessions)
		keys := 0
		switch {
		case failed != nil || ctx.Err() != nil:
			return nil
		case errors.Is(err, backend.ErrNotExist) || errors.Is(err, backend.ErrChanged):
			return nil // the log was removed or replaced since, and the feed will report that
		case err != nil:
			failed = err
			return nil
		default:
			for i := range l.Chunks {
				keys += len(l.Chunks[i].Words) + len(l.Chunks[i].Grams)
			}
			u := index.Update{Source: folder, Put: []index.Log{l}}
			if j.copied == nil {
				u.Compare = f.groups(j.found, &index.Found{Source: folder, Log: l})
			}
			p.add(u, keys)
		}
		g.done(j)
		return p.full()
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(max(readersLeast, runtime.GOMAXPROCS(0)), len(todo)) {
		wg.Go(func() {
			r := reader{f: f, meter: &g, peek: f.m.NewPeeker()}
			r.signer.List = true
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				mu.Lock()
				over := i >= len(todo) || failed != nil
				mu.Unlock()
				if over {
					return
				}
				l, err := r.readShared(ctx, &todo[i])
				updates := done(&todo[i], l, err)
				if updates == nil {
					continue
				}
				if err := f.shared.Put(ctx, "", updates...); err != nil { // the other readers go on meanwhile
					mu.Lock()
					failed = cmp.Or(failed, err)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if failed != nil {
		return failed
	}
	return context.Cause(ctx)
}

// readShared reads a log for the shared index.
func (r *reader) readShared(ctx context.Context, j *job) (l index.Log, err error) {
	src := source{Source: *j.shared, pathOf: j.shared.Paths()}
	if place.IsRuns(src.Dialect) {
		r.job = j
		l, err = retry(func() (index.Log, error) { return r.f.signRun(ctx, j, &r.signer) })
		if err == nil {
			l.Summary = index.Summary{Dialect: src.Dialect.Name()}
			l.Facts, err = r.runFacts(ctx, j.b, &l)
		}
	} else {
		l, err = r.read(ctx, j, src.pathOf(j.log.Name))
		problem := ""
		if why := unreadable(ctx, err); why != nil {
			l, err, problem = index.Log{Name: l.Name, Stamp: l.Stamp}, nil, why.Error()
		}
		if err == nil {
			r.f.facts(ctx, &src, &l)
			l.Facts.Problem = problem
		}
	}
	if err != nil {
		return l, err
	}
	if j.known != nil {
		l.Before = &j.known.Stamp
	}
	// The signer is reused for the next log.
	l.Chunks = slices.Clone(l.Chunks)
	for i := range l.Chunks {
		l.Chunks[i].Sig = nil // only the keys are put
	}
	if j.copied != nil {
		return relation(l, j.known)
	}
	return l, nil
}

// unreadable returns the error if it concerns the log itself. Other errors, such as a lost connection, end the update.
func unreadable(ctx context.Context, err error) error {
	var damage *backend.DamageError
	var long *backend.LongLineError
	if err != nil && ctx.Err() == nil && (errors.As(err, &damage) || errors.As(err, &long) || errors.Is(err, logtree.ErrNotSession)) {
		return err
	}
	return nil
}

// facts fills in what lists filter and sort by.
func (f *Finder) facts(ctx context.Context, src *source, l *index.Log) {
	rows := []place.Row{f.row(src, l)}
	r := &rows[0]
	if names, ok := listedByName(src.Dialect); ok && r.Err == nil {
		r.ID, r.Created = names.Named(r.Log.Name)
	}
	f.m.PlaceRows(ctx, rows)
	when := nanos(r.When())
	l.Facts = &index.Facts{
		ID: string(r.ID), CWD: r.CWD, Title: r.Title, Parent: r.Parent, Created: r.Created, Heading: r.Heading(),
		When: when, Made: index.Unknown, Used: when, Touched: max(when, l.Stamp.Nanos),
		Run: place.IsRuns(r.Dialect), // a run log, wherever it lies
	}
	if at, ok := r.Created.Time(); ok {
		l.Facts.Made = nanos(at)
	}
	if at, ok := r.Active.Time(); ok {
		l.Facts.Used = nanos(at)
	}
	l.Facts.Touched = max(l.Facts.Touched, l.Facts.Used)
}

// nanos returns the nanoseconds since 1970, clamped to an int64.
func nanos(t time.Time) int64 {
	switch year := t.Year(); {
	case year < 1700:
		return index.Unknown + 1
	case year > 2200:
		return math.MaxInt64
	}
	return t.UnixNano()
}

// sharedRow makes the row of a log. ok is false if the program does not know its source.
func (f *Finder) sharedRow(l *index.Found) (r place.Row, ok bool) {
	src, ok := f.m.ArchivedSource(l.Source)
	if !ok {
		return r, false
	}
	s := source{Source: src, pathOf: src.Paths()}
	if l.Facts.Problem != "" {
		return place.Row{Source: src, Path: s.pathOf(l.Name), Log: logOf(&l.Log), Err: errors.New(l.Facts.Problem)}, true
	}
	r = f.row(&s, &l.Log)
	if r.Err == nil {
		r.ID, r.CWD, r.Title, r.Parent, r.Created = session.ID(l.Facts.ID), l.Facts.CWD, l.Facts.Title, l.Facts.Parent, l.Facts.Created
	}
	return r, true
}
