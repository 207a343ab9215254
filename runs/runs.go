// Package runs keeps run logs: it lists and opens them, and records new ones.
//
// A run log lies beside the sessions of its agent, linked to its session by the id. Runs of agents that have no place for them go to a
// folder of treeline's own that is laid out in the same way. Package run decodes the records of a run.
package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/shortid"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/session"
)

// ErrNoRun is wrapped by the error for a reference that no run matches.
var ErrNoRun = errors.New("no such run")

// Logs are the run logs of a machine.
type Logs struct{ m *place.Machine }

// New returns the run logs of a machine.
func New(m *place.Machine) *Logs { return &Logs{m} }

// Row is a run as a list shows it. It is made from the two ends of the log.
type Row struct {
	Path string
	Log  backend.Log
	run.Summary
	// Short is the shortest prefix of the id, of eight characters or more, that no other run's id has.
	Short string
	// Err is why nothing is known of the log.
	Err error
}

// ListOptions narrow a list of runs.
type ListOptions struct {
	// Session, if set, keeps the runs of that session.
	Session session.ID
	// CWD, if set, keeps the runs of that working directory. Runs that do not name theirs are left out.
	CWD string
	// Problem, if set, is called with the errors of folders that could not be read.
	Problem func(error)
}

// List returns the runs of all places, newest first. A log that cannot be read has a row with an Err, unless the runs of one
// session are asked for.
func (l *Logs) List(ctx context.Context, opt ListOptions) ([]Row, error) {
	var rows []Row
	for _, src := range l.m.RunSources() {
		part, err := l.listSource(ctx, src, opt)
		if err != nil {
			return nil, err
		}
		rows = append(rows, part...)
	}
	// A short id is unique among all runs, so it comes before the filter.
	shorten(rows)
	return l.narrow(rows, opt), nil
}

// narrow keeps the rows that pass the options, and sorts them.
func (l *Logs) narrow(rows []Row, opt ListOptions) []Row {
	here := map[string]bool{"": false} // whether a directory is opt.CWD; the comparison resolves links
	rows = slices.DeleteFunc(rows, func(r Row) bool {
		switch {
		case r.Err != nil:
			return opt.Session != ""
		case opt.Session != "" && r.Header.SessionID != string(opt.Session):
			return true
		case opt.CWD == "":
			return false
		}
		cwd := r.CWD()
		if _, asked := here[cwd]; !asked {
			here[cwd] = l.m.SameDir(cwd, opt.CWD)
		}
		return !here[cwd]
	})
	sorting.By(rows, func(a, b Row) int {
		return cmp.Or(b.When().Compare(a.When()), cmp.Compare(b.Header.RunID, a.Header.RunID))
	})
	return rows
}

// lookers is how many logs are read at the same time: a database or a server answers several requests as fast as one.
const lookers = 8

