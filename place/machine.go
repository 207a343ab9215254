// Package place knows where sessions are: the sources on a machine, the location of each log, and the rows of a list.
//
// A Location is a backend and a name. A Machine opens each backend once, through the drivers that it is given, and closes them all in
// Close. A log has a path for people: a file's path, or the URL of its backend followed by the name. The functions Join, Dir, Base and
// Within work on both.
//
// What a list shows of a session comes from the two ends of its log (see Row). The package reads no more of a log than
// that, except for the lists that an agent's own program would show.
package place

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/logtree"
)

// Options say what a Machine consists of.
type Options struct {
	// Dialects in the order in which they are tried; see package dialect/all. The first is the default.
	Dialects []dialect.Dialect
	// Env is the machine as layouts see it.
	Env dialect.Env
	// Drivers open backends; see backend.FindDriver.
	Drivers []backend.Driver
	// ReadOnly refuses every backend for writing.
	ReadOnly bool
	// OpenBlobs opens the blobs of a folder, WriteBlobs for writing; nil means there are none.
	OpenBlobs  func(dir string) blob.Reader
	WriteBlobs func(dir string) blob.Store
	// Roots, if set, replace the agents' own folders: folders that hold "sessions", folders that hold logs, or URLs of backends.
	Roots []string
	// Origin is the identity of this machine in archives: its new sessions go there. "" means that the machine has none yet.
	Origin string
	// From, if set, limits the listed sources of archives to one origin.
	From string
	// Extra are places beside the agents' own.
	Extra []ExtraRoot
	// Own is treeline's own folder, laid out like that of the first dialect's agent. It has the sessions that belong to no agent. "" means
	// that there is no such folder.
	Own string
	// RunsDir is treeline's own folder of run logs; "" for none.
	RunsDir string
	// Rows says where rows of agents' own lists are kept; see Rows.
	Rows Rows
}

// Machine is the places with sessions on one machine. Its methods may be called from several goroutines at once.
type Machine struct {
	opt      Options
	backends backends
	folders  *folders
	archives []archive
	sources  atomic.Pointer[sources]
}

// sources are computed once.
type sources struct {
	agents func() []Source // the roots of all dialects
	places func() []Source // these and Options.Extra
	runs   func() []Source
}

// New returns the Machine. Nothing is opened yet.
func New(opt Options) *Machine {
	m := &Machine{opt: opt}
	if opt.Env.Folders != nil {
		m.folders = &folders{list: opt.Env.Folders, known: map[string]listing{}}
		m.opt.Env.Folders = m.folders.names
	}
	m.backends.drivers = opt.Drivers
	m.takeRoots()
	m.forgetSources()
	return m
}

// forgetSources makes the next call compute the sources again.
func (m *Machine) forgetSources() {
	m.sources.Store(&sources{
		agents: sync.OnceValue(m.agentSources), places: sync.OnceValue(m.allPlaces), runs: sync.OnceValue(m.runSources),
	})
}

func (m *Machine) agents() []Source { return m.sources.Load().agents() }
func (m *Machine) places() []Source { return m.sources.Load().places() }
func (m *Machine) runs() []Source   { return m.sources.Load().runs() }

// Close closes all backends. A second call does nothing.
func (m *Machine) Close() error { return m.backends.close() }

// Env returns the machine as layouts see it.
func (m *Machine) Env() dialect.Env { return m.opt.Env }

// ReadOnly reports whether nothing can be written.
func (m *Machine) ReadOnly() bool { return m.opt.ReadOnly }

// Dialects returns the dialects that the machine knows, the default first.
func (m *Machine) Dialects() []dialect.Dialect { return m.opt.Dialects }

// ErrUnknownDialect is wrapped by the error for a name that no dialect has.
var ErrUnknownDialect = errors.New("unknown dialect")

// Dialect finds a dialect by its name.
func (m *Machine) Dialect(name string) (dialect.Dialect, error) {
	return FindDialect(m.opt.Dialects, name)
}

// FindDialect finds a dialect of a list by its name.
func FindDialect(list []dialect.Dialect, name string) (dialect.Dialect, error) {
	var names []string
	for _, d := range list {
		if d.Name() == name {
			return d, nil
		}
		names = append(names, d.Name())
	}
	return nil, fmt.Errorf("%w %q: there are %s", ErrUnknownDialect, name, strings.Join(names, ", "))
}

