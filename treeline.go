package treeline

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/all"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// The names that an embedder needs, under one roof. Bodies of entries, trees and contexts are in package session.
type (
	// Store is the sessions of this machine.
	Store = store.Store
	// Session is one session, open for reading, or for reading and appending.
	Session = store.Session
	// CreateOptions say what a new session is, WriteOptions how it is written.
	CreateOptions = store.CreateOptions
	WriteOptions  = store.WriteOptions
	// OpenOptions change how a session is opened for reading.
	OpenOptions = store.OpenOptions
	// ContextOptions ask for a context other than the agent's own.
	ContextOptions = store.ContextOptions
	// Row is a session in a list; Filter narrows one. Store.Catalogue lists all that is known, Store.Recent the newest of a
	// folder, Store.Listings what the agent's own program lists.
	Row            = store.Row
	Filter         = store.Filter
	RefreshOptions = store.RefreshOptions
	// Appended says what became of an append.
	Appended = store.Appended
	// Event is what an Observer is told.
	Event    = store.Event
	Observer = store.Observer
	// Change is what happened to a session that is watched, ChangeKind what it is; WatchOptions say what is watched.
	Change       = store.Change
	ChangeKind   = store.ChangeKind
	WatchOptions = store.WatchOptions
)

// What a Change tells.
const (
	ChangeStart     = store.ChangeStart
	ChangeSession   = store.ChangeSession
	ChangeEntry     = store.ChangeEntry
	ChangeReplaced  = store.ChangeReplaced
	ChangeTruncated = store.ChangeTruncated
	ChangeRemoved   = store.ChangeRemoved
	ChangeProblem   = store.ChangeProblem
)

// What an append survives when it returns, and what it does when others wrote first.
const (
	DurabilityNone   = store.DurabilityNone
	DurabilityFlush  = store.DurabilityFlush
	DurabilityAlways = store.DurabilityAlways

	PolicyBranch = store.PolicyBranch
	PolicyFollow = store.PolicyFollow
	PolicyRefuse = store.PolicyRefuse
)

// Options say which machine a Store works on. The zero value is this one.
type Options struct {
	// Home is the user's folder; "" is that of the process.
	Home string
	// WorkDir is the working directory; "" is that of the process.
	WorkDir string
	// Getenv looks up environment variables; nil is that of the process.
	Getenv func(string) string
	// Backends open places that are not plain folders, such as an agent's database; see package backend/all for those that
	// there are. Without its driver a source is listed with what it Needs, and not read.
	Backends []backend.Driver
	// Roots, if set, are looked at instead of the agents' own folders. What is found out about folders that are no agent's, nor
	// in the user's settings, is kept only in a Cache that is named here: the usual one is for what everybody looks at.
	Roots []string
	// State is our own folder, for the trash and for what gc must know; "" is $XDG_STATE_HOME/treeline, or
	// ~/.local/state/treeline.
	State string
	// Cache is our own folder for what can be made again, the catalogue above all; "" is $XDG_CACHE_HOME/treeline, or
	// ~/.cache/treeline.
	Cache string
	// NoConfig leaves alone the user's settings; see Config.
	NoConfig bool
	// NoBreadcrumbs leaves alone the agents' notes of which terminal uses which session.
	NoBreadcrumbs bool
	// ReadOnly gives a store that cannot write.
	ReadOnly bool
}

// New gives the Store of a machine: all dialects, logs in files, blobs in folders.
func New(opt Options) (*Store, error) {
	env, err := opt.env()
	if err != nil {
		return nil, err
	}
	o := store.Options{
		Dialects:  all.Dialects(),
		Env:       env,
		OpenDir:   func(dir string) (backend.Backend, error) { return file.New(dir, file.Options{ReadOnly: true}) },
		OpenBlobs: func(dir string) blob.Reader { return blob.NewDir(dir) },
		Drivers:   opt.Backends,
		Roots:     opt.Roots,
		State:     opt.State,
	}
	shared := opt.Cache == ""
	if !opt.NoConfig {
		config, err := ReadConfig(ConfigPath(env.Home, env.Getenv), env.Home)
		if err != nil {
			return nil, err
		}
		o.Extra = config.Extra()
		opt.Cache = cmp.Or(opt.Cache, config.Cache)
	}
	if opt.Cache == "" {
		opt.Cache = CacheDir(env.Home, env.Getenv)
	}
	o.Index = index.Open(index.Options{Dir: opt.Cache})
	if o.State == "" {
		o.State = StateDir(env.Home, env.Getenv)
	}
	if opt.NoBreadcrumbs {
		o.Env.Terminal = ""
	}
	if !opt.ReadOnly {
		o.WriteDir = writeDir
		o.WriteBlobs = func(dir string) blob.Store { return blob.NewDir(dir) }
	}
	s := store.New(o)
	if len(opt.Roots) > 0 && shared && !s.Familiar() {
		o.Index = nil
		s = store.New(o)
	}
	return s, nil
}

