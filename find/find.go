// Package find lists and searches the sessions of a machine.
//
// It keeps a catalogue of all logs in an index.Index: for each log what a list shows, and for each chunk of about 64 KB
// a signature of its words. Every list and every search first brings the catalogue up to date (refresh.go): logs are
// compared by name, size and time, and only those that changed are read. A log that has grown is read from its last
// chunk on (continue.go).
//
// A search has four steps. search.go lists the logs in the order of their last use. candidates.go asks the signatures
// which chunks may match. match.go reads those chunks, finds the records whose bytes may match, and reads the session
// around a record into a tree (package logtree). texts.go says which texts of an entry are searched. Run logs are
// searched in the same way (runs.go).
//
// The index can be deleted at any time; the next call builds it again. Files are the truth.
package find

import (
	"context"
	"slices"
	"time"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/place"
)

// Finder lists and searches the sessions of one machine. Its methods may be called from several goroutines at once.
type Finder struct {
	m     *place.Machine
	ix    *index.Index
	clock func() time.Time
}

// New returns a Finder that keeps its catalogue in ix. clock is compared with the times of logs.
func New(m *place.Machine, ix *index.Index, clock func() time.Time) *Finder {
	return &Finder{m: m, ix: ix, clock: clock}
}

// Close closes the index.
func (f *Finder) Close() error { return f.ix.Close() }

// RefreshOptions are for calls that bring the catalogue up to date.
type RefreshOptions struct {
	// Problem, if set, is told of folders that could not be read.
	Problem func(error)
	// Progress, if set, is told how far the reading is. It is never called by two goroutines at once.
	Progress func(Progress)
}

// Catalogue brings the catalogue up to date and returns the sessions of all sources, newest first, with Row.Known set.
func (f *Finder) Catalogue(ctx context.Context, opt RefreshOptions) ([]place.Row, error) {
	list, err := f.refresh(ctx, opt)
	if err != nil {
		return nil, err
	}
	return f.rows(list), nil
}

// Models returns the models that answered in any session, by name. It reads the catalogue as it was kept and does not
// bring it up to date.
func (f *Finder) Models() []string {
	var list []string
	known := f.ix.Catalogue()
	for i := range known.Sources {
		for k := range known.Sources[i].Logs {
			list = append(list, known.Sources[i].Logs[k].Summary.Models...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
