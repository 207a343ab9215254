package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/session"
)

// Runs lie beside sessions, linked by the session's id: where the agent has a place for them, there, and otherwise in a
// folder of our own, State/runs, which is laid out in the same way.

// ErrNoRun is wrapped by the error for a reference that no run fits.
var ErrNoRun = errors.New("no such run")

// runPlace is a folder of run logs.
type runPlace struct {
	d   dialect.RunsDialect
	dir string
	own bool // it is ours
}

// runPlaces gives the folders of run logs: the agents' own, those in roots that were added, then ours. Ours is the last,
// and there only where some dialect has runs: it uses that one's layout.
func (s *Store) runPlaces() []runPlace {
	var list []runPlace
	seen := map[string]bool{}
	for _, d := range s.opt.Dialects {
		r, ok := dialect.AsRuns(d)
		if !ok {
			continue
		}
		roots := d.Layout().Roots(s.opt.Env)
		for _, e := range s.opt.Extra {
			named, err := s.Dialect(e.Dialect)
			// A root that was added for the agent by its name, or one that looks like the agent's.
			if err == nil && Sessions(named) == r.Sessions() || err != nil && s.statesAt(e.Path) != nil {
				roots = append(roots, s.rootOf(d.Layout(), e.Path))
			}
		}
		for _, root := range roots {
			if !seen[root.Sessions] {
				seen[root.Sessions] = true
				list = append(list, runPlace{d: r, dir: root.Sessions})
			}
		}
	}
	if len(list) > 0 && s.opt.State != "" {
		list = append(list, runPlace{d: list[0].d, dir: filepath.Join(s.opt.State, "runs"), own: true})
	}
	return list
}

// HoldsRuns says whether there is a log of a run in a folder, or below it.
func (s *Store) HoldsRuns(ctx context.Context, dir string) bool {
	b, err := s.opt.OpenDir(dir)
	if err != nil {
		return false
	}
	defer b.Close()
	var buf peekBuffer
	for log, err := range b.List(ctx, "") {
		if err != nil || path.Ext(log.Name) != ".jsonl" {
			continue
		}
		row := Row{Path: filepath.Join(dir, filepath.FromSlash(log.Name)), Log: log}
		// One is enough.
		if s.peek(ctx, b, &row, ListOptions{}, &buf); row.Err == nil && isRuns(row.Dialect) {
			return true
		}
	}
	return false
}

// RunRow is a run as a list shows it. It comes from the two ends of the log alone.
type RunRow struct {
	Path    string
	Log     backend.Log
	Header  run.Header
	Started time.Time // zero where the header does not say it
	Prompt  string    // what the run was asked, as far as the log's beginning shows it
	Outcome string    // what run.end says; "" for a run that crashed, or still goes on
	// Short is the shortest beginning of the id, of eight characters or more, that no other run's has.
	Short string
	// Err says why nothing is known of the log.
	Err   error
	place runPlace
}

// RunListOptions narrow a list of runs.
type RunListOptions struct {
	// Session, if set, keeps the runs of that session.
	Session session.ID
	// CWD, if set, keeps the runs of that working directory. Those that do not say theirs go.
	CWD string
	// Problem, if set, is told of folders that could not be read.
	Problem func(error)
}

// Runs gives the runs of all places, newest first.
func (s *Store) Runs(ctx context.Context, opt RunListOptions) ([]RunRow, error) {
	var rows []RunRow
	for _, p := range s.runPlaces() {
		part, err := s.runsIn(ctx, p, opt)
		if err != nil {
			return nil, err
		}
		rows = append(rows, part...)
	}
	// Before rows are left out: a short id must be unique among all runs.
	shortenRuns(rows)
	want := ""
	if opt.CWD != "" {
		want = s.canonical(opt.CWD)
	}
	rows = slices.DeleteFunc(rows, func(r RunRow) bool {
		// Whose it is nobody knows: it is shown, unless one session's runs are asked for.
		if r.Err != nil {
			return opt.Session != ""
		}
		if opt.Session != "" && r.Header.SessionID != string(opt.Session) {
			return true
		}
		return want != "" && (r.CWD() == "" || s.canonical(r.CWD()) != want)
	})
	slices.SortStableFunc(rows, func(a, b RunRow) int {
		return cmp.Or(b.when().Compare(a.when()), cmp.Compare(b.Header.RunID, a.Header.RunID))
	})
	return rows, nil
}

func (r *RunRow) when() time.Time {
	if r.Started.IsZero() {
		return r.Log.Time
	}
	return r.Started
}

// CWD is the working directory of the run, as far as its header says it.
func (r *RunRow) CWD() string { return r.Header.WorkDir() }