// DialectAt returns the dialect of the agent whose folder a path lies in, or the default one.
func (m *Machine) DialectAt(path string) dialect.Dialect {
	if p, err := Abs(path); err == nil {
		path = p
	}
	return m.dialectIn(m.places(), path)
}

func (m *Machine) dialectIn(places []Source, path string) dialect.Dialect {
	if src, _, ok := m.sourceOf(path); ok {
		return src.Dialect
	}
	if src, ok := sourceIn(places, path); ok {
		return src.Dialect
	}
	return m.opt.Dialects[0]
}

// Reader returns a reader with the dialects of the machine.
func (m *Machine) Reader() logtree.Reader {
	return logtree.Reader{Dialects: m.opt.Dialects, Place: m.DialectAt, Around: m.around}
}

// around returns the backends from which the needs of a log at a path are read: that of its own place, and for other logs those of all
// places of the agent.
func (m *Machine) around(d dialect.Dialect, path string, kind dialect.NeedKind) ([]logtree.Folder, error) {
	root, ok := m.RootOf(d, path)
	if !ok {
		return nil, nil
	}
	dirs := []string{root.Sessions}
	if _, _, ok := m.inArchive(root.Sessions); ok {
		// Not files of this machine: the log is usually another machine's.
		if kind == dialect.NeedRoot {
			return nil, nil
		}
	} else if kind == dialect.NeedRoot {
		dirs[0] = Dir(root.Sessions)
	} else {
		for _, r := range d.Layout().Roots(m.opt.Env) {
			if r.Sessions != root.Sessions && r.Driver == root.Driver {
				dirs = append(dirs, r.Sessions)
			}
		}
	}
	var list []logtree.Folder
	for _, dir := range dirs {
		b, err := m.Open(dir)
		if err != nil {
			return nil, err
		}
		list = append(list, logtree.Folder{Backend: b, Path: dir})
	}
	return list, nil
}

// Sessions returns the dialect of an agent's sessions if d is that of its runs, else d itself.
func Sessions(d dialect.Dialect) dialect.Dialect {
	if r, ok := d.(dialect.Runs); ok {
		return r.Sessions()
	}
	return d
}

// Resolved returns a directory with its links resolved, as far as it exists. Two spellings of one directory become equal.
func (m *Machine) Resolved(dir string) string {
	if backend.Scheme(dir) == "" {
		if real, err := m.opt.Env.Realpath(dir); err == nil {
			dir = real
		}
	}
	return UTF8(Clean(dir))
}

// SameDir reports whether two paths mean one directory, links resolved.
func (m *Machine) SameDir(a, b string) bool { return a == b || m.Resolved(a) == m.Resolved(b) }

// Absolute makes a directory absolute, relative to the machine's working directory, which may differ from that of the process.
func (m *Machine) Absolute(dir string) string {
	if isAbs(dir) {
		return Clean(dir)
	}
	return Join(m.opt.Env.WorkDir, dir)
}

// Home returns the folder for new sessions of a working directory: where the agent would keep them, or below the first root that is a URL.
func (m *Machine) Home(d dialect.Dialect, cwd string) string { return m.dirFor(d, m.roots(d)[0], cwd) }

// roots returns the places of a dialect, the most specific first.
func (m *Machine) roots(d dialect.Dialect) []dialect.Root {
	var list []dialect.Root
	for _, root := range m.opt.Roots {
		if a, _, ok := m.inArchive(root); ok {
			list = append(list, m.ownRoot(a, d))
		} else if backend.Scheme(root) != "" {
			list = append(list, dialect.Root{Sessions: root})
		}
	}
	if list != nil {
		return list
	}
	list = d.Layout().Roots(m.opt.Env)
	if d == m.opt.Dialects[0] && m.opt.Own != "" {
		list = append(list, d.Layout().RootAt(m.opt.Own))
	}
	return list
}

// RootOf returns the place of the dialect's agent that a path lies in.
func (m *Machine) RootOf(d dialect.Dialect, path string) (dialect.Root, bool) {
	abs, err := Abs(path)
	if err != nil || path == "" {
		return dialect.Root{}, false
	}
	if src, _, ok := m.sourceOf(abs); ok {
		return src.Root, src.Dialect.Family() == d.Family()
	}
	for _, r := range m.roots(d) {
		if Within(r.Sessions, abs) {
			return r, true
		}
	}
	return dialect.Root{}, false
}

