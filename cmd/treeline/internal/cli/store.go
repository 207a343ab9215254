package cli

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/dialect"
	indexes "github.com/treeline-dev/treeline/index/all"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// KnownHome is the user's home folder, "" if it is unknown. HOME takes precedence, on Windows as well, so that the program can be run with
// another home.
func (a *App) KnownHome() string {
	if home := a.Getenv("HOME"); home != "" {
		return home
	}
	home, _ := os.UserHomeDir() // "" without one
	return home
}

// Home is the folder that paths are shown below and settings are read from: the root folder if the user's is unknown.
func (a *App) Home() string { return cmp.Or(a.KnownHome(), string(filepath.Separator)) }

// Tilde is the home folder that the directories of sessions are shown below.
func (a *App) Tilde() string { return cmp.Or(a.MadeUp, a.Home()) }

// Options are those of every store that a command opens. A wrong config.toml fails every command: ignoring it would hide
// sessions silently.
func (a *App) Options() treeline.Options {
	opt := treeline.Options{
		Home: a.KnownHome(), WorkDir: a.WorkDir, Getenv: a.Getenv, Backends: a.Drivers(), Indexes: indexes.Drivers(a.Drivers()), NoBreadcrumbs: true, Notice: a.Notice, Clock: a.Clock,
	}
	if a.Archive != "" {
		a.Patience.Store(int64(2 * time.Second)) // connections are closed
		opt.Roots, opt.From = []string{a.Archive}, a.Origin
	}
	return opt
}

// Store gives the store of this machine, of --store, or of some roots, for reading. It is opened read-only, so that a mistake
// elsewhere cannot make a reading command change an agent's folder.
func (a *App) Store(roots ...string) (*treeline.Store, error) {
	opt := a.Options()
	opt.ReadOnly = true
	if len(roots) > 0 {
		opt.Roots = roots
	}
	return a.Opened(opt)
}

// WriteStore gives the store of this machine for writing. It leaves the agents' records of which terminal uses which
// session alone.
func (a *App) WriteStore() (*treeline.Store, error) { return a.Opened(a.Options()) }

// Opened opens a store, and has it closed at the end of the command.
func (a *App) Opened(opt treeline.Options) (*treeline.Store, error) {
	s, err := treeline.New(opt)
	if err == nil {
		a.AtEnd(s.Close)
	}
	return s, err
}

// Open opens a session for reading. The caller prints its problems after its output.
func (a *App) Open(ctx context.Context, ref, dialectName string) (*store.Session, error) {
	s, err := a.Store()
	if err != nil {
		return nil, err
	}
	return a.OpenIn(ctx, s, ref, dialectName)
}

// OpenIn opens a session of a store for reading, as --dialect reads it.
func (a *App) OpenIn(ctx context.Context, s *treeline.Store, ref, dialectName string) (*store.Session, error) {
	d, err := NamedDialect(s, dialectName)
	if err != nil {
		return nil, err
	}
	path, err := a.Locate(ctx, s, ref)
	if err != nil {
		return nil, err
	}
	sess, err := s.Open(ctx, path, store.OpenOptions{Dialect: d})
	return sess, OpenError(path, err)
}

// Target gives the store for writing, and the file of a session.
func (a *App) Target(ctx context.Context, ref string) (s *treeline.Store, path string, err error) {
	if s, err = a.WriteStore(); err == nil {
		path, err = a.Locate(ctx, s, ref)
	}
	return s, path, err
}

// Viewing opens a session, calls use with the entry to look from, and closes it.
func (a *App) Viewing(ctx context.Context, ref string, f *LeafFlags, use func(s *store.Session, at session.EntryID) error) error {
	ref, leaf, err := OneLeaf(ref, f.Leaf)
	if err != nil {
		return err
	}
	s, err := a.Open(ctx, ref, f.Dialect)
	if err != nil {
		return err
	}
	defer s.Close()
	at, err := LeafOf(s, leaf)
	if err != nil {
		return err
	}
	return use(s, at)
}

// NamedDialect looks a dialect up by its name; nil for "". An unknown one is a usage error.
func NamedDialect(s *treeline.Store, name string) (dialect.Dialect, error) {
	if name == "" {
		return nil, nil
	}
	d, err := s.Dialect(name)
	if err != nil {
		return nil, Misused("%w", err)
	}
	return d, nil
}

// InSource reports whether a file is in one of the agents' folders and ok accepts its name there. Names are compared, not
// files: a symbolic link into a folder is outside.
func InSource(s *treeline.Store, path string, ok func(src place.Source, name string) bool) bool {
	abs, err := place.Abs(path)
	return err == nil && slices.ContainsFunc(s.Sources(), func(src place.Source) bool {
		name, below := place.Below(src.Root.Sessions, abs)
		return below && ok(src, name)
	})
}
