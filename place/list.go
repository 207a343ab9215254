package place

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/shortid"
	"github.com/treeline-dev/treeline/session"
)

// ListOptions narrow a list.
type ListOptions struct {
	// CWD, if set, keeps the sessions of that working directory: the header decides, not the folder. Rows with an Err stay: their directory
	// is unknown.
	CWD string
	// Dialect, if set, reads every log.
	Dialect dialect.Dialect
	// Problem, if set, is called with the errors of folders that could not be read.
	Problem func(error)
	// named, if set, chooses logs by their names, before they are opened.
	named func(name string) bool
}

// List returns the sessions of all sources, newest first.
func (m *Machine) List(ctx context.Context, opt ListOptions) ([]Row, error) {
	var rows []Row
	for _, src := range m.Sources() {
		part, err := m.listSource(ctx, src, opt)
		if err != nil {
			return nil, err
		}
		if rows == nil {
			rows = part // mostly there is one source
		} else {
			rows = append(rows, part...)
		}
	}
	Shorten(rows)
	if opt.CWD != "" {
		rows = m.InDir(opt.CWD, rows)
	}
	return Newest(rows), nil
}

// InDir keeps the rows of one working directory, and those with an Err.
func (m *Machine) InDir(cwd string, rows []Row) []Row {
	in := m.inDir(cwd)
	return Drop(rows, func(r *Row) bool { return !in(r) })
}

// inDir is the condition of InDir.
func (m *Machine) inDir(cwd string) func(*Row) bool {
	fits := m.InDirs(cwd)
	return func(r *Row) bool {
		if r.CWD == "" && r.Err == nil {
			return m.placed(r, cwd) // the log does not name its directory: the folder decides
		}
		return r.Err != nil || fits(r.CWD)
	}
}

// InDirs returns a function that reports whether a directory is one of dirs.
func (m *Machine) InDirs(dirs ...string) func(cwd string) bool {
	want := map[string]bool{}
	// To resolve links means to ask the file system, so it is done once for each spelling.
	known := map[string]bool{}
	for _, dir := range dirs {
		want[m.Resolved(dir)], known[dir] = true, true
	}
	return func(cwd string) bool {
		fits, ok := known[cwd]
		if !ok {
			fits = want[m.Resolved(cwd)]
			known[cwd] = fits
		}
		return fits
	}
}

// listSource returns the rows of one source, in the order of names. An error concerns the source as a whole; the error of a log is in its
// row.
func (m *Machine) listSource(ctx context.Context, src Source, opt ListOptions) ([]Row, error) {
	if src.Needs != "" || src.Err != nil {
		return nil, src.Err
	}
	b, err := m.Open(src.Root.Sessions)
	if err != nil {
		return nil, err
	}
	var logs []backend.Log
	names, named := byNames(src.Dialect)
	named = named && opt.Dialect == nil && !src.apart
	list := b.List
	// List only names: then each file is opened once, without asking for its size first.
	if g, ok := b.(backend.Glimpser); ok && !named {
		list = g.Names
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
		if src.Owns(log.Name) && (opt.named == nil || opt.named(log.Name)) {
			// append would grow by a quarter each time, and a folder may hold tens of thousands of logs.
			if len(logs) == cap(logs) {
				logs = slices.Grow(logs, max(64, len(logs)))
			}
			logs = append(logs, log)
		}
	}
	rows := make([]Row, len(logs))
	pathOf := src.Paths()
	for i, log := range logs {
		rows[i] = Row{Source: src, Path: pathOf(log.Name), Log: log}
	}
	if named {
		m.listNames(ctx, b, names, src, rows)
		return rows, nil
	}
	m.PeekAll(ctx, b, rows, opt)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	rows = Drop(rows, func(r *Row) bool {
		gone := r.Log.Generation == "" && errors.Is(r.Err, backend.ErrNotExist) // since it was listed
		return gone || opt.Dialect == nil && r.Err == nil && r.Dialect != nil && IsRuns(r.Dialect)
	})
	m.PlaceRows(ctx, rows)
	return Current(rows), nil
}

