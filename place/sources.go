package place

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
)

// Source is a place where an agent keeps sessions, or logs of runs.
type Source struct {
	// Dialect is the dialect of the logs there, unless they name their own.
	Dialect dialect.Dialect
	// Assumed: the agent of the place is unknown. Dialect is then the default one.
	Assumed bool
	Root    dialect.Root
	// Why says how the source is known.
	Why Why
	// Origin is the identity of the machine that the logs come from; "" unless the source is in an archive or was pulled from another
	// machine.
	Origin string
	// Err is why nothing of the place is known: its sources could not be listed.
	Err error
	// Needs names the driver that reads the place, if the machine does not have it. Such a source is not listed.
	Needs string
	// claims are the logs of sources whose folders overlap with this one. A source without claims lists all that its layout
	// owns.
	claims []claim
	// below is the prefix that layouts expect before the names of logs if Root.Sessions is a single folder of the agent's; see folder.
	below string
	// apart: the caller chose the folder, so its name says nothing about working directories.
	apart bool
}

// folder makes a source of one folder with logs of a dialect: a folder in one of the agent's places, or any other.
func (m *Machine) folder(d dialect.Dialect, dir string) Source {
	src := Source{Dialect: d, Root: dialect.Root{Sessions: dir}}
	layout := d.Layout()
	if root, ok := m.RootOf(d, dir); ok {
		src.Needs, src.below = m.needs(root), folderBelow(root.Sessions, dir)
	} else if src.apart = true; !layout.Owns(layout.File(time.Time{}, "x")) {
		// The layout recognises its logs by their folder, and would choose another folder than this one.
		src.below = filepath.ToSlash(layout.Dir(m.opt.Env, dir)) + "/"
	}
	return src
}

// Why says how a source is known: one of the constants, or the name of an environment variable with its dollar sign.
type Why string

// The ways in which sources are known.
const (
	WhyDefault Why = "default" // the agent keeps its sessions there unless told otherwise
	WhyConfig  Why = "config"  // the user's settings name it
	WhyPulled  Why = "pulled"  // its sessions were pulled from another machine
	WhyAsked   Why = "asked"   // Options.Roots names it
	WhyOwn     Why = "own"     // treeline's own: runs of agents that have no place for them, sessions that belong to no agent
)

// ExtraRoot is a place with sessions that no agent would look in by itself.
type ExtraRoot struct {
	// Path is an agent's folder, its folder of sessions, or any folder with logs.
	Path string
	// Dialect is the dialect of sessions that do not name theirs; "" is that of the agent whose folder it is.
	Dialect string
	// Origin is the machine that the sessions in the folder Path were pulled from; "" for other places.
	Origin string
}

// NotedFolder is a place with sessions that is remembered, so that its absence is noticed.
type NotedFolder struct {
	Folder string `json:"folder"`
	// Seen are names of sessions that were there last, relative to the folder.
	Seen []string `json:"seen,omitempty"`
	// Forgotten says that the user gave it up.
	Forgotten bool `json:"forgotten,omitempty"`
}

// ExtraRoots returns the places that were added to those of the agents.
func (m *Machine) ExtraRoots() []ExtraRoot { return slices.Clone(m.opt.Extra) }

// Key identifies the source in a catalogue. Values of a family that share a folder have their own logs each.
func (src *Source) Key() string { return Clean(src.Root.Sessions) + "\x00" + src.Dialect.Name() }

// PathOf returns the path of a log in the source.
func (src *Source) PathOf(name string) string { return Join(src.Root.Sessions, name) }

// Paths is PathOf for many logs: it cleans the root once.
func (src *Source) Paths() func(name string) string {
	root := Clean(src.Root.Sessions)
	if isURL(root) {
		return func(name string) string { return root + "/" + name }
	}
	below := root + string(filepath.Separator)
	return func(name string) string { return below + filepath.FromSlash(name) }
}

// Sources returns the places where sessions may be: the roots of all dialects, then those that were added, each folder once. If folders
// overlap, each log is listed for one of them. Places of runs are not among them.
func (m *Machine) Sources() []Source {
	list := m.plainSources()
	for _, a := range m.archives {
		for _, src := range m.sourcesOf(a) {
			if !IsRuns(src.Dialect) {
				list = append(list, src)
			}
		}
	}
	return list
}

// plainSources returns the sources that are not in archives.
func (m *Machine) plainSources() []Source {
	var list []Source
	seen := map[string]bool{}
	add := func(src Source) {
		key := src.Root.Sessions
		if shares(src.Dialect.Layout()) {
			key += "\x00" + src.Dialect.Name() // each lists only its own logs
		}
		if !seen[key] {
			seen[key] = true
			list = append(list, src)
		}
	}
	for _, dir := range m.opt.Roots {
		if _, _, ok := m.inArchive(dir); ok {
			continue
		}
		for _, src := range m.sourcesAt(m.places(), dir) {
			src.Why = WhyAsked
			add(src)
		}
	}
	if len(m.opt.Roots) > 0 {
		return m.beside(nil, list)
	}
	for _, src := range m.places() {
		if !IsRuns(src.Dialect) {
			add(src)
		}
	}
	return list
}

