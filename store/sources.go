package store

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/treeline-dev/treeline/dialect"
)

// Source is a place where an agent keeps sessions.
type Source struct {
	Dialect dialect.Dialect
	Root    dialect.Root
	// Why says how we know of it.
	Why Why
	// claims are of sources whose folders lie inside this one, or around it: their logs are theirs.
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
	// Dialect is that of sessions which do not say it themselves; "" is the default one.
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
			list = append(list, src)
		}
	}
	for _, dir := range s.opt.Roots {
		states := s.statesAt(dir)
		for _, src := range states {
			src.Why = WhyAsked
			add(src)
		}
		if states == nil {
			add(Source{Dialect: s.dialectOf(dir), Root: s.rootAt(dir), Why: WhyAsked})
		}
	}
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

func isRuns(d dialect.Dialect) bool {
	_, ok := d.(dialect.Runs)
	return ok
}

// statesAt gives the places of an agent that keeps states, where that is whose folder, or folder of sessions, someone named.
// All else that lies there is its own affair.
func (s *Store) statesAt(dir string) (list []Source) {
	if s.opt.OpenCompanion == nil {
		return nil
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil
	}
	if filepath.Base(abs) == "sessions" {
		abs = filepath.Dir(abs)
	}
	for _, d := range s.opt.Dialects {
		r := d.Layout().RootAt(abs)
		if _, _, ok := s.opt.OpenCompanion(r.Sessions); ok {
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

// why finds out how an agent came to a root: by a variable of the environment, if it would be another one without it.
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
	for _, e := range s.opt.Extra {
		d, err := s.Dialect(e.Dialect)
		if err != nil {
			d = s.opt.Dialects[0]
		}
		d = Sessions(d) // who names an agent means its sessions
		list = append(list, Source{Dialect: d, Root: s.rootOf(d.Layout(), e.Path), Why: WhyConfig})
	}
	if len(list) == 0 {
		return nil
	}
	known := slices.DeleteFunc(s.agentPlaces(), func(src Source) bool { return isRuns(src.Dialect) })
	return s.beside(known, list)
}

// SourceInfo is a source and what is in it.
type SourceInfo struct {
	Source
	// Exists says whether the folder is there.
	Exists bool
	// Sessions counts them, Bytes is how large they are together, Newest when one was last changed; zero where there is none.
	Sessions int
	Bytes    int64
	Newest   time.Time
	// Err says why it could not be read, or not all of it.
	Err error
}

// LookAtSources says of each source what is in it. No session is opened: what is no session counts, if it is called so.
func (s *Store) LookAtSources(ctx context.Context) ([]SourceInfo, error) {
	var list []SourceInfo
	for _, src := range s.Sources() {
		info := SourceInfo{Source: src}
		if s.opt.Env.Access != nil {
			info.Exists, _, _ = s.opt.Env.Access(src.Root.Sessions)
		}
		b, err := s.opt.OpenDir(src.Root.Sessions)
		if err != nil {
			return nil, err
		}
		for log, err := range b.List(ctx, "") {
			switch {
			case ctx.Err() != nil:
				b.Close()
				return nil, context.Cause(ctx)
			case err != nil:
				info.Err = err
			case src.owns(log.Name):
				info.Exists = true
				info.Sessions++
				info.Bytes += log.Size
				if log.Time.After(info.Newest) {
					info.Newest = log.Time
				}
			}
		}
		if err := b.Close(); err != nil {
			return nil, err
		}
		list = append(list, info)
	}
	return list, nil
}

// rootAt takes a folder that someone named: an agent's folder, its folder of sessions, or any folder with logs.
func (s *Store) rootAt(dir string) dialect.Root {
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = dir
	}
	return s.rootOf(s.dialectOf(abs).Layout(), abs)
}

func (s *Store) rootOf(layout dialect.Layout, abs string) dialect.Root {
	if filepath.Base(abs) == "sessions" {
		return layout.RootAt(filepath.Dir(abs))
	}
	b, err := s.opt.OpenDir(abs)
	if err == nil {
		defer b.Close()
		for range b.List(context.Background(), "sessions/") {
			return layout.RootAt(abs)
		}
	}
	r := layout.RootAt(abs)
	r.Sessions = abs
	return r
}