// Newest finds the session that an agent would continue in a working directory: in one folder or, with dir "", in all places of the
// dialect. The dialect of an agent's runs stands for its sessions, as in lists. ok is false if there is none.
func (m *Machine) Newest(ctx context.Context, d dialect.Dialect, dir, cwd string) (row Row, ok bool, err error) {
	var sources []Source
	listed := m.listedFor(d)
	d = Sessions(d)
	// Only the depth of this name counts: how many folders the agent puts its sessions into.
	usual := filepath.ToSlash(d.Layout().File(time.Time{}, "x"))
	if dir != "" {
		sources = []Source{m.folder(d, m.In(d, dir))}
	} else {
		for _, d := range listed {
			for _, r := range m.roots(d) {
				sources = append(sources, Source{Dialect: d, Root: r, Needs: m.needs(r)})
			}
		}
		usual = path.Join(filepath.ToSlash(d.Layout().Dir(m.opt.Env, cwd)), usual)
	}
	depth := strings.Count(usual, "/")
	shown, lists := d.(dialect.Lister)
	var rows []Row
	for _, src := range sources {
		part, err := m.listSource(ctx, src, ListOptions{})
		if err != nil {
			return Row{}, false, err
		}
		if src.apart {
			m.assume(d, part)
		}
		// Logs in deeper folders are those of subagents.
		part = slices.DeleteFunc(part, func(r Row) bool {
			p, ok := placer(r.Dialect)
			return strings.Count(r.Log.Name, "/") > depth || ok && !p.Main(r.Log.Name) || lists && !shown.Shows(r.Log.Name, dir == "")
		})
		slices.Reverse(part) // of logs that were written at the same moment, the last by name: names begin with the time
		rows = append(rows, part...)
	}
	when, _ := continues(d)
	for _, r := range NewestFirst(m.InDir(cwd, rows), when) {
		if r.Err == nil && r.OK {
			return r, true, nil
		}
	}
	return Row{}, false, nil
}

// assume gives rows of a caller's own folder the dialect d, if they are of its family: the folder does not say which value of the family
// wrote them.
func (m *Machine) assume(d dialect.Dialect, rows []Row) {
	names, named := byNames(d)
	for i := range rows {
		r := &rows[i]
		if r.Dialect == nil || r.Dialect.Family() != d.Family() {
			continue
		}
		if r.Dialect = d; named {
			r.ID, r.Created = names.Named(r.Log.Name)
		}
	}
}

// continues returns the time by which an agent chooses the session to continue: usually that of the log's last change, even if the agent's
// lists show another.
func continues(d dialect.Dialect) (when func(*Row) time.Time, order dialect.Order) {
	o, ok := d.Layout().(dialect.Orderer)
	if w, writes := d.(dialect.Writer); ok && writes && w.Habits().ContinuesListed {
		return (*Row).When, o.Order()
	}
	return func(r *Row) time.Time { return r.Log.Time }, dialect.OrderChanged
}

// AmbiguousError is the error for a reference that several sessions match.
type AmbiguousError struct {
	Ref  string
	Rows []Row
}

// Error implements error.
func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%q matches %d sessions", e.Ref, len(e.Rows))
}

// ErrNoSession is wrapped by the error for a reference that no session matches.
var ErrNoSession = errors.New("no such session")

// Last parses "@last" and "@last~N", the Nth session before it; ok is false for anything else.
func Last(ref string) (before int, ok bool) {
	rest, ok := strings.CutPrefix(ref, "@last")
	if !ok || rest == "" {
		return 0, ok
	}
	number, ok := strings.CutPrefix(rest, "~")
	before, err := strconv.Atoi(number)
	return before, ok && err == nil && before >= 0 && number[0] != '+'
}

// Find returns the session that a person named: "@last" (the newest of the project), "@last~1" (the one before it), an id, or a prefix of
// one. The name of a dialect may precede it, as in "pi:@last". If several sessions match a prefix of at least the length of a short id, and
// only one of them is of the project, Find returns that one: lists of the project show ids that are unique there.
func (m *Machine) Find(ctx context.Context, ref string) (Row, error) {
	source, ref := m.SplitSource(ref)
	return m.FindIn(ctx, source, ref)
}

