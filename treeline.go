package treeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/all"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/place"
)

// Options say which machine a Store works on. The zero value means this machine.
type Options struct {
	// Home is the user's folder; "" is that of the process. Without a home a store can only read, or write to an archive: see ErrNoHome.
	Home string
	// WorkDir is the working directory; "" is that of the process.
	WorkDir string
	// Getenv looks up environment variables; nil is that of the process.
	Getenv func(string) string
	// Backends open places other than plain folders and memory, such as an agent's database; package backend/all lists all
	// drivers. A source whose driver is missing is listed with what it Needs, and not read.
	Backends []backend.Driver
	// Indexes open the indexes that lie beside the sessions of an archive; package index/all lists all drivers. Without an index, all
	// sessions of the archive are read to list or search them.
	Indexes []index.Driver
	// Roots, if set, are used instead of the agents' own folders: folders, or URLs that a driver opens. In an archive,
	// which keeps the sessions of many machines, new sessions go below the Origin of this one. What is derived
	// from folders that are neither an agent's nor in the user's settings is kept only if Cache is set.
	Roots []string
	// From, if set, lists only the sessions of one machine in an archive: its Origin, or the beginning of one.
	From string
	// State is treeline's own folder, for the trash and for the notes of garbage collection; "" is
	// $XDG_STATE_HOME/treeline, or ~/.local/state/treeline. A ReadOnly store of Roots has none unless it is set.
	State string
	// Cache is treeline's own folder for derived data, such as the catalogue; "" is $XDG_CACHE_HOME/treeline, or
	// ~/.cache/treeline.
	Cache string
	// NoConfig ignores the user's settings; see Config.
	NoConfig bool
	// NoBreadcrumbs neither reads nor writes the agents' notes of which terminal uses which session, unless
	// WriteOptions.Terminal names the terminal.
	NoBreadcrumbs bool
	// Piped: standard input is not the user's, though the user may sit at a terminal. The terminal of breadcrumbs is then the
	// controlling one if nothing else names one (on Linux; WriteOptions.Terminal names it everywhere).
	Piped bool
	// ReadOnly makes a store that cannot write.
	ReadOnly bool
	// Notice, if set, is called if a damaged catalogue was rebuilt.
	Notice func(text string)
	// Clock is the time; nil is that of the machine.
	Clock func() time.Time
}

// Dialects returns all formats, the default first.
func Dialects() []dialect.Dialect { return all.Dialects() }

// ErrNoHome is the error for a store that is not ReadOnly if the user's folder is unknown: new sessions, the trash and notes would
// otherwise be written to the root folder.
var ErrNoHome = errors.New("HOME is not set, so there is no folder for sessions and the trash; nothing was written")

