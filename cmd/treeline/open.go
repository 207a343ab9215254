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
	drivers "github.com/treeline-dev/treeline/backend/all"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/all"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// home is the user's folder. Where there is none the agents have no sessions, and files can be read all the same.
// HOME goes before what the system says, also on Windows, where it would not be asked: so we can be run in another
// home.
func (a *app) home() string {
	if home := a.getenv("HOME"); home != "" {
		return home
	}
	if home, err := os.UserHomeDir(); err == nil {
		return home
	}
	return string(filepath.Separator)
}

// env is the machine as layouts see it.
// It is asked anew by each command: nothing of it is kept between command lines in one process.
func (a *app) env() (dialect.Env, error) {
	wd, err := os.Getwd()
	if err != nil {
		return dialect.Env{}, fmt.Errorf("the working directory: %w", err)
	}
	return dialect.Env{
		Home: a.home(), TempDir: os.TempDir(), WorkDir: wd,
		Getenv: a.getenv, Realpath: filepath.EvalSymlinks, Folders: file.Folders, Access: file.Access, Zone: time.Local,
	}, nil
}

// store gives the store of this machine, or of the roots that were asked for.
// It is for reading: files are opened read-only, so that no command that only reads can change an agent's folder
// by a mistake elsewhere. writeStore is its counterpart.
func (a *app) store(roots ...string) (*store.Store, error) {
	env, err := a.env()
	if err != nil {
		return nil, err
	}
	// A config.toml that is wrong is an error of every command: ignored, it would make sessions invisible without
	// a word.
	config, err := treeline.ReadConfig(treeline.ConfigPath(env.Home, a.getenv), env.Home)
	if err != nil {
		return nil, err
	}
	opt := store.Options{
		Dialects:  all.Dialects(),
		Env:       env,
		OpenDir:   func(dir string) (backend.Backend, error) { return file.New(dir, file.Options{ReadOnly: true}) },
		OpenBlobs: func(dir string) blob.Reader { return blob.NewDir(dir) },
		Drivers:   drivers.All(),
		Roots:     roots,
		// Opening the index reads nothing yet; it costs a command that does not list or search nothing.
		Index: index.Open(index.Options{Dir: cmp.Or(config.Cache, treeline.CacheDir(env.Home, a.getenv)), Notice: a.notice}),
		Extra: config.Extra(),
		State: treeline.StateDir(env.Home, a.getenv),
	}
	if len(roots) > 0 {
		opt.State = "" // whoever looks somewhere means nothing else
	}
	s := store.New(opt)
	if len(roots) > 0 && !s.Familiar() {
		opt.Index = nil // and does not want to have it kept, if it is none of the places where everybody looks
		s = store.New(opt)
	}
	return s, nil
}

// notice tells of something that does not fail the command.
func (a *app) notice(text string) {
	if a.showing != nil {
		a.showing.clear() // it is shown again when there is more to tell
	}
	fmt.Fprintf(a.stderr, "treeline: %s\n", screen.Clean(text))
}

// sessionFlags are the flags of commands that take a session.
type sessionFlags struct {
	dialect string
	json    bool
}

// add gives a command the flags; --json means the same in all of them.
func (f *sessionFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dialect, "dialect", "", "read the session as `NAME` does: omp, pi, operator, wave, codelia-state, "+screen.Ellipsis)
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	// It fails only where there is no such flag.
	_ = cmd.RegisterFlagCompletionFunc("dialect", completeDialect)
}

// sessionHelp explains, in the help of every command that takes one, what a session is called.
const sessionHelp = "\n\n<session> is a file, the id of a session, the beginning of one, or @last: the newest of this directory."

// entryHelp follows sessionHelp where the session may be named together with an entry.
const entryHelp = "\nWith #ID behind it, as 'treeline search' prints it, it is the session at that entry."

// pairHelp is entryHelp for commands that take a session and an entry.
const pairHelp = "\nsession#entry, as 'treeline search' prints it, stands for <session> <entry>."

// splitEntry takes the entry off a name as search prints it, session#entry. A file may have such a name of its own.
// The last # counts, since an id has none and a path may. Nothing before or behind it is no entry; oneLeaf says so
// where the # is the last character.
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

// entryArgs makes of session#entry, for commands that take both, the two arguments that it stands for.
func entryArgs(given []string) []string {
	if len(given) == 0 {
		return given
	}
	if name, entry := splitEntry(given[0]); entry != "" {
		return append([]string{name, entry}, given[1:]...)
	}
	return given
}

