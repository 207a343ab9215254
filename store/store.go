// Package store keeps one session: it opens, creates, appends, branches, forks, rewrites and moves. Session is the main type;
// Store.Create, Open, OpenWrite, ContinueRecent and ForkFrom give one. Programs that embed treeline use the root package.
//
// A Store works on the places of a machine (package place). It knows backends and dialects by their interfaces, and no agent by name.
// What works on many sessions, or turns a session into something else, is a package of its own: find, watch, convert, runs, repair, trash.
//
// The write path reads append.go (what is appended), queue.go (group commit), commit.go (one batch is written) and
// conflict.go (another process wrote first).
package store

import (
	"github.com/treeline-dev/treeline/folders"
	"github.com/treeline-dev/treeline/place"
)

// Options say what a Store works with.
type Options struct {
	// Machine is where sessions are. The Store closes it.
	Machine *place.Machine
	// State is treeline's own folder, where folders with sessions are noted; "" notes none.
	State string
}

// Store opens and creates sessions. Its methods may be called from several goroutines at once.
type Store struct {
	*place.Machine
	*folders.Notes
}

// New returns a Store.
func New(opt Options) *Store {
	return &Store{Machine: opt.Machine, Notes: folders.New(opt.Machine, opt.State)}
}

// Close closes all backends. Sessions must be closed before.
func (s *Store) Close() error { return s.Machine.Close() }