// Familiar reports whether Options.Roots names only sources of this machine. What is found out about these may be kept; see the notes on
// lists in ARCHITECTURE.md.
func (m *Machine) Familiar() bool {
	if m.Archived() {
		return false
	}
	known := map[string]bool{}
	for _, src := range m.places() {
		if !IsRuns(src.Dialect) && src.claims == nil { // a source with claims does not list all logs of its folder
			known[src.Key()] = true
		}
	}
	for _, src := range m.Sources() {
		if !known[src.Key()] {
			return false
		}
	}
	return true
}

// IsRuns reports whether a dialect is that of an agent's runs.
func IsRuns(d dialect.Dialect) bool {
	_, ok := d.(dialect.Runs)
	return ok
}

// sourcesAt makes sources of a folder or URL whose agent was not named: an agent's folder, its folder of sessions, or any folder with logs.
// What lies in one of the places belongs to that place's agent.
func (m *Machine) sourcesAt(places []Source, dir string) []Source {
	abs, err := Abs(dir)
	if err != nil {
		abs = Clean(dir)
	}
	if list := m.claimedAt(abs); list != nil {
		return list
	}
	src, known := sourceIn(places, abs)
	if known && Within(abs, src.Root.Sessions) { // the agent's own folder
		return []Source{{Dialect: src.Dialect, Root: src.Root}}
	}
	d := m.opt.Dialects[0]
	if known {
		d = src.Dialect
	}
	return []Source{{Dialect: d, Assumed: !known, Root: m.rootAt(d.Layout(), abs)}}
}

// claimedAt returns the places of an agent whose logs need a driver of their own, if abs is that agent's folder, its folder of sessions, or
// one of the places themselves.
func (m *Machine) claimedAt(abs string) (list []Source) {
	dir, here := abs, ""
	if m.claimed(abs) {
		dir, here = Dir(Dir(abs)), abs
	} else if Base(abs) == "sessions" {
		dir = Dir(abs)
	}
	for _, d := range m.opt.Dialects {
		r := d.Layout().RootAt(dir)
		if here != "" && Clean(r.Sessions) != here {
			continue
		}
		if r.Driver != "" && m.claimed(r.Sessions) {
			list = append(list, Source{Dialect: d, Root: r})
		}
	}
	return list
}

// claimed reports whether a driver claims that very folder.
func (m *Machine) claimed(dir string) bool {
	return !isURL(dir) && slices.ContainsFunc(m.opt.Drivers, func(d backend.Driver) bool {
		return d.Scheme == "" && d.Claims != nil && d.Claims(dir)
	})
}

// needs returns the name of the driver that a place needs and the machine does not have, or "".
func (m *Machine) needs(r dialect.Root) string {
	if r.Driver == "" || slices.ContainsFunc(m.opt.Drivers, func(d backend.Driver) bool { return d.Name == r.Driver }) {
		return ""
	}
	return r.Driver
}

// checkDriver fails for the place of an agent whose driver is missing: its files are not logs.
func (m *Machine) checkDriver(root string) error {
	for _, src := range m.agents() {
		if src.Needs != "" && Within(src.Root.Sessions, root) {
			return fmt.Errorf("%s: %w: it needs the driver %q", root, backend.ErrNoDriver, src.Needs)
		}
	}
	return nil
}

// agentSources returns the roots of all dialects.
func (m *Machine) agentSources() (list []Source) {
	for _, d := range m.opt.Dialects {
		for _, r := range d.Layout().Roots(m.opt.Env) {
			list = append(list, Source{Dialect: d, Root: r, Why: m.why(d, r), Needs: m.needs(r)})
		}
	}
	if m.opt.Own != "" {
		d := m.opt.Dialects[0]
		list = append(list, Source{Dialect: d, Root: d.Layout().RootAt(m.opt.Own), Why: WhyOwn})
	}
	return list
}

// why returns how an agent chose a root: by an environment variable, if the root would be another one without it.
func (m *Machine) why(d dialect.Dialect, r dialect.Root) Why {
	env, asked := m.opt.Env, ""
	env.Getenv = func(name string) string {
		value := m.opt.Env.Getenv(name)
		if value != "" && asked == "" {
			asked = name
		}
		return ""
	}
	if slices.Contains(d.Layout().Roots(env), r) || asked == "" {
		return WhyDefault
	}
	return Why("$" + asked)
}