// oneLeaf decides between the entry in a name and that of a flag: only one of them may be given.
func oneLeaf(cmd *cobra.Command, ref, flag, value string) (name, leaf string, err error) {
	name, entry := splitEntry(ref)
	switch {
	case entry == "" && len(ref) > 1 && strings.HasSuffix(ref, "#") && !isPath(ref):
		return "", "", usageError{fmt.Errorf("%s names no entry: its ID belongs behind the #", ref), cmd}
	case entry == "":
		return name, value, nil
	case value != "":
		return "", "", usageError{fmt.Errorf("%s and --%s both name an entry", ref, flag), cmd}
	}
	return name, entry, nil
}

// open opens the session that someone named.
// The caller closes it. Problems in it are not told here: the command tells them when it has printed what it is
// for.
func (a *app) open(ctx context.Context, cmd *cobra.Command, ref string, f sessionFlags) (*store.Session, error) {
	s, err := a.store()
	if err != nil {
		return nil, err
	}
	opt, err := openOptions(s, cmd, f)
	if err != nil {
		return nil, err
	}
	path, err := a.locate(ctx, s, ref)
	if err != nil {
		return nil, err
	}
	sess, err := s.Open(ctx, path, opt)
	return sess, openError(path, err)
}

// locate gives the file of the session that someone named.
// Order matters: a path is taken at its word and never looked up as an id, so that 'treeline show x.jsonl' does
// not open another session when the file is missing.
func (a *app) locate(ctx context.Context, s *store.Store, ref string) (string, error) {
	if info, err := os.Stat(ref); err == nil && info.IsDir() && isPath(ref) {
		return "", fmt.Errorf("%s is a folder; 'treeline ls --all --root %s' lists the sessions in it", ref, ref)
	}
	if isPath(ref) {
		return ref, nil
	}
	row, err := s.Find(ctx, ref)
	var many *store.AmbiguousError
	if errors.As(err, &many) {
		return "", a.ambiguous(many)
	}
	return row.Path, err
}

// openError says what people want to know of why a session could not be opened.
func openError(path string, err error) error {
	var p *session.Problem
	switch {
	case errors.Is(err, backend.ErrNotExist):
		return fmt.Errorf("%s: no such file", path)
	case errors.As(err, &p):
		return p // it says all
	}
	return err
}

// An unknown dialect is a slip in the command line, not a problem with a session.
func openOptions(s *store.Store, cmd *cobra.Command, f sessionFlags) (store.OpenOptions, error) {
	var opt store.OpenOptions
	if f.dialect == "" {
		return opt, nil
	}
	d, err := s.Dialect(f.dialect)
	if err != nil {
		return opt, usageError{err, cmd}
	}
	opt.Dialect = d
	return opt, nil
}

// isPath tells a file from an id: it has a slash or an ending, or it is there.
func isPath(ref string) bool {
	// A bare name without an ending is an id unless such a file is here: ids are what people type.
	if ref == "." || ref == ".." || strings.ContainsAny(ref, `/\`) || strings.HasSuffix(ref, ".jsonl") {
		return true
	}
	info, err := os.Stat(ref)
	return err == nil && !info.IsDir()
}

// ambiguous lists what a name may mean.
func (a *app) ambiguous(e *store.AmbiguousError) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%v:", e)
	for i, r := range e.Rows {
		// twenty rows fit on a screen with the question still in sight
		if i == 20 {
			fmt.Fprintf(&b, "\n  … and %d more", len(e.Rows)-i)
			break
		}
		fmt.Fprintf(&b, "\n  %s  %s", r.ID, r.Path)
	}
	return errors.New(b.String())
}

// addLeaf is one text for all commands: the flag means the same everywhere.
func addLeaf(cmd *cobra.Command, leaf *string) {
	cmd.Flags().StringVar(leaf, "leaf", "", "the entry to look from: an `ID`, the beginning of one, or none for the place before the first entry")
}

// leafOf reads --leaf: an entry's id or the beginning of one, "none", or nothing for the session's own.
func leafOf(s *store.Session, flag string) (session.EntryID, error) {
	t := s.Tree()
	switch flag {
	case "":
		return t.LeafID(), nil
	case "none":
		return "", nil
	}
	if e, ok := t.Lookup(session.EntryID(flag)); ok {
		return e.ID, nil
	}
	var fits []string
	for e := range t.Entries() {
		// An id that stands twice in a log is one name, so it does not make a beginning ambiguous. Nine are enough
		// to say that there are several.
		if strings.HasPrefix(string(e.ID), flag) && !slices.Contains(fits, string(e.ID)) {
			if fits = append(fits, string(e.ID)); len(fits) > 8 {
				break
			}
		}
	}
	switch len(fits) {
	case 0:
		// Get's error says that there is no such entry in the words of the library.
		_, err := t.Get(session.EntryID(flag))
		return "", fmt.Errorf("%s: %w; 'treeline tree' shows the ids", s.Path(), err)
	case 1:
		return session.EntryID(fits[0]), nil
	}
	return "", fmt.Errorf("%s: %q fits several entries: %s", s.Path(), flag, strings.Join(fits, ", "))
}
