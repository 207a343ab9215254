package store

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/treeline-dev/treeline/dialect"
)

// Source is a place where an agent keeps sessions.
type Source struct {
	// Dialect is that of the sessions there, as far as they do not say themselves what they are.
	Dialect dialect.Dialect
	// Assumed: nobody said whose place it is. Dialect is then the default one.
	Assumed bool
	Root    dialect.Root
	// Why says how we know of it.
	Why Why
	// Needs is the name of the driver without which it cannot be read, "" if it can.
	Needs string
	// claims are of sources whose folders lie inside this one, or around it: their logs are theirs. A source without any
	// lists all that its layout owns.
	claims []claim
}

// Why says how we know of a source: WhyDefault, WhyConfig, WhyAsked, or a variable of the environment with its dollar.
type Why string

// How we know of sources.
const (
	WhyDefault Why = "default" // the agent keeps its sessions there unless told otherwise
	WhyConfig  Why = "config"  // the user's settings name it
	WhyAsked   Why = "asked"   // somebody named it on this occasion
)

// ExtraRoot is a place with sessions that no agent would find by itself.
type ExtraRoot struct {
	// Path is an agent's folder, its folder of sessions, or any folder with logs.
	Path string
	// Dialect is that of sessions which do not say it themselves; "" is that of the agent whose folder it is.
	Dialect string
}

// Sources gives the places where sessions may be: the roots of all dialects, then those that were added, each folder once.
// Where folders lie in each other, a log is listed for one of them. Places of runs are none.
func (s *Store) Sources() []Source {
	var list []Source
	seen := map[string]bool{}
	add := func(src Source) {
		key := src.Root.Sessions
		if shares(src.Dialect.Layout()) {
			key += "\x00" + src.Dialect.Name() // each lists what is its own
		}
		if !seen[key] {
			seen[key] = true
			src.Needs = s.opt.needs(src.Root)
			list = append(list, src)
		}
	}
	for _, dir := range s.opt.Roots {
		for _, src := range s.sourcesAt(s.places(), dir) {
			src.Why = WhyAsked
			add(src)
		}
	}
	// Who names roots wants these and no others.
	if len(s.opt.Roots) > 0 {
		return s.beside(nil, list)
	}
	for _, src := range s.places() {
		if !isRuns(src.Dialect) {
			add(src)
		}
	}
	return list
}

// Familiar says whether the roots that were asked for are all sources of this machine anyway. What is found out about them
// may then be kept; about any other it should not: see the notes on lists in ARCHITECTURE.md.
func (s *Store) Familiar() bool {
	known := map[string]bool{}
	for _, src := range s.places() {
		if !isRuns(src.Dialect) && src.claims == nil { // the logs of one with claims are not all that lies there
			known[sourceKey(src)] = true
		}
	}
	for _, src := range s.Sources() {
		if !known[sourceKey(src)] {
			return false
		}
	}
	return true
}

func isRuns(d dialect.Dialect) bool {
	_, ok := d.(dialect.Runs)
	return ok
}

// sourcesAt takes a folder that someone named without saying whose it is: an agent's folder, its folder of sessions, or any
// folder with logs. What lies in one of the places is theirs.
func (s *Store) sourcesAt(places []Source, dir string) []Source {
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = filepath.Clean(dir)
	}
	if states := s.statesAt(abs); states != nil {
		return states
	}
	src, known := sourceIn(places, abs)
	d := s.opt.Dialects[0]
	if known {
		d = src.Dialect
	}
	return []Source{{Dialect: d, Assumed: !known, Root: s.rootOf(d.Layout(), abs)}}
}

// statesAt gives the places of an agent that keeps states, where that is whose folder, or folder of sessions, someone named,
// or one of the places themselves. All else that lies there is its own affair.
func (s *Store) statesAt(abs string) (list []Source) {
	dir, here := abs, ""
	if s.claimed(abs) {
		dir, here = filepath.Dir(filepath.Dir(abs)), abs
	} else if filepath.Base(abs) == "sessions" {
		dir = filepath.Dir(abs)
	}
	for _, d := range s.opt.Dialects {
		r := d.Layout().RootAt(dir)
		if here != "" && filepath.Clean(r.Sessions) != here {
			continue
		}
		if r.Driver != "" && s.claimed(r.Sessions) {
			list = append(list, Source{Dialect: d, Root: r})
		}
	}
	return list
}

// places are the roots of all dialects, in the order in which they are asked, and those that were added.
func (s *Store) places() []Source { return append(s.agentPlaces(), s.extra()...) }

// agentPlaces are the roots of all dialects.
func (s *Store) agentPlaces() (list []Source) {
	for _, d := range s.opt.Dialects {
		for _, r := range d.Layout().Roots(s.opt.Env) {
			list = append(list, Source{Dialect: d, Root: r, Why: s.why(d, r)})
		}
	}
	return list
}

// why finds out how an agent came to a root: by a variable of the environment, if it would be another one without it. The
// variables are taken away one and all: it is the first that was set which counts.
func (s *Store) why(d dialect.Dialect, r dialect.Root) Why {
	env, asked := s.opt.Env, ""
	env.Getenv = func(name string) string {
		value := s.opt.Env.Getenv(name)
		if value != "" && asked == "" {
			asked = name
		}
		return ""
	}
	for _, other := range d.Layout().Roots(env) {
		if other == r {
			return WhyDefault
		}
	}
	if asked == "" {
		return WhyDefault
	}
	return Why("$" + asked)
}

// extraSources makes sources of the roots that were added, as far as they are not in others.
func (s *Store) extraSources() (list []Source) {
	if len(s.opt.Extra) == 0 {
		return nil
	}
	agents := slices.DeleteFunc(s.agentPlaces(), func(src Source) bool { return isRuns(src.Dialect) })
	for _, e := range s.opt.Extra {
		at := s.sourcesAt(agents, e.Path)
		if d, err := s.Dialect(e.Dialect); err == nil {
			d = Sessions(d) // who names an agent means its sessions
			at = []Source{{Dialect: d, Root: s.rootOf(d.Layout(), e.Path)}}
		}
		for _, src := range at {
			src.Why = WhyConfig
			list = append(list, src)
		}
	}
	return s.beside(agents, list)
}

// rootOf is the place of a layout in a folder that may be the agent's, its folder of sessions, or any folder with logs.
func (s *Store) rootOf(layout dialect.Layout, abs string) dialect.Root {
	if filepath.Base(abs) == "sessions" {
		return layout.RootAt(filepath.Dir(abs))
	}
	b, err := s.opt.OpenDir(abs)
	if err == nil {
		defer b.Close()
		// One log is enough to tell an agent's folder from any folder with logs.
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
