package store

import (
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
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/session"
)

// Row is a session as a list shows it. List makes it from the two ends of the log alone, Catalogue from all of it.
type Row struct {
	Source  Source
	Dialect dialect.Dialect
	// Path is the file; Log the log as it was.
	Path string
	Log  backend.Log
	dialect.Summary
	// Known is what the catalogue knows besides; nil in lists that are made without one.
	Known *index.Summary
	// Short is the shortest beginning of ID, of eight characters or more, that no other session's id has.
	Short string
	// Err says why nothing is known of the log; the other fields are then empty.
	Err error
	// kept is what Known is a part of.
	kept *index.Log
}

// Heading is what lists call the session: its title, or what the user asked first. It is "" where there is neither.
func (r *Row) Heading() string {
	return cmp.Or(strings.TrimSpace(r.Title), strings.TrimSpace(r.Prompt))
}

// When is the time that lists are ordered by. The agent's own list decides: it is that of the log's last change, that
// of what was last said in it, or that in its name.
func (r *Row) When() time.Time {
	if r.Dialect == nil {
		return r.Log.Time
	}
	if o, ok := r.Dialect.Layout().(dialect.Orderer); ok {
		var at session.Time
		switch o.Order() {
		case dialect.OrderActive:
			// A log that spells no such time, or none that can be read, is ordered by its own.
			at = r.Active
		case dialect.OrderNames:
			at = r.Created
		}
		if t, ok := at.Time(); ok {
			return t
		}
	}
	return r.Log.Time
}

// ListOptions narrow a list.
type ListOptions struct {
	// CWD, if set, keeps the sessions of that working directory: the header decides, not the folder. Rows with an Err
	// stay: nobody knows whose they are.
	CWD string
	// Dialect, if set, reads every log.
	Dialect dialect.Dialect
	// Problem, if set, is told of folders that could not be read.
	Problem func(error)
}

// List gives the sessions of all sources, newest first.
func (s *Store) List(ctx context.Context, opt ListOptions) ([]Row, error) {
	var rows []Row
	for _, src := range s.readable() {
		part, err := s.listSource(ctx, src, opt)
		if err != nil {
			return nil, err
		}
		if rows == nil {
			rows = part // mostly there is one source
		} else {
			rows = append(rows, part...)
		}
	}
	shorten(rows)
	if opt.CWD != "" {
		rows = s.of(opt.CWD, rows)
	}
	return newestFirst(rows, (*Row).When), nil
}

// newestFirst sorts by a time. Rows are large: they are moved once. The order among equals is that in which they came, as
// with a stable sort.
func newestFirst(rows []Row, when func(*Row) time.Time) []Row {
	times := make([]time.Time, len(rows))
	for i := range rows {
		times[i] = when(&rows[i])
	}
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(times[b].Compare(times[a]), cmp.Compare(a, b))
	})
	// Each circle of the permutation is walked once: the row for place k is taken from place order[k].
	for start := range order {
		if order[start] < 0 {
			continue
		}
		first := rows[start]
		k := start
		for order[k] != start {
			from := order[k]
			rows[k], order[k] = rows[from], -1
			k = from
		}
		rows[k], order[k] = first, -1
	}
	return rows
}

// of keeps the rows of one working directory. Directories repeat: each spelling is looked at once.
func (s *Store) of(cwd string, rows []Row) []Row {
	want := s.canonical(cwd)
	// Resolving links asks the file system: once for each spelling is enough.
	known := map[string]bool{cwd: true}
	return slices.DeleteFunc(rows, func(r Row) bool {
		if r.Err != nil {
			return false
		}
		// The log does not name it: the folder decides, where it can.
		if r.CWD == "" {
			return !s.placed(&r, cwd)
		}
		fits, ok := known[r.CWD]
		if !ok {
			fits = s.canonical(r.CWD) == want
			known[r.CWD] = fits
		}
		return !fits
	})
}

