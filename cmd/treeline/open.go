package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	indexes "github.com/treeline-dev/treeline/index/all"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/internal/shortid"
	"github.com/treeline-dev/treeline/place"
	runlog "github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

// knownHome is the user's home folder, "" if it is unknown. HOME takes precedence, on Windows as well, so that the program can be run with
// another home.
func (a *app) knownHome() string {
	if home := a.getenv("HOME"); home != "" {
		return home
	}
	home, _ := os.UserHomeDir() // "" without one
	return home
}

// home is the folder that paths are shown below and settings are read from: the root folder if the user's is unknown.
func (a *app) home() string { return cmp.Or(a.knownHome(), string(filepath.Separator)) }

// options are those of every store that a command opens. A wrong config.toml fails every command: ignoring it would hide
// sessions silently.
func (a *app) options() treeline.Options {
	opt := treeline.Options{
		Home: a.knownHome(), WorkDir: a.workDir, Getenv: a.getenv, Backends: a.drivers(), Indexes: indexes.Drivers(a.drivers()), NoBreadcrumbs: true, Notice: a.notice, Clock: a.clock,
	}
	if a.archive != "" {
		a.patience.Store(int64(2 * time.Second)) // connections are closed
		opt.Roots, opt.From = []string{a.archive}, a.origin
	}
	return opt
}

// store gives the store of this machine, of --store, or of some roots, for reading. It is opened read-only, so that a mistake
// elsewhere cannot make a reading command change an agent's folder.
func (a *app) store(roots ...string) (*treeline.Store, error) {
	opt := a.options()
	opt.ReadOnly = true
	if len(roots) > 0 {
		opt.Roots = roots
	}
	return a.opened(opt)
}

// writeStore gives the store of this machine for writing. It leaves the agents' records of which terminal uses which
// session alone.
func (a *app) writeStore() (*treeline.Store, error) { return a.opened(a.options()) }

// opened opens a store, and has it closed at the end of the command.
func (a *app) opened(opt treeline.Options) (*treeline.Store, error) {
	s, err := treeline.New(opt)
	if err == nil {
		a.close = append(a.close, s.Close)
	}
	return s, err
}

// sessionHelp says how a session is named, in the help of every command that takes one.
const sessionHelp = "\n\n<session> is a file, a session id or the beginning of one, or @last for the newest session of the project; @last~1 is the\n" +
	"one before it. The project is this directory or, if it has no sessions, the nearest one above it in the repository.\n" +
	"AGENT:<session>, as in pi:@last, and --source AGENT select a session of that agent."

// lastHelp follows sessionHelp where the name may be left out.
const lastHelp = "\nThe default is @last."

// sessionArg is the session that a command is about.
func sessionArg(given []string) string {
	if len(given) == 0 {
		return "@last"
	}
	return given[0]
}

// entryHelp follows sessionHelp where the name may include an entry.
const entryHelp = "\n<session>#<entry>, as 'treeline search' prints it, selects that entry."

// pairHelp is entryHelp for commands that take a session and an entry.
const pairHelp = "\n<session>#<entry>, as 'treeline search' prints it, stands for <session> <entry>."

// splitEntry splits session#entry at the last #. A file with that whole name takes precedence.
func splitEntry(ref string) (name, entry string) {
	i := strings.LastIndexByte(ref, '#')
	if i <= 0 || i == len(ref)-1 {
		return ref, ""
	}
	if _, err := os.Stat(ref); err == nil {
		return ref, ""
	}
	return ref[:i], ref[i+1:]
}

// entryArgs replaces session#entry by the two arguments that it stands for.
func entryArgs(given []string) []string {
	if len(given) == 0 {
		return given
	}
	if name, entry := splitEntry(given[0]); entry != "" {
		return append([]string{name, entry}, given[1:]...)
	}
	return given
}

// oneLeaf takes the entry from the name or from a flag, and refuses both.
func oneLeaf(ref, flag, value string) (name, leaf string, err error) {
	name, entry := splitEntry(ref)
	switch {
	case entry == "" && len(ref) > 1 && strings.HasSuffix(ref, "#") && !isPath(ref):
		return "", "", misused("%s: the entry after # is missing", ref)
	case entry == "":
		return name, value, nil
	case value != "":
		return "", "", misused("%s and --%s both name an entry", ref, flag)
	}
	return name, entry, nil
}

// open opens a session for reading. The caller prints its problems after its output.
func (a *app) open(ctx context.Context, ref, dialectName string) (*store.Session, error) {
	s, err := a.store()
	if err != nil {
		return nil, err
	}
	return a.openIn(ctx, s, ref, dialectName)
}

