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

// KnownHome returns the user's home directory, or "" if it is unknown. HOME takes precedence, even on Windows, so that the program can be
// run with another home directory.
func (a *App) KnownHome() string {
	if home := a.Getenv("HOME"); home != "" {
		return home
	}
	home, _ := os.UserHomeDir() // "" without one
	return home
}

// Home returns the directory in which settings are read and that paths show as ~. If the user's home directory is unknown, it is the root
// directory.
func (a *App) Home() string { return cmp.Or(a.KnownHome(), string(filepath.Separator)) }

// Tilde returns the directory that the directories of sessions show as ~.
func (a *App) Tilde() string { return cmp.Or(a.MadeUp, a.Home()) }

// Options returns the options of every store that a command opens. An invalid config.toml makes every command fail: ignoring it would hide
// sessions silently.
func (a *App) Options() treeline.Options {
	opt := treeline.Options{
		Home: a.KnownHome(), WorkDir: a.WorkDir, Getenv: a.Getenv, Backends: a.Drivers(), Indexes: indexes.Drivers(a.Drivers()), NoBreadcrumbs: true, Notice: a.Notice, Clock: a.Clock,
	}
	if a.Archive != "" {
		a.Patience.Store(int64(2 * time.Second)) // time for closing connections
		opt.Roots, opt.From = []string{a.Archive}, a.Origin
	}
	return opt
}

// Store returns the store of this machine, of --store, or of some roots, for reading. It is opened read-only, so that a mistake elsewhere
// cannot make a reading command change an agent's folder.
func (a *App) Store(roots ...string) (*treeline.Store, error) {
	opt := a.Options()
	opt.ReadOnly = true
	if len(roots) > 0 {
		opt.Roots = roots
	}
	return a.Opened(opt)
}

// WriteStore returns the store of this machine for writing. It does not change the agents' records of which terminal uses which session.
func (a *App) WriteStore() (*treeline.Store, error) { return a.Opened(a.Options()) }

// Opened opens a store, which is closed at the end of the command.
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

// OpenIn opens a session of a store for reading, with the dialect of --dialect.
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

// Target returns the store for writing, and the file of a session.
func (a *App) Target(ctx context.Context, ref string) (s *treeline.Store, path string, err error) {
	if s, err = a.WriteStore(); err == nil {
		path, err = a.Locate(ctx, s, ref)
	}
	return s, path, err
}

// Viewing opens a session, calls use with the entry to look from, and closes the session.
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

// NamedDialect returns the dialect with a name, or nil for "". An unknown name is a usage error.
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

// InSource reports whether a file is in one of the agents' folders and ok accepts its name there. It compares names, not files: a symbolic
// link into a folder is outside.
func InSource(s *treeline.Store, path string, ok func(src place.Source, name string) bool) bool {
	abs, err := place.Abs(path)
	return err == nil && slices.ContainsFunc(s.Sources(), func(src place.Source) bool {
		name, below := place.Below(src.Root.Sessions, abs)
		return below && ok(src, name)
	})
}
