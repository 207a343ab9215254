// Package store puts the two axes together: it opens logs of any backend with the dialect that reads them, finds the
// sessions of the agents on this machine, and lists them.
//
// It knows the interfaces of backends and dialects only. Which dialects there are, and how a folder is opened, is handed
// in with Options.
package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
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
	// Drivers open the folders that they claim; OpenDir and WriteDir open all others.
	Drivers []backend.Driver
	// Roots, if set, are looked at instead of the agents' own: folders that hold "sessions", or hold logs themselves.
	Roots []string
	// Extra are looked at beside the agents' own.
	Extra []ExtraRoot
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
	extra func() []Source // of Options.Extra: their folders are looked into once
}

// New gives a Store.
func New(opt Options) *Store {
	opt.withDrivers()
	if opt.Index == nil {
		opt.Index = index.Open(index.Options{})
	}
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	s := &Store{opt: opt}
	s.extra = sync.OnceValue(s.extraSources)
	return s
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

// dialectOf says whose folder a path is in, the default dialect where it is nobody's.
func (s *Store) dialectOf(path string) dialect.Dialect { return s.dialectIn(s.places(), path) }

func (s *Store) dialectIn(places []Source, path string) dialect.Dialect {
	if src, ok := sourceIn(places, path); ok {
		return src.Dialect
	}
	return s.opt.Dialects[0]
}

// sourceIn finds the agent's root that a path lies in. Where values share it, the one that owns the log is meant, or
// else the first.
func sourceIn(places []Source, path string) (src Source, ok bool) {
	for _, p := range places {
		dir := filepath.Dir(p.Root.Sessions)
		if p.Why == WhyConfig {
			dir = p.Root.Sessions // it may be any folder: what lies beside it is not its own
		}
		if !within(dir, path) {
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
