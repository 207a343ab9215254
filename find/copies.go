package find

import (
	"context"
	"errors"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/find/copies"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/session"
)

// Logs of an agent that forks by copying, and that begin with the same message, are read once more, together, to find out which is a copy
// of which (package copies), and up to when.

// twin is a log that begins with the same message as others.
type twin struct {
	source int
	log    *index.Log
	path   string
	b      backend.Backend
}

// copies returns the logs whose relation to other logs is not known yet, as jobs that contain the relation.
func (f *Finder) copies(ctx context.Context, list []source) ([]job, error) {
	groups := map[uint64][]twin{}
	for i := range list {
		for k := range list[i].logs.Len() {
			if list[i].logs.Brief(k).First != 0 {
				l := list[i].logs.At(k)
				groups[l.Summary.First] = append(groups[l.Summary.First], twin{source: i, log: l, path: list[i].pathOf(l.Name)})
			}
		}
	}
	var todo []job
	for _, group := range groups {
		jobs, err := f.relate(ctx, list, group)
		if err != nil {
			return nil, err
		}
		todo = append(todo, jobs...)
	}
	return todo, nil
}

// relate returns the logs of a group whose relation differs from what is known of them.
func (f *Finder) relate(ctx context.Context, list []source, group []twin) (todo []job, err error) {
	forked := make([]int64, len(group))
	for i := range group {
		forked[i] = group[i].log.Summary.Forked
	}
	if copies.Settled(forked) {
		return nil, nil
	}
	logs := make([]copies.Log, len(group))
	for i := range group {
		c := &group[i]
		logs[i].Path = c.path
		logs[i].Created, _ = c.log.Summary.Created.Millis()
		if c.b, err = f.m.Open(list[c.source].Root.Sessions); err == nil {
			logs[i].Messages, err = f.copyIDs(ctx, c)
		}
		if errors.Is(err, backend.ErrNotExist) || errors.Is(err, backend.ErrChanged) || unreadable(ctx, err) != nil {
			return nil, nil // the next refresh relates them
		}
		if err != nil {
			return nil, err
		}
	}
	for i, of := range copies.Relate(logs) {
		c := &group[i]
		if s := &c.log.Summary; s.Forked == of.Until && (s.Parent == of.Parent || of.Until <= 0) && (!of.Whole || c.log.Resume().From == 0) {
			continue
		}
		at, err := c.b.Stat(ctx, c.log.Name)
		if err != nil {
			continue // the log is gone: the next refresh notices
		}
		todo = append(todo, job{b: c.b, source: c.source, log: at, known: c.log, copied: &of})
	}
	return todo, nil
}

// copyIDs reads the messages of a log.
func (f *Finder) copyIDs(ctx context.Context, c *twin) (map[uint64]int64, error) {
	d, err := f.m.Dialect(c.log.Summary.Dialect)
	if err != nil {
		return nil, err
	}
	codec := d.Codec().EntryCodec
	copier, ok := codec.(session.Copier)
	at, err := c.b.Stat(ctx, c.log.Name)
	if err != nil || !ok {
		return nil, nil // the log is gone: the next refresh notices
	}
	builder := logtree.Seed(d, c.path, nil, session.Header{})
	builder.Expect(at.Size)
	dec := d.NewDecoder(builder)
	ids := map[uint64]int64{}
	for r, err := range logtree.Records(ctx, c.b, at) {
		if err != nil {
			return nil, err
		}
		before := builder.Len()
		dec.Decode(r)
		for i := before; i < builder.Len(); i++ {
			e := builder.At(i)
			start := e.Span.Offset - r.Offset
			if !e.IsMessage() || e.Foreign() || start < 0 || start+e.Span.Length > int64(len(r.Data)) {
				continue
			}
			raw := r.Data[start : start+e.Span.Length]
			if id := copier.CopyID(e, raw); id != "" {
				ids[index.HashOf(id)], _ = codec.Time(raw).Millis()
			}
		}
	}
	return ids, nil
}
