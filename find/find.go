// Package find lists and searches the sessions of a machine: [New] makes a Finder, [Finder.Catalogue] lists, [Finder.Search]
// searches.
//
// It keeps a catalogue of all logs in an index.Index: for each log what a list shows, and for each chunk of about 64 KB, or for some short
// logs together, a signature of its words. Every list and every search first brings the catalogue up to date (refresh.go): logs are
// compared by name, size and time, and only those that changed are read. A log that has grown is read from its last chunk on (continue.go).
//
// A search has four steps. search.go lists the logs in the order of their last use. candidates.go finds the chunks that may match by their
// signatures. match.go reads those chunks, finds the records whose bytes may match, and reads the session around a record into a tree
// (package logtree). Package texts says which texts of an entry are searched. Run logs are searched in the same way (runs.go).
//
// The index can be deleted at any time; the next call builds it again. Files are the truth.
package find

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/find/listing"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
)

// Finder lists and searches the sessions of one machine. Its methods may be called from several goroutines at once.
type Finder struct {
	m      *place.Machine
	ix     *index.Index
	shared index.Shared // nil unless the sessions are in an archive that has one
	// none: the archive turned out to have none.
	none atomic.Bool
	// updating has room for one: the call that brings the shared index up to date.
	updating chan struct{}
	clock    func() time.Time
}

// New returns a Finder that keeps its catalogue in ix. clock is compared with the times of logs.
func New(m *place.Machine, ix *index.Index, clock func() time.Time) *Finder {
	return &Finder{m: m, ix: ix, clock: clock}
}

// Close closes the index.
func (f *Finder) Close() error {
	if f.shared != nil {
		return errors.Join(f.shared.Close(), f.ix.Close())
	}
	return f.ix.Close()
}

// RefreshOptions are for calls that bring the catalogue up to date.
type RefreshOptions struct {
	// Problem, if set, is called with the errors of folders that could not be read.
	Problem func(error)
	// Progress, if set, is called with the progress of the reading, never by two goroutines at once.
	Progress func(Progress)
}

// Catalogue brings the catalogue up to date and returns the sessions of all sources, newest first, with Row.Known set.
func (f *Finder) Catalogue(ctx context.Context, opt RefreshOptions) ([]place.Row, error) {
	if beside, err := f.fresh(ctx, opt); err != nil {
		return nil, err
	} else if beside {
		return f.sharedCatalogue(ctx)
	}
	list, err := f.refresh(ctx, opt)
	if err != nil {
		return nil, err
	}
	return f.rows(ctx, list), nil
}

// Listing is Catalogue without rows, which are most of the memory of a hundred thousand sessions. Only sources whose rows depend on each
// other have rows.
func (f *Finder) Listing(ctx context.Context, opt RefreshOptions) (*listing.List, error) {
	if f.Paged() {
		rows, err := f.Catalogue(ctx, opt)
		return listing.Of(rows), err
	}
	list, err := f.refresh(ctx, opt)
	if err != nil {
		return nil, err
	}
	parts := make([]listing.Source, len(list))
	for i := range list {
		s := &list[i]
		if !f.selfContained(s) {
			parts[i].Rows = f.appendRows(ctx, nil, s)
			continue
		}
		parts[i] = listing.Source{
			Logs: s.logs, Origin: s.Origin, Rows: s.unread,
			Row: func(l *index.Log) place.Row { return f.row(s, l) },
			When: func(b *index.Brief) time.Time {
				if at, ok := b.Active(); ok && place.ByActivity(f.dialect(s, b.Dialect), s.Origin) {
					return at
				}
				return time.Unix(0, b.Nanos)
			},
		}
	}
	return listing.New(parts), nil
}