// openIn opens a session of a store for reading, as --dialect reads it.
func (a *app) openIn(ctx context.Context, s *treeline.Store, ref, dialectName string) (*store.Session, error) {
	d, err := namedDialect(s, dialectName)
	if err != nil {
		return nil, err
	}
	path, err := a.locate(ctx, s, ref)
	if err != nil {
		return nil, err
	}
	sess, err := s.Open(ctx, path, store.OpenOptions{Dialect: d})
	return sess, openError(path, err)
}

// target gives the store for writing, and the file of a session.
func (a *app) target(ctx context.Context, ref string) (s *treeline.Store, path string, err error) {
	if s, err = a.writeStore(); err == nil {
		path, err = a.locate(ctx, s, ref)
	}
	return s, path, err
}

// viewing opens a session, calls use with the entry to look from, and closes it.
func (a *app) viewing(ctx context.Context, ref string, f *leafFlags, use func(s *store.Session, at session.EntryID) error) error {
	ref, leaf, err := oneLeaf(ref, "leaf", f.leaf)
	if err != nil {
		return err
	}
	s, err := a.open(ctx, ref, f.dialect)
	if err != nil {
		return err
	}
	defer s.Close()
	at, err := leafOf(s, leaf)
	if err != nil {
		return err
	}
	return use(s, at)
}

// locate gives the file of a session. A path is never looked up as an id: if the file is missing, no other session is
// opened in its place.
func (a *app) locate(ctx context.Context, s *treeline.Store, ref string) (string, error) {
	if info, err := os.Stat(ref); err == nil && info.IsDir() && isPath(ref) {
		return "", fmt.Errorf("%s is a folder; 'treeline ls --all --root %s' lists the sessions in it", ref, ref)
	}
	switch {
	case isPath(ref) && a.source != "":
		return "", misused("--source chooses among ids, and %s is a file", ref)
	case isPath(ref):
		return s.Shown(ref), nil
	}
	row, err := a.find(ctx, s, ref)
	return row.Path, ambiguous(err)
}

// find gives the session of a name, and says whose it is if @last is not of this directory.
func (a *app) find(ctx context.Context, s *treeline.Store, ref string) (row place.Row, err error) {
	source, rest := a.source, ref
	if source == "" {
		source, rest = s.SplitSource(ref)
	}
	row, err = s.FindIn(ctx, source, rest)
	if _, last := place.Last(rest); last && err == nil {
		a.noteProject(s, row.CWD)
	}
	if !errors.Is(err, place.ErrNoSession) {
		return row, err
	}
	if name, entry := splitEntry(rest); entry != "" {
		switch _, err := s.FindIn(ctx, source, name); {
		case err == nil:
			return row, misused("%s names an entry; its session is %s", ref, strings.TrimSuffix(ref, "#"+entry))
		case !errors.Is(err, place.ErrNoSession):
			return row, err
		}
	}
	if agent, _, ok := strings.Cut(rest, ":"); ok && source == "" {
		return row, fmt.Errorf("%s: %q: %w", ref, agent, place.ErrUnknownSource)
	}
	return row, err
}

// addSource adds --source to each command that takes a session, so that an id that occurs in several places can be named.
func (a *app) addSource(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		if strings.Contains(cmd.Use, "<session") && cmd.Flags().Lookup("source") == nil {
			cmd.Flags().StringVar(&a.source, "source", "", "look for the session only in the dialect or folder `NAME`; see 'treeline sources'")
		}
	}
}

// openError words why a session or a run could not be opened.
func openError(path string, err error) error {
	var p *session.Problem
	var ofRun *runlog.Problem
	switch {
	case errors.Is(err, backend.ErrNotExist) && backend.Scheme(path) != "":
		return fmt.Errorf("%s: there is no such session", path)
	case errors.Is(err, backend.ErrNotExist):
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("%s: it is not a regular file", path)
		}
		return fmt.Errorf("%s: no such file", path)
	case errors.As(err, &p):
		return p // it names the file
	case errors.As(err, &ofRun):
		return fmt.Errorf("%s: %w; the file was not changed", path, ofRun)
	}
	return oncePath(err)
}

// namedDialect looks a dialect up by its name; nil for "". An unknown one is a usage error.
func namedDialect(s *treeline.Store, name string) (dialect.Dialect, error) {
	if name == "" {
		return nil, nil
	}
	d, err := s.Dialect(name)
	if err != nil {
		return nil, usageError{err}
	}
	return d, nil
}