// listSource gives the rows of one source, in the order of names. An error is one of the source as a whole; what is wrong
// with a log stands in its row.
func (s *Store) listSource(ctx context.Context, src Source, opt ListOptions) ([]Row, error) {
	b, err := s.opt.OpenDir(src.Root.Sessions)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	var logs []backend.Log
	names, named := byNames(src.Dialect)
	named = named && opt.Dialect == nil
	list := b.List
	// Then a file is opened once, and not asked for its size before that.
	if g, ok := b.(glimpser); ok && !named {
		list = g.Names // peek finds out the rest
	}
	for log, err := range list(ctx, "") {
		if err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if opt.Problem != nil {
				opt.Problem(err)
			}
			continue
		}
		if src.owns(log.Name) {
			// append would grow by a quarter at a time, and a folder may hold tens of thousands.
			if len(logs) == cap(logs) {
				logs = slices.Grow(logs, max(64, len(logs)))
			}
			logs = append(logs, log)
		}
	}
	rows := make([]Row, len(logs))
	below := filepath.Clean(src.Root.Sessions) + string(filepath.Separator)
	for i, log := range logs {
		rows[i] = Row{Source: src, Path: below + filepath.FromSlash(log.Name), Log: log}
	}
	if named {
		s.listNames(ctx, b, names, src.Dialect, rows)
		return rows, nil
	}
	s.peekAll(ctx, b, rows, opt)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	rows = keep(rows, func(r *Row) bool {
		switch {
		case r.Log.Generation == "" && errors.Is(r.Err, backend.ErrNotExist):
			return false // it went away between its name and the look at it
		case opt.Dialect == nil && r.Err == nil && r.Dialect != nil && isRuns(r.Dialect):
			return false // logs of runs belong to Runs, wherever they lie
		}
		return true
	})
	s.placeRows(rows)
	return rows, nil
}

// keep leaves out the rows that are not wanted. Rows are large, and mostly all are: then none is moved.
func keep(rows []Row, wanted func(*Row) bool) []Row {
	n := 0
	for i := range rows {
		if !wanted(&rows[i]) {
			continue
		}
		if n < i {
			rows[n] = rows[i]
		}
		n++
	}
	// What they point to is let go.
	clear(rows[n:])
	return rows[:n]
}

// canonical makes two spellings of one directory equal.
func (s *Store) canonical(dir string) string {
	if real, err := s.opt.Env.Realpath(dir); err == nil {
		return real
	}
	return filepath.Clean(dir)
}

// AmbiguousError says that several sessions fit.
type AmbiguousError struct {
	Ref  string
	Rows []Row
}

// Error implements error.
func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%q fits %d sessions", e.Ref, len(e.Rows))
}

// ErrNoSession is wrapped by the error for a reference that no session fits.
var ErrNoSession = errors.New("no such session")

// Find gives the file of a session that someone named: "@last" (the newest of the working directory), an id, or the
// beginning of one. Where no session fits, a run may: its log is read as one. A path is for Open.
func (s *Store) Find(ctx context.Context, ref string) (Row, error) {
	if ref == "@last" {
		rows, err := s.List(ctx, ListOptions{CWD: s.opt.Env.WorkDir})
		if err != nil {
			return Row{}, err
		}
		for _, r := range rows {
			// One that cannot be read is not what somebody was working on last, as far as anybody knows.
			if r.Err == nil {
				return r, nil
			}
		}
		return Row{}, fmt.Errorf("@last: %w for %s; 'treeline ls --all' lists those of other directories", ErrNoSession, s.opt.Env.WorkDir)
	}
	if ref == "" {
		return Row{}, fmt.Errorf("%w: the name is empty", ErrNoSession)
	}
	rows, err := s.List(ctx, ListOptions{})
	if err != nil {
		return Row{}, err
	}
	var exact, begin []Row
	for _, r := range rows {
		switch {
		// The name counts also where the log says another id, or none: people copy what they see in the folder.
		case r.OK && r.ID == session.ID(ref) || fileID(r.Log.Name) == ref:
			exact = append(exact, r)
		case hasPrefixFold(string(r.ID), ref), hasPrefixFold(fileID(r.Log.Name), ref), hasPrefixFold(path.Base(r.Log.Name), ref):
			begin = append(begin, r)
		}
	}
	if len(exact) == 0 {
		exact = begin
	}
	switch len(exact) {
	case 0:
		if r, err := s.FindRun(ctx, ref); err == nil {
			return Row{Dialect: r.place.d, Path: r.Path, Log: r.Log, Summary: dialect.Summary{ID: session.ID(r.Header.RunID), CWD: r.CWD(), Prompt: r.Prompt, OK: true}}, nil
		}
		return Row{}, fmt.Errorf("%q: %w; 'treeline ls --all' lists them", ref, ErrNoSession)
	case 1:
		return exact[0], nil
	}
	return Row{}, &AmbiguousError{Ref: ref, Rows: exact}
}

// fileID is the id in a file's name: what stands behind the last underscore.
func fileID(name string) string {
	base := strings.TrimSuffix(path.Base(name), path.Ext(name))
	return base[strings.LastIndexByte(base, '_')+1:]
}

// hasPrefixFold compares whatever the case: ids are hex digits, and people type them in either.
func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