// SplitSource splits a reference like "pi:019c" into the name of a dialect, "" for none, and the rest.
func (m *Machine) SplitSource(ref string) (source, rest string) {
	if source, rest, ok := strings.Cut(ref, ":"); ok {
		if _, err := m.Dialect(source); err == nil {
			return source, rest
		}
	}
	return "", ref
}

// FindIn is Find among the sessions of a source: the name of a dialect, the folder of a source, or "" for all. An id may occur in several
// places, for example in a copy of a folder.
func (m *Machine) FindIn(ctx context.Context, source, ref string) (Row, error) {
	if ref == "" {
		return Row{}, fmt.Errorf("%w: the name is empty", ErrNoSession)
	}
	if _, last := Last(ref); m.Archived() && !last {
		// To read the ends of all logs of an archive would take long. Most names contain the id.
		part := strings.ToLower(ref)
		rows, err := m.List(ctx, ListOptions{named: func(name string) bool { return strings.Contains(strings.ToLower(path.Base(name)), part) }})
		if err != nil {
			return Row{}, err
		}
		row, err := m.FindAmong(rows, source, ref, nil)
		if !errors.Is(err, ErrNoSession) {
			return row, err
		}
	}
	rows, err := m.List(ctx, ListOptions{})
	if err != nil {
		return Row{}, err
	}
	return m.FindAmong(rows, source, ref, nil)
}

// FindAmong is FindIn with the rows of a list, newest first. project, if not nil, returns the project of the working directory. If it is
// nil, the project is computed from the rows, which must be all sessions.
func (m *Machine) FindAmong(rows []Row, source, ref string, project func() (string, error)) (Row, error) {
	rows, err := m.Filter(rows, Filter{Source: source})
	if err != nil {
		return Row{}, err
	}
	if project == nil {
		project = func() (string, error) { return m.Project(rows), nil }
	}
	if before, ok := Last(ref); ok {
		dir, err := project()
		if err != nil {
			return Row{}, err
		}
		row, err := m.last(rows, dir, ref, before)
		return row, in(source, err)
	}
	var exact, begin []Row
	for _, r := range rows {
		switch {
		// The file's name counts even if the log has another id: people copy what they see in the folder.
		case r.OK && r.ID == session.ID(ref) || fileID(r.Log.Name) == ref:
			exact = append(exact, r)
		case HasPrefixFold(string(r.ID), ref), HasPrefixFold(fileID(r.Log.Name), ref), HasPrefixFold(path.Base(r.Log.Name), ref):
			begin = append(begin, r)
		}
	}
	if len(exact) == 0 {
		exact = begin
	}
	if len(exact) > 1 && len(ref) >= shortid.Least {
		dir, err := project()
		if err != nil {
			return Row{}, err
		}
		here := m.InDir(dir, slices.Clone(exact))
		if len(here) == 1 && here[0].Err == nil {
			exact = here
		}
	}
	switch len(exact) {
	case 0:
		return Row{}, in(source, fmt.Errorf("%q: %w", ref, ErrNoSession))
	case 1:
		return exact[0], nil
	}
	return Row{}, &AmbiguousError{Ref: ref, Rows: exact}
}

// in adds the source to the error: a session that was not found there may be in another source.
func in(source string, err error) error {
	if err == nil || source == "" {
		return err
	}
	return fmt.Errorf("%w in %s", err, source)
}

// last returns the newest session of a project, or the one that is so many before it, in the order of the rows; sub-agents do not count.
func (m *Machine) last(rows []Row, project, ref string, before int) (Row, error) {
	rows = Drop(m.InDir(project, rows), func(r *Row) bool { return r.Err != nil || r.IsTask() })
	switch {
	case len(rows) == 0:
		return Row{}, fmt.Errorf("%s: %w for %s", ref, ErrNoSession, project)
	case before >= len(rows):
		return Row{}, fmt.Errorf("%s: %w: %s has %d", ref, ErrNoSession, project, len(rows))
	}
	return rows[before], nil
}

// fileID returns the id in a file's name: what follows the last underscore.
func fileID(name string) string {
	base := strings.TrimSuffix(path.Base(name), path.Ext(name))
	return base[strings.LastIndexByte(base, '_')+1:]
}

// HasPrefixFold is strings.HasPrefix without regard to case: ids are hex digits, and people type them in both cases.
func HasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