// BaseOf returns the folder that holds the sessions of a root and other files of the agent; "" if a URL has none. An archive keeps only the
// sessions.
func (m *Machine) BaseOf(r dialect.Root) string {
	if _, _, ok := m.inArchive(r.Sessions); ok {
		return ""
	}
	if base := Dir(r.Sessions); base != r.Sessions && backend.Scheme(base) == backend.Scheme(r.Sessions) {
		return base
	}
	return ""
}

// FolderOf returns the folder that the name of a log is relative to. For an agent whose names begin with folders, such as days, that is not
// the folder of the file. It is "" for a log of another machine, in an archive or pulled from one: sessions that are made from it go to
// this machine's own part.
func (m *Machine) FolderOf(d dialect.Dialect, path string) string {
	src, _, archived := m.sourceOf(path)
	if near, ok := sourceIn(m.places(), path); ok && near.Why == WhyPulled || archived && src.Origin != m.opt.Origin {
		return ""
	}
	return m.folderOf(d, path)
}

func (m *Machine) folderOf(d dialect.Dialect, path string) string {
	dir := Dir(path)
	days := strings.Count(d.Layout().File(time.Time{}, ""), "/")
	r, ok := m.RootOf(d, path)
	if !ok || days == 0 {
		return dir
	}
	if abs, err := Abs(path); err == nil {
		dir = Dir(abs)
	}
	for range days {
		if dir != Clean(r.Sessions) {
			dir = Dir(dir)
		}
	}
	return dir
}

// HomeBeside is Home in the place of the agent that a session lies in. ok is false if it lies in no such place, or in that folder already.
func (m *Machine) HomeBeside(d dialect.Dialect, path, cwd string) (dir string, ok bool) {
	r, ok := m.RootOf(d, path)
	if !ok {
		return "", false
	}
	abs, _ := Abs(path) // RootOf has checked it
	dir = m.dirFor(d, r, cwd)
	return dir, m.Resolved(dir) != m.Resolved(m.folderOf(d, abs))
}

// In returns where the logs of a dialect lie if the caller chose a folder for them.
func (m *Machine) In(d dialect.Dialect, dir string) string {
	if p, ok := d.Layout().(dialect.Housed); ok && backend.Scheme(dir) == "" {
		return p.Place(m.Absolute(dir))
	}
	return dir
}

// FileName returns the agent's name for the log of a new session. Some agents put the local time into it.
func (m *Machine) FileName(d dialect.Dialect, n dialect.NewSession) string {
	if zone := m.opt.Env.Zone; zone != nil {
		n.Time = n.Time.In(zone)
	}
	return d.Layout().File(n.Time, n.ID)
}

// ProfileDir returns the folder for sessions of a profile; "" is the profile in use. For an agent without profiles it returns "", and fails
// with dialect.ErrUnsupported if a profile is named.
func (m *Machine) ProfileDir(d dialect.Dialect, profile string) (string, error) {
	p, ok := d.Layout().(dialect.Profiler)
	if ok && backend.Scheme(m.roots(d)[0].Sessions) == "" {
		root, err := p.Profile(m.opt.Env, profile)
		// From now on the profile is a source, though its folder may not exist yet.
		if at := Dir(root.Sessions); err == nil && profile != "" && m.folders != nil && m.folders.add(Dir(at), Base(at)) {
			m.forgetSources()
		}
		return root.Sessions, err
	}
	if profile != "" {
		return "", fmt.Errorf("a profile for a session of %s is %w", d.Name(), dialect.ErrUnsupported)
	}
	return "", nil
}

// AgentRoots returns the agents' own places, whatever Options.Roots says, each once.
func (m *Machine) AgentRoots() []dialect.Root {
	var list []dialect.Root
	for _, src := range m.agents() {
		if !slices.Contains(list, src.Root) {
			list = append(list, src.Root)
		}
	}
	return list
}

// OpenLog reads a log into a tree. d, if not nil, reads it whatever its content. A session whose log does not name its working directory
// gets that of its folder, if it is certain.
func (m *Machine) OpenLog(ctx context.Context, l Location, d dialect.Dialect) (*logtree.Log, error) {
	log, err := m.Reader().Open(ctx, l.Backend, l.Name, l.Path, d)
	if err == nil {
		m.FindCWD(ctx, log.Builder, l, log.Dialect)
	}
	return log, err
}