// allPlaces returns the roots of all dialects, in the order of the dialects, and the added ones that do not lie in another. A dialect that
// is named for a folder overrides that of the agent whose place it lies in.
func (m *Machine) allPlaces() []Source {
	if len(m.opt.Extra) == 0 {
		return m.agents()
	}
	agents := slices.Clone(m.agents())
	sessions := slices.DeleteFunc(slices.Clone(agents), func(src Source) bool { return IsRuns(src.Dialect) })
	var inner, added []Source
	for _, e := range m.opt.Extra {
		at := m.sourcesAt(sessions, e.Path)
		d, err := m.Dialect(e.Dialect)
		if e.Origin != "" {
			if err == nil && !IsRuns(d) {
				added = append(added, Source{Dialect: d, Root: dialect.Root{Sessions: e.Path}, Why: WhyPulled, Origin: e.Origin})
			}
			continue
		}
		if err == nil {
			d = Sessions(d)
			at = []Source{{Dialect: d, Root: m.rootAt(d.Layout(), e.Path)}}
		}
		for _, src := range at {
			src.Why = WhyConfig
			whole, part := false, false
			if err == nil {
				whole, part = m.override(agents, src)
			}
			switch {
			case whole:
			case part:
				inner = append(inner, src)
			default:
				added = append(added, src)
			}
		}
	}
	known := slices.Concat(inner, slices.DeleteFunc(slices.Clone(agents), func(src Source) bool { return IsRuns(src.Dialect) }))
	return slices.Concat(inner, agents, m.beside(known, added))
}

// override gives a source with a named dialect precedence over the places of agents of the same family. whole: it is such a place, which
// gets its dialect. part: it lies in such a place, which leaves it its logs. Places that values share are not changed: there the names of
// logs tell the value.
func (m *Machine) override(agents []Source, src Source) (whole, part bool) {
	real := m.Resolved(src.Root.Sessions)
	for i := range agents {
		a := &agents[i]
		if a.Dialect.Family() != src.Dialect.Family() || IsRuns(a.Dialect) || shares(a.Dialect.Layout()) {
			continue
		}
		switch at := m.Resolved(a.Root.Sessions); {
		case at == real:
			a.Dialect, a.Why, whole = src.Dialect, WhyConfig, true
		case Within(at, real):
			a.claims = append(slices.Clip(a.claims), claim{below: folderBelow(at, real), layout: src.Dialect.Layout()})
			part = true
		}
	}
	return whole, part
}

// RunSources returns the places of run logs: the agents' own, those in roots that were added, then treeline's own; or those of archives. A
// place that no driver opens is left out.
func (m *Machine) RunSources() []Source {
	if !m.Archived() {
		return slices.Clone(m.runs())
	}
	var list []Source
	for _, a := range m.archives {
		for _, src := range m.sourcesOf(a) {
			if src.Err != nil || IsRuns(src.Dialect) {
				list = append(list, src)
			}
		}
	}
	return list
}

func (m *Machine) runSources() []Source {
	var list []Source
	add := func(src Source) {
		_, err := backend.FindDriver(m.opt.Drivers, src.Root.Sessions)
		if err == nil && !slices.ContainsFunc(list, func(o Source) bool { return o.Root.Sessions == src.Root.Sessions }) {
			list = append(list, src)
		}
	}
	for _, src := range m.agents() {
		if !IsRuns(src.Dialect) {
			continue
		}
		add(src)
		for _, e := range m.opt.Extra {
			named, err := m.Dialect(e.Dialect)
			// A root that was added for the agent by its name, or one that looks like the agent's.
			if e.Origin == "" && (err == nil && Sessions(named) == Sessions(src.Dialect) || err != nil && m.claimedAt(e.Path) != nil) {
				add(Source{Dialect: src.Dialect, Root: m.rootAt(src.Dialect.Layout(), e.Path), Why: WhyConfig})
			}
		}
	}
	if len(list) > 0 && m.opt.RunsDir != "" {
		add(Source{Dialect: list[0].Dialect, Root: dialect.Root{Sessions: m.opt.RunsDir}, Why: WhyOwn})
	}
	return list
}

// rootAt returns the place of a layout in a folder that may be the agent's, its folder of sessions, or any folder with logs. A URL is the
// folder of sessions itself.
func (m *Machine) rootAt(layout dialect.Layout, abs string) dialect.Root {
	if isURL(abs) {
		return dialect.Root{Sessions: abs}
	}
	if Base(abs) == "sessions" {
		return layout.RootAt(Dir(abs))
	}
	if b, err := m.Open(abs); err == nil {
		// One log is enough to distinguish an agent's folder from any folder with logs.
		for range b.List(context.Background(), "sessions/") {
			return layout.RootAt(abs)
		}
	}
	r := layout.RootAt(abs)
	if r.Sessions != abs {
		r.Sessions, r.Driver = abs, ""
	}
	return r
}

// sourceIn finds the place that a path lies in. If values share it, it is the one that owns the log, else the first.
func sourceIn(places []Source, path string) (src Source, ok bool) {
	for _, p := range places {
		dir := Dir(p.Root.Sessions)
		if p.Why == WhyConfig || p.Why == WhyPulled || p.Why == WhyOwn || p.Root.Driver != "" {
			dir = p.Root.Sessions // it may be any folder, or a database: its neighbours are not its own
		}
		if !Within(dir, path) {
			continue
		}
		layout := p.Dialect.Layout()
		if !shares(layout) {
			return p, true
		}
		if name, below := Below(p.Root.Sessions, path); below && layout.Owns(name) {
			return p, true
		}
		if !ok {
			src, ok = p, true
		}
	}
	return src, ok
}
