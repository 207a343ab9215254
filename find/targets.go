package find

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
)

// target is a log to search, of a session or of a run.
type target struct {
	run *Run
	// source is the source of a session's log, and at its index in the catalogue, or -1. row and kept are made when they are needed.
	source *source
	at     int
	kept   *index.Log
	row    *place.Row
	// last is when the log was last used: nothing in it is newer.
	last time.Time
	// spans are the chunks that may match, in order; nil means the whole log.
	spans []span
}

// span is a chunk of a log, from the beginning of a record to the end of one.
type span struct {
	from, to int64
	odd      bool // see index.Chunk.Odd
}

// path returns the log's path in messages.
func (t *target) path() string {
	if t.run != nil {
		return t.run.Path
	}
	return t.row.Path
}

// key returns the key of the log's source in the catalogue.
func (t *target) key() string {
	if t.run != nil {
		return runsKey(t.run.source)
	}
	return t.source.key
}

// passes reports whether an entry of that time is wanted.
func (o *Options) passes(at time.Time) bool {
	return (o.Since.IsZero() || !at.Before(o.Since)) && (o.Until.IsZero() || at.Before(o.Until))
}

// mayPass reports whether a session may have entries that are wanted, judged by its times and labels.
func (o *Options) mayPass(r *place.Row) bool {
	last := r.Log.Time
	if when := r.When(); when.After(last) {
		last = when
	}
	if !o.Since.IsZero() && last.Before(o.Since) {
		return false
	}
	if o.Labelled && r.Known != nil && r.Known.Has&index.HasLabel == 0 {
		return false
	}
	created, ok := r.Created.Time()
	return o.Until.IsZero() || !ok || created.Before(o.Until)
}

// narrows reports whether sessions are filtered by their rows.
func (o *Options) narrows() bool {
	return o.Source != "" || o.CWD != "" || o.Project != nil || o.Labelled || !o.Since.IsZero() || !o.Until.IsZero()
}

// list finds the logs to search. It makes rows only if something depends on them: of ten thousand sessions a search needs a few rows.
func (s *search) list(ctx context.Context) error {
	list, err := s.f.refresh(ctx, RefreshOptions{Problem: s.opt.Problem, Progress: s.opt.Progress})
	if err != nil {
		return err
	}
	n := 0
	for i := range list {
		n += list[i].logs.Len()
	}
	s.ids, s.all = make([]string, 0, n), make([]target, 0, n)
	for i := range list {
		src := &list[i]
		if s.opt.narrows() || !s.f.selfContained(src) {
			if err := s.listRows(ctx, src); err != nil {
				return err
			}
			continue
		}
		for k := range src.unread {
			s.ids = append(s.ids, string(src.unread[k].ID))
			s.problem(logtree.Named(src.unread[k].Path, src.unread[k].Err))
		}
		for k := range src.logs.Len() {
			l := src.logs.Brief(k)
			s.ids = append(s.ids, string(l.ID))
			if l.NotSession() {
				continue
			}
			t := target{source: src, at: k}
			var ok bool
			if t.last, ok = l.Active(); !ok {
				t.last = s.row(&t).When()
			}
			s.all = append(s.all, t)
		}
	}
	return s.listRuns(ctx)
}

// listRows finds the logs of one source to search, by their rows.
func (s *search) listRows(ctx context.Context, src *source) (err error) {
	rows := s.f.appendRows(ctx, nil, src)
	if may := s.opt.Project; may != nil {
		rows = place.Drop(rows, func(r *place.Row) bool { return r.Err != nil || !may(r.CWD) })
	}
	for i := range rows {
		s.ids = append(s.ids, string(rows[i].ID))
	}
	if s.opt.Source != "" || s.opt.CWD != "" {
		if rows, err = s.f.m.Filter(rows, place.Filter{Source: s.opt.Source, CWD: s.opt.CWD}); err != nil {
			return err
		}
	}
	for i := range rows {
		r := &rows[i]
		if r.Err != nil && !errors.Is(r.Err, logtree.ErrNotSession) {
			s.problem(logtree.Named(r.Path, r.Err))
		}
		if r.Err != nil || !s.opt.mayPass(r) {
			continue
		}
		t := target{source: src, at: -1, row: r, last: r.When()}
		if at, ok := src.logs.Find(r.Log.Name); ok {
			t.at = at
		}
		// A copy or touch of the file is not a use of the session: the time in the log counts.
		if at, ok := r.Active.Time(); ok {
			t.last = at
		}
		s.all = append(s.all, t)
	}
	return nil
}

// row returns the row of a session's log, made when it is first needed.
func (s *search) row(t *target) *place.Row {
	if t.kept == nil && t.source != nil && t.at >= 0 {
		t.kept = t.source.logs.At(t.at)
	}
	if t.row == nil {
		r := s.f.row(t.source, t.kept)
		t.row = &r
	}
	return t.row
}

// newest returns the targets in the order of their last use; of sessions with the same time the one whose file was written last comes
// first. It sorts their positions, because targets are large.
func newest(all []target) []*target {
	type moment struct {
		seconds int64
		nanos   int32
		at      int32
	}
	moments := make([]moment, len(all))
	for i := range all {
		t := all[i].last
		moments[i] = moment{t.Unix(), int32(t.Nanosecond()), int32(i)}
	}
	written := func(at int32) int64 {
		if t := &all[at]; t.source != nil && t.at >= 0 {
			return t.source.logs.Brief(t.at).Nanos
		}
		return 0
	}
	slices.SortFunc(moments, func(a, b moment) int {
		switch {
		case a.seconds != b.seconds:
			return cmp.Compare(b.seconds, a.seconds)
		case a.nanos != b.nanos:
			return cmp.Compare(b.nanos, a.nanos)
		}
		return cmp.Or(cmp.Compare(written(b.at), written(a.at)), cmp.Compare(a.at, b.at))
	})
	order := make([]*target, len(all))
	for i := range moments {
		order[i] = &all[moments[i].at]
	}
	return order
}
