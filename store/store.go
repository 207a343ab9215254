// Package store puts the two axes together: it opens logs of any backend with the dialect that reads them, finds the
// sessions of the agents on this machine, and lists them.
//
// It knows the interfaces of backends and dialects only. Which dialects there are, and how a folder is opened, is handed
// in with Options.
package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/session"
)

// Options say what a Store works with.
type Options struct {
	// Dialects in the order in which they are asked; see package dialect/all.
	Dialects []dialect.Dialect
	// Env is the machine as layouts see it.
	Env dialect.Env
	// OpenDir opens the logs of a folder.
	OpenDir func(dir string) (backend.Backend, error)
	// OpenBlobs opens the blobs of a folder.
	OpenBlobs func(dir string) blob.Reader
	// WriteDir opens the logs of a folder for writing; nil makes a store that only reads. repaired is told when the end
	// of a log had to be mended before an append.
	WriteDir func(dir string, level Durability, repaired func(session.Problem)) (backend.Backend, error)
	// WriteBlobs opens the blobs of a folder for writing.
	WriteBlobs func(dir string) blob.Store
	// OpenCompanion gives the states that an agent keeps in a folder; ok is false for every other folder. They are shown as
	// logs whose names end in ext. It may be nil: then there are none.
	OpenCompanion func(dir string) (c Companion, ext string, ok bool)
	// Roots, if set, are looked at instead of the agents' own: folders that hold "sessions", or hold logs themselves.
	Roots []string
	// Index keeps what was read of sessions, for lists and searches; nil keeps it in memory.
	Index *index.Index
	// Clock is the time; nil is that of the machine.
	Clock func() time.Time
	// State is our own folder, for the trash and the note of folders that were written to; "" keeps neither.
	State string
}

// Store is the sessions of this machine.
type Store struct {
	opt   Options
	noted notedFolders
}

// New gives a Store.
func New(opt Options) *Store {
	opt.withCompanions()
	if opt.Index == nil {
		opt.Index = index.Open(index.Options{})
	}
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	return &Store{opt: opt}
}

// ErrUnknownDialect is wrapped by the error for a name that no dialect has.
var ErrUnknownDialect = errors.New("unknown dialect")

// Dialect finds a dialect by its name.
func (s *Store) Dialect(name string) (dialect.Dialect, error) {
	var names []string
	for _, d := range s.opt.Dialects {
		if d.Name() == name {
			return d, nil
		}
		names = append(names, d.Name())
	}
	return nil, fmt.Errorf("%w %q: there are %s", ErrUnknownDialect, name, strings.Join(names, ", "))
}

// Source is a place where an agent keeps sessions.
type Source struct {
	Dialect dialect.Dialect
	Root    dialect.Root
}

// Sources gives the places where sessions may be: the roots of all dialects, each folder once. Places of runs are none.
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
			add(src)
		}
		if states == nil {
			add(Source{Dialect: s.dialectOf(dir), Root: s.rootAt(dir)})
		}
	}
	if len(s.opt.Roots) > 0 {
		return list
	}
	for _, d := range s.opt.Dialects {
		if isRuns(d) {
			continue
		}
		for _, r := range d.Layout().Roots(s.opt.Env) {
			add(Source{Dialect: d, Root: r})
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

// rootAt takes a folder that someone named: an agent's folder, its folder of sessions, or any folder with logs.
func (s *Store) rootAt(dir string) dialect.Root {
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = dir
	}
	layout := s.dialectOf(abs).Layout()
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

// dialectOf says whose folder a path is in, the default dialect where it is nobody's.
func (s *Store) dialectOf(path string) dialect.Dialect { return s.dialectIn(s.places(), path) }

func (s *Store) dialectIn(places []Source, path string) dialect.Dialect {
	if src, ok := sourceIn(places, path); ok {
		return src.Dialect
	}
	return s.opt.Dialects[0]
}

// places are the roots of all dialects, in the order in which they are asked.
func (s *Store) places() (list []Source) {
	for _, d := range s.opt.Dialects {
		for _, r := range d.Layout().Roots(s.opt.Env) {
			list = append(list, Source{Dialect: d, Root: r})
		}
	}
	return list
}

// sourceIn finds the agent's root that a path lies in. Where values share it, the one that owns the log is meant, or
// else the first.
func sourceIn(places []Source, path string) (src Source, ok bool) {
	for _, p := range places {
		if !within(filepath.Dir(p.Root.Sessions), path) {
			continue
		}
		layout := p.Dialect.Layout()
		if !shares(layout) {
			return p, true
		}
		if rel, err := filepath.Rel(p.Root.Sessions, path); err == nil && filepath.IsLocal(rel) && layout.Owns(filepath.ToSlash(rel)) {
			return p, true
		}
		if !ok {
			src, ok = p, true
		}
	}
	return src, ok
}

// detect finds the dialect of a log by its first records, and among the values of a family by what it says itself or
// else by where it lies.
// Without any record the log is of the default dialect: the agents take an empty file for a new session.
func (s *Store) detect(path string, first []dialect.Record) (dialect.Dialect, bool) {
	return s.detectIn(s.dialectOf(path), first)
}

// detectIn is detect for a log that lies in a place of that dialect.
func (s *Store) detectIn(place dialect.Dialect, first []dialect.Record) (dialect.Dialect, bool) {
	if len(first) == 0 {
		return place, true
	}
	for _, d := range s.opt.Dialects {
		if !d.Detect(first) {
			continue
		}
		if exact, ok := s.exact(d.Family(), first); ok {
			return exact, true
		}
		if place.Family() == d.Family() {
			return place, true
		}
		return d, true
	}
	return place, false
}

// exact finds the value of a family that knows the log for its own, whatever place it lies in.
func (s *Store) exact(family string, first []dialect.Record) (dialect.Dialect, bool) {
	for _, d := range s.opt.Dialects {
		if e, ok := d.(dialect.Exact); ok && d.Family() == family && e.Exact(first) {
			return d, true
		}
	}
	return nil, false
}