// New returns the Store of a machine: all dialects, logs in files, blobs in folders. Close it when done.
func New(opt Options) (*Store, error) {
	env, err := opt.env()
	if err != nil {
		return nil, err
	}
	homeless := env.Home == ""
	if homeless {
		if !opt.ReadOnly && !opt.housed(env.Getenv) {
			return nil, ErrNoHome
		}
		env.Home = string(filepath.Separator)
	}
	o := place.Options{
		Dialects:  all.Dialects(),
		Env:       env,
		Drivers:   append(slices.Clip(opt.Backends), memory.Driver("memory"), file.Driver(file.Options{})),
		ReadOnly:  opt.ReadOnly,
		OpenBlobs: func(dir string) blob.Reader { return blob.NewDir(dir) },
		Roots:     opt.Roots,
		Own:       DataDir(env.Home, env.Getenv),
	}
	if !opt.ReadOnly {
		o.WriteBlobs = func(dir string) blob.Store { return blob.NewDir(dir) }
	}
	if opt.NoBreadcrumbs {
		o.Env.Terminal = ""
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
	if len(opt.Roots) == 0 {
		o.Extra = append(o.Extra, pulledRoots(o.Dialects, o.Own)...)
	}
	if !homeless || filepath.IsAbs(env.Getenv("XDG_CACHE_HOME")) { // otherwise the catalogue is kept in memory
		opt.Cache = cmp.Or(opt.Cache, CacheDir(env.Home, env.Getenv))
	}
	if opt.State == "" && (len(opt.Roots) == 0 || !opt.ReadOnly) {
		opt.State = StateDir(env.Home, env.Getenv)
	}
	if opt.State != "" {
		o.RunsDir = filepath.Join(opt.State, "runs")
	}
	clock := opt.Clock
	if clock == nil {
		clock = time.Now
	}
	var ix *index.Index
	o.Rows = place.Rows{Index: func() *index.Index { return ix }, Clock: clock}
	if err := opt.findOrigins(&o); err != nil {
		return nil, err
	}
	m := place.New(o)
	if len(opt.Roots) > 0 && shared && !m.Familiar() {
		opt.Cache = "" // the catalogue is kept in memory; see Options.Roots
	}
	ix = index.Open(index.Options{Dir: opt.Cache, Notice: opt.Notice})
	beside, err := m.OpenIndex(opt.Indexes)
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	s := assemble(m, ix, beside, opt.State, clock)
	s.rooted = len(opt.Roots) > 0
	return s, nil
}

// findOrigins sets the origin of this machine, and the one whose sessions are listed, if the roots are an archive.
func (o Options) findOrigins(p *place.Options) error {
	archived, err := place.CheckRoots(p.Drivers, p.Roots)
	if err != nil || !archived {
		return err
	}
	origin := Origin
	if o.ReadOnly {
		origin = readOrigin // a reader does not make an origin
	}
	if p.Origin, err = origin(p.Own); err != nil || o.From == "" {
		return err
	}
	p.From, err = findOrigin(context.Background(), p.Drivers, p.Roots[0], o.From)
	return err
}

// housed reports whether nothing is written below the user's folder: sessions go to an archive, and the variables name treeline's own
// folders.
func (o Options) housed(getenv func(string) string) bool {
	return len(o.Roots) > 0 && backend.Scheme(o.Roots[0]) != "" && filepath.IsAbs(getenv("XDG_DATA_HOME")) &&
		(o.State != "" || filepath.IsAbs(getenv("XDG_STATE_HOME")))
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
		env.Home, _ = os.UserHomeDir() // "" if there is none
	}
	if env.WorkDir == "" {
		wd, err := os.Getwd()
		if err != nil {
			return env, fmt.Errorf("working directory: %w", err)
		}
		env.WorkDir = wd
	}
	env.Terminal = terminal(env.Getenv, o.Piped)
	return env, nil
}

// Create begins a session on this machine. See store.Store.Create.
func Create(ctx context.Context, opt CreateOptions) (*Session, error) {
	return on(func(s *Store) (*Session, error) { return s.Create(ctx, opt) })
}

// Open opens the session at a path for reading and appending. See store.Store.OpenWrite; Store.Open is for reading only.
func Open(ctx context.Context, path string, opt WriteOptions) (*Session, error) {
	return on(func(s *Store) (*Session, error) { return s.OpenWrite(ctx, path, CreateOptions{Write: opt}) })
}

// ContinueRecent opens the session that this terminal used last in a working directory, otherwise the newest there, and
// creates one if there is none.
func ContinueRecent(ctx context.Context, opt CreateOptions) (*Session, error) {
	return on(func(s *Store) (*Session, error) { return s.ContinueRecent(ctx, opt) })
}

// InMemory begins a session that is never stored.
func InMemory(ctx context.Context, opt CreateOptions) (*Session, error) {
	return on(func(s *Store) (*Session, error) { return s.InMemory(ctx, opt) })
}

// ForkFrom copies the session at a path into a new one for another working directory.
func ForkFrom(ctx context.Context, source string, opt CreateOptions) (*Session, error) {
	return on(func(s *Store) (*Session, error) { return s.ForkFrom(ctx, source, opt) })
}

// on opens a session with a Store of its own. The Store holds nothing that outlives the session: the session releases
// its log when it is closed, and the index is never opened.
func on(open func(*Store) (*Session, error)) (*Session, error) {
	s, err := New(Options{})
	if err != nil {
		return nil, err
	}
	return open(s)
}

// Watch reports what any program writes to the sessions of this machine. See Store.Watch.
func Watch(ctx context.Context, opt WatchOptions) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		s, err := New(Options{ReadOnly: true})
		if err != nil {
			yield(Change{}, err)
			return
		}
		defer s.Close()
		s.Watch(ctx, opt)(yield)
	}
}