// StateDir is where programs keep what is neither settings nor cache. A relative path in the variable does not count.
func StateDir(home string, getenv func(string) string) string {
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "treeline")
	}
	return filepath.Join(home, ".local", "state", "treeline")
}

// CacheDir is where programs keep what can be made again. A relative path in the variable does not count.
func CacheDir(home string, getenv func(string) string) string {
	if dir := getenv("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "treeline")
	}
	return filepath.Join(home, ".cache", "treeline")
}

func (o Options) env() (dialect.Env, error) {
	env := dialect.Env{
		Home: o.Home, WorkDir: o.WorkDir, TempDir: os.TempDir(),
		Getenv: o.Getenv, Realpath: filepath.EvalSymlinks, Folders: file.Folders, Access: file.Access, Zone: time.Local,
	}
	if env.Getenv == nil {
		env.Getenv = os.Getenv
	}
	if env.Home == "" {
		if home, err := os.UserHomeDir(); err == nil {
			env.Home = home
		} else {
			env.Home = string(filepath.Separator)
		}
	}
	if env.WorkDir == "" {
		wd, err := os.Getwd()
		if err != nil {
			return env, fmt.Errorf("the working directory: %w", err)
		}
		env.WorkDir = wd
	}
	env.Terminal = terminal(env.Getenv)
	return env, nil
}

// writeDir opens a folder of logs for writing.
func writeDir(dir string, level store.Durability, repaired func(session.Problem)) (backend.Backend, error) {
	opt := file.Options{Durability: backend.Durability(level)}
	if repaired != nil {
		opt.Mended = func(m backend.Mended) { repaired(problem(m)) }
	}
	return file.New(dir, opt)
}

// problem describes what the backend did to the end of a log.
func problem(m backend.Mended) session.Problem {
	p := session.Problem{File: m.Log, Offset: m.Offset, Kind: session.ProblemTorn}
	if m.To == "" {
		p.Offset += m.Size // where the newline is missing
		p.Message = "the last line had no newline"
		p.Advice = "it has one now; nothing was lost"
	} else {
		p.Message = fmt.Sprintf("the last %d bytes were a record that was cut off", m.Size)
		p.Advice = "they were moved to " + m.To
	}
	return p
}

// Create begins a session on this machine. See Store.Create.
func Create(ctx context.Context, opt CreateOptions) (*Session, error) {
	s, err := New(Options{})
	if err != nil {
		return nil, err
	}
	return s.Create(ctx, opt)
}

// Open opens the session in a file for reading and appending. See Store.OpenWrite; Store.Open is for reading only.
func Open(ctx context.Context, path string, opt WriteOptions) (*Session, error) {
	s, err := New(Options{})
	if err != nil {
		return nil, err
	}
	return s.OpenWrite(ctx, path, CreateOptions{Write: opt})
}

// ContinueRecent opens the session that this terminal used last in a working directory, otherwise the newest there, and
// begins one where there is none.
func ContinueRecent(ctx context.Context, opt CreateOptions) (*Session, error) {
	s, err := New(Options{})
	if err != nil {
		return nil, err
	}
	return s.ContinueRecent(ctx, opt)
}

// InMemory begins a session that is never written anywhere.
func InMemory(ctx context.Context, opt CreateOptions) (*Session, error) {
	s, err := New(Options{})
	if err != nil {
		return nil, err
	}
	return s.InMemory(ctx, opt)
}

// ForkFrom copies the session in a file into a new one for another working directory.
func ForkFrom(ctx context.Context, source string, opt CreateOptions) (*Session, error) {
	s, err := New(Options{})
	if err != nil {
		return nil, err
	}
	return s.ForkFrom(ctx, source, opt)
}

// Watch tells what is written to the sessions of this machine, by whatever program. See Store.Watch.
func Watch(ctx context.Context, opt WatchOptions) iter.Seq2[Change, error] {
	s, err := New(Options{ReadOnly: true})
	if err != nil {
		return func(yield func(Change, error) bool) { yield(Change{}, err) }
	}
	return s.Watch(ctx, opt)
}