// Look fills in rows from the two ends of their logs; Path and Log must be set.
func (l *Logs) Look(ctx context.Context, rows []Row) error {
	var wg sync.WaitGroup
	var next atomic.Int64
	for range min(lookers, len(rows)) {
		wg.Go(func() {
			peeker := l.m.NewPeeker()
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(rows) {
					return
				}
				r := &rows[i]
				at, err := l.m.Locate(r.Path)
				if r.Err = err; err == nil {
					r.Log.Name = at.Name
					r.look(ctx, peeker, at.Backend)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// look fills in the summary, or the reason why there is none.
func (r *Row) look(ctx context.Context, p *place.Peeker, b backend.Backend) {
	r.Summary, r.Err = run.Peek(r.Log.Size, func(head, tail int64) (first, last []byte, err error) {
		return p.Ends(ctx, b, r.Log, head, tail)
	})
}

func shorten(rows []Row) {
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].Header.RunID
	}
	for i, short := range shortid.All(ids) {
		rows[i].Short = short
	}
}

// When returns the time that lists are ordered by: when the run began or, if that is unknown, when its log was last written.
func (r *Row) When() time.Time {
	if r.Started.IsZero() {
		return r.Log.Time
	}
	return r.Started
}

// listSource returns the runs of one place in the order of their names.
func (l *Logs) listSource(ctx context.Context, src place.Source, opt ListOptions) ([]Row, error) {
	if src.Err != nil {
		return nil, src.Err
	}
	b, err := l.m.Open(src.Root.Sessions)
	if err != nil {
		return nil, err
	}
	var rows []Row
	peeker := l.m.NewPeeker()
	for log, err := range b.List(ctx, "") {
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			if opt.Problem != nil {
				opt.Problem(err)
			}
		case src.Dialect.Layout().Owns(log.Name):
			row := Row{Path: src.PathOf(log.Name), Log: log}
			row.look(ctx, peeker, b)
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// Holds reports whether there is a run log in a folder or below it.
func (l *Logs) Holds(ctx context.Context, dir string) bool {
	b, err := l.m.Open(dir)
	if err != nil {
		return false
	}
	peeker := l.m.NewPeeker()
	for log, err := range b.List(ctx, "") {
		if err != nil || path.Ext(log.Name) != ".jsonl" {
			continue
		}
		row := place.Row{Path: place.Join(dir, log.Name), Log: log}
		if peeker.Peek(ctx, b, &row, place.ListOptions{}); row.Err == nil && place.IsRuns(row.Dialect) {
			return true
		}
	}
	return false
}

// Find returns the run that a person named: "@last" (the newest of all), "@last~1" (the one before it), an id, or a unique prefix of one.
// The name of an agent may precede it, as in "codelia:@last".
func (l *Logs) Find(ctx context.Context, ref string) (Row, error) {
	rows, err := l.List(ctx, ListOptions{})
	if err != nil {
		return Row{}, err
	}
	return l.FindAmong(rows, ref)
}

// FindAmong is Find with the rows of a list, newest first.
func (l *Logs) FindAmong(rows []Row, ref string) (Row, error) {
	named := ref
	source, ref := l.m.SplitSource(ref)
	before, last := place.Last(ref)
	var matches []Row
	var ids []string
	for _, r := range rows {
		switch {
		case r.Err != nil, source != "" && l.m.DialectAt(r.Path).Name() != source:
		case last && before > 0:
			before--
		// The newest, if several have the id.
		case last, strings.EqualFold(r.Header.RunID, ref):
			return r, nil
		case ref != "" && place.HasPrefixFold(r.Header.RunID, ref):
			matches, ids = append(matches, r), append(ids, r.Header.RunID)
		}
	}
	switch {
	case len(matches) == 1:
		return matches[0], nil
	case len(matches) > 1:
		return Row{}, fmt.Errorf("%q matches %d runs: %s", named, len(ids), strings.Join(ids[:min(len(ids), 20)], ", "))
	case last:
		return Row{}, fmt.Errorf("%s: %w", named, ErrNoRun)
	}
	return Row{}, fmt.Errorf("%q: %w", named, ErrNoRun)
}

// Run is a run that is open for reading.
type Run struct {
	*run.Log
	path   string
	source *logtree.Source
}

// Path returns the log's path for people.
func (r *Run) Path() string { return r.path }

// Close closes the log.
func (r *Run) Close() error { return r.source.Close() }

// spans reads the bytes of a run's records.
type spans struct{ *logtree.Source }

func (s spans) Bytes(offset, length int64) ([]byte, error) {
	return s.Source.Bytes(session.Span{Offset: offset, Length: length})
}

// Open opens a run for reading. Damage does not fail it; see run.Log.Problems. It fails with a *run.Problem, wrapped, if
// the log has no header of a run.
func (l *Logs) Open(ctx context.Context, path string) (*Run, error) {
	at, err := l.m.Locate(path)
	if err != nil {
		return nil, err
	}
	r, _, err := open(ctx, at)
	return r, err
}

// open reads a log as a run, and also returns the log as it was.
func open(ctx context.Context, l place.Location) (*Run, backend.Log, error) {
	at, err := l.Backend.Stat(ctx, l.Name)
	if err != nil {
		return nil, at, logtree.Named(l.Path, err)
	}
	src, err := logtree.OpenSource(ctx, l.Backend, at)
	if err != nil {
		return nil, at, logtree.Named(l.Path, err)
	}
	r := &Run{path: l.Path, source: src}
	if r.Log, err = decode(ctx, l.Backend, at, src); err != nil {
		return nil, at, logtree.Named(l.Path, errors.Join(err, src.Close()))
	}
	return r, at, nil
}

func decode(ctx context.Context, b backend.Backend, at backend.Log, src *logtree.Source) (*run.Log, error) {
	dec := run.NewDecoder(spans{src})
	for r, err := range logtree.Records(ctx, b, at) {
		if err != nil {
			return nil, err
		}
		dec.Line(r.Data, r.Offset, r.Line, r.Torn)
	}
	return dec.Finish()
}