// isPath tells a file from an id: it has a slash or an ending, or it exists.
func isPath(ref string) bool {
	if ref == "." || ref == ".." || strings.ContainsAny(ref, `/\`) || strings.HasSuffix(ref, ".jsonl") || strings.HasSuffix(ref, ".jsonl.zst") {
		return true
	}
	info, err := os.Stat(ref)
	return err == nil && !info.IsDir()
}

// inSource reports whether a file is in one of the agents' folders and ok accepts its name there. Names are compared, not
// files: a symbolic link into a folder is outside.
func inSource(s *treeline.Store, path string, ok func(src place.Source, name string) bool) bool {
	abs, err := place.Abs(path)
	return err == nil && slices.ContainsFunc(s.Sources(), func(src place.Source) bool {
		name, below := place.Below(src.Root.Sessions, abs)
		return below && ok(src, name)
	})
}

// ambiguous adds the sessions to the error for an id that fits several, at most twenty: they fit on a screen. Each has a
// name that selects it: an id, AGENT:ID if agents share the id, or else the path below it.
func ambiguous(err error) error {
	var many *place.AmbiguousError
	if !errors.As(err, &many) {
		return err
	}
	rows := many.Rows
	place.Shorten(rows)
	named := map[string]int{} // sessions by id and by AGENT:ID
	for i := range rows {
		named[rows[i].Short]++
		named[agentOf(rows[i].Dialect)+":"+rows[i].Short]++
	}
	var names []string
	var cells [][]string
	for i := range cut(rows, 20) {
		r := &rows[i]
		name := r.Short
		if named[name] > 1 {
			name = agentOf(r.Dialect) + ":" + name
		}
		names = append(names, name)
		cells = append(cells, append([]string{dash(screen.OneLine(name, 60))}, aboutSession(r.When(), r.Dialect, rowTitle(r))...))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%v:", many)
	for i, line := range align(cells) {
		fmt.Fprintf(&b, "\n  %s", line)
		if named[names[i]] > 1 {
			fmt.Fprintf(&b, "\n    %s", screen.OneLine(rows[i].Path, 0))
		}
	}
	if more := len(rows) - 20; more > 0 {
		fmt.Fprintf(&b, "\n  %s and %d more", screen.Ellipsis, more)
	}
	return errors.New(b.String())
}

// aboutSession says what a person knows a session by: its age, agent and title.
func aboutSession(when time.Time, d dialect.Dialect, title string) []string {
	return []string{wire.Ago(when.Local(), time.Now()), agentOf(d), title}
}

// agentOf names the dialect of a log, which is unknown if the log could not be read.
func agentOf(d dialect.Dialect) string {
	if d == nil {
		return "?"
	}
	return d.Name()
}

// leafOf finds an entry by its id, the beginning of one, or the end of one that the terminal shows. "none" is before the first entry, "" the session's leaf.
func leafOf(s *store.Session, name string) (session.EntryID, error) {
	t := s.Tree()
	switch name {
	case "":
		return t.LeafID(), nil
	case "none":
		return "", nil
	}
	if e, ok := t.Lookup(session.EntryID(name)); ok {
		return e.ID, nil
	}
	fits := fitting(t, func(id string) bool { return strings.HasPrefix(id, name) })
	if len(fits) == 0 && len(name) >= shortid.Least {
		fits = fitting(t, func(id string) bool { return strings.HasSuffix(id, name) })
	}
	switch len(fits) {
	case 0:
		_, err := t.Get(session.EntryID(name))
		return "", fmt.Errorf("%s: %w; 'treeline tree' shows the ids", s.Path(), err)
	case 1:
		return session.EntryID(fits[0]), nil
	}
	return "", fmt.Errorf("%s: %q matches several entries: %s", s.Path(), name, strings.Join(fits, ", "))
}

// fitting gives the ids of entries that fit, each once and nine at most.
func fitting(t *session.Tree, fits func(id string) bool) (ids []string) {
	for e := range t.Entries() {
		if id := string(e.ID); fits(id) && !slices.Contains(ids, id) {
			if ids = append(ids, id); len(ids) > 8 {
				break
			}
		}
	}
	return ids
}

// entryOf is leafOf for commands that need an entry.
func entryOf(s *store.Session, name string) (session.EntryID, error) {
	if name == "" || name == "none" {
		return "", fmt.Errorf("%s: an entry is needed, not %q", s.Path(), name)
	}
	return leafOf(s, name)
}