// Models returns the models that answered in any session, by name. It reads the catalogue as it was kept and does not
// bring it up to date.
func (f *Finder) Models() []string {
	if f.beside() {
		list, _ := f.shared.Values(context.Background(), index.ValueModel, nil) // without the list nothing is completed
		return list
	}
	var list []string
	known := f.ix.Catalogue()
	for i := range known.Sources {
		logs := known.Sources[i].Logs
		for k := range logs.Len() {
			list = append(list, logs.At(k).Summary.Models...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// rows makes rows of what is known, newest first.
func (f *Finder) rows(ctx context.Context, list []source) []place.Row {
	n := 0
	for i := range list {
		n += list[i].logs.Len() + len(list[i].unread)
	}
	rows := make([]place.Row, 0, n)
	for i := range list {
		rows = f.appendRows(ctx, rows, &list[i])
	}
	place.Shorten(rows)
	return place.Newest(rows)
}

// appendRows adds the rows of one source, in the order of names, then those that could not be read. Working directories that a log does not
// name are found here and not kept in the catalogue: they depend on the log's neighbours.
func (f *Finder) appendRows(ctx context.Context, rows []place.Row, s *source) []place.Row {
	begin := len(rows)
	names, byName := listedByName(s.Dialect)
	for k := range s.logs.Len() {
		r := f.row(s, s.logs.At(k))
		if place.IsRuns(r.Dialect) {
			continue // a run log, wherever it lies
		}
		if byName && r.Err == nil {
			r.ID, r.Created = names.Named(r.Log.Name)
		}
		rows = append(rows, r)
	}
	f.m.PlaceRows(ctx, rows[begin:])
	rows = rows[:begin+len(place.Current(rows[begin:]))]
	return append(rows, s.unread...)
}

// listedByName returns the layout of a dialect whose sessions are listed by their names alone.
func listedByName(d dialect.Dialect) (dialect.Placer, bool) {
	if o, ok := d.Layout().(dialect.Orderer); !ok || o.Order() != dialect.OrderNames {
		return nil, false
	}
	p, ok := d.Layout().(dialect.Placer)
	return p, ok
}

// selfContained reports whether row makes the same rows of this source as appendRows: nothing depends on the names of files, on their
// neighbours or on runs.
func (f *Finder) selfContained(s *source) bool {
	plain := func(d dialect.Dialect) bool {
		_, placed := d.Layout().(dialect.Placer)
		_, ran := d.(dialect.Runner)
		return !placed && !ran && !place.IsRuns(d)
	}
	if !plain(s.Dialect) {
		return false
	}
	for _, name := range s.logs.Dialects() {
		if d, err := f.m.Dialect(name); err == nil && !plain(d) {
			return false
		}
	}
	return true
}

// row makes the row of a log.
func (f *Finder) row(s *source, l *index.Log) place.Row {
	known := &l.Summary
	r := place.Row{Source: s.Source, Path: s.pathOf(l.Name), Known: known, Dialect: f.dialect(s, known.Dialect), Log: logOf(l)}
	if !known.Session && l.Stamp.Size > 0 { // see index.Brief.NotSession
		r.Err = logtree.ErrNotSession
		return r
	}
	r.Summary = dialect.Summary{
		ID: known.ID, CWD: known.CWD, Title: known.Title, Prompt: known.Prompt, Created: known.Created, Active: known.Active,
		Messages: known.Messages, Parent: known.Parent, Task: known.Task, Version: known.Version, OK: known.Session,
	}
	return r
}

// dialect returns the dialect of a log. Its content may name another value of the family than its place.
func (f *Finder) dialect(s *source, name string) dialect.Dialect {
	if name != s.Dialect.Name() {
		if d, err := f.m.Dialect(name); err == nil {
			return d
		}
	}
	return s.Dialect
}

// logOf returns the log as it was when it was read.
func logOf(l *index.Log) backend.Log {
	return backend.Log{Name: l.Name, Generation: l.Stamp.Generation, Size: l.Stamp.Size, Time: time.Unix(0, l.Stamp.Nanos), Changed: l.Stamp.Changed}
}