// runsIn gives the runs of one place, in the order of names, with an error in the row for what is none.
func (s *Store) runsIn(ctx context.Context, p runPlace, opt RunListOptions) ([]RunRow, error) {
	b, err := s.opt.OpenDir(p.dir)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	var rows []RunRow
	var buf peekBuffer
	for log, err := range b.List(ctx, "") {
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			if opt.Problem != nil {
				opt.Problem(err)
			}
		case p.d.Dialect.Layout().Owns(log.Name):
			row := RunRow{Path: filepath.Join(p.dir, filepath.FromSlash(log.Name)), Log: log, place: p}
			row.peek(ctx, b, &buf)
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// peek fills in a row from the two ends of its log. Each end is read as far as it takes to see its record whole.
func (r *RunRow) peek(ctx context.Context, b backend.Backend, buf *peekBuffer) {
	size, end := int64(headSize), int64(tailSize)
	for {
		head, tail, err := buf.read(ctx, b, r.Log, size, end)
		if err != nil {
			r.Err = err
			return
		}
		whole := size >= r.Log.Size
		if !r.fromHead(head, whole) {
			if whole || size >= headMost {
				r.Err = run.ErrNotHeader
				return
			}
			// The header may be longer than a page.
			size *= 16
			continue
		}
		if whole {
			tail = head
		}
		if r.fromTail(tail) || whole || end >= headMost {
			return
		}
		size, end = size*16, end*16 // the last record may begin in the head
	}
}

// fromHead reads the header, and what the run was asked. It says whether there is a header.
func (r *RunRow) fromHead(head []byte, whole bool) bool {
	found := false
	for line := range bytes.Lines(dialect.TrimBOM(head)) {
		if !whole && line[len(line)-1] != '\n' {
			break
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if !found {
			// The header keeps parts of the bytes, and the buffer is used again.
			h, err := run.DecodeHeader(bytes.Clone(line))
			if err != nil {
				return false
			}
			found = true
			r.Header = h
			r.Started, _ = time.Parse(time.RFC3339Nano, h.StartedAt)
			continue
		}
		if b, err := run.Decode(line); err == nil {
			if start, ok := b.(*run.RunStart); ok {
				r.Prompt = start.Input.Text
				for part := range rawjson.Elements(start.Input.Parts) {
					r.Prompt += rawjson.Str(part, "text")
				}
			}
		}
		break // what was asked stands first, or nowhere
	}
	return found
}

// fromTail reads how the run ended. It says false where the last record begins before the bytes at hand. A last record that
// is cut off is no end: the run crashed.
func (r *RunRow) fromTail(tail []byte) bool {
	tail = bytes.TrimSpace(tail)
	i := bytes.LastIndexByte(tail, '\n')
	if b, err := run.Decode(tail[i+1:]); err == nil {
		if end, ok := b.(*run.RunEnd); ok {
			r.Outcome = end.Outcome
		}
	}
	return i >= 0
}

// FindRun gives the run that someone named: "@last" (the newest of all), an id, or the beginning of one. A path is for
// OpenRun.
func (s *Store) FindRun(ctx context.Context, ref string) (RunRow, error) {
	rows, err := s.Runs(ctx, RunListOptions{})
	if err != nil {
		return RunRow{}, err
	}
	rows = slices.DeleteFunc(rows, func(r RunRow) bool { return r.Err != nil })
	if ref == "@last" {
		if len(rows) == 0 {
			return RunRow{}, fmt.Errorf("@last: %w", ErrNoRun)
		}
		return rows[0], nil
	}
	var fits []RunRow
	for _, r := range rows {
		// The newest of those that have it.
		if strings.EqualFold(r.Header.RunID, ref) {
			return r, nil
		}
		if ref != "" && hasPrefixFold(r.Header.RunID, ref) {
			fits = append(fits, r)
		}
	}
	switch len(fits) {
	case 0:
		return RunRow{}, fmt.Errorf("%q: %w; 'treeline run ls --all' lists them", ref, ErrNoRun)
	case 1:
		return fits[0], nil
	}
	var ids []string
	for _, r := range fits[:min(len(fits), 20)] {
		ids = append(ids, r.Header.RunID)
	}
	return RunRow{}, fmt.Errorf("%q fits %d runs: %s", ref, len(fits), strings.Join(ids, ", "))
}

// Run is a run, open for reading.
type Run struct {
	*run.Log
	path   string
	source *logSource
	b      backend.Backend
}

// Path is the file.
func (r *Run) Path() string { return r.path }

// Close closes the log.
func (r *Run) Close() error { return first(r.source.Close(), r.b.Close()) }

// runBytes gives the bytes of a run's records.
type runBytes struct{ s *logSource }

func (b runBytes) Bytes(offset, length int64) ([]byte, error) {
	return b.s.Bytes(session.Span{Offset: offset, Length: length})
}

// OpenRun opens the run in a file for reading. Damage does not fail it; see run.Log.Problems. It fails with a *run.Problem,
// wrapped, where the file has no header of a run.
func (s *Store) OpenRun(ctx context.Context, path string) (*Run, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	b, err := s.opt.OpenDir(filepath.Dir(abs))
	if err != nil {
		return nil, err
	}
	r, _, err := openRun(ctx, b, filepath.Base(abs))
	if err != nil {
		return nil, errors.Join(named(path, err), b.Close())
	}
	r.path = path
	return r, nil
}

// openRun reads a log as a run. Its backend is closed with the run.
func openRun(ctx context.Context, b backend.Backend, name string) (*Run, backend.Log, error) {
	at, err := b.Stat(ctx, name)
	if err != nil {
		return nil, at, err
	}
	src, err := newSource(ctx, b, at)
	if err != nil {
		return nil, at, err
	}
	dec := run.NewDecoder(runBytes{src})
	for r, err := range records(ctx, b, at) {
		if err != nil {
			return nil, at, first(err, src.Close())
		}
		dec.Line(r.Data, r.Offset, r.Line, r.Torn)
	}
	log, err := dec.Finish()
	if err != nil {
		return nil, at, errors.Join(err, src.Close())
	}
	return &Run{Log: log, source: src, b: b}, at, nil
}
