package find

import (
	"cmp"
	"context"
	"errors"
	"math"
	"strings"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/session"
)

// Some agents fork a session by copying its records to a new log that does not name the old one (session.Copier). Such logs
// begin with the same message. They are read once more, together, to find out which is a copy of which, and up to when.

// copied is what comparing has found out about a log: the messages up to until are those of parent. until is index.Summary.Forked. whole: the
// log has no message of its own. If it grows, all of it is read, and it is compared again, since it may still be copied.
type copied struct {
	parent string
	until  int64
	whole  bool
}

// twin is a log that begins with the same message as others.
type twin struct {
	source int
	log    *index.Log
	path   string
	b      backend.Backend
	ids    map[uint64]int64 // the messages, and when each was made, in milliseconds
}

// copies gives the logs whose relation to others is not known yet, as jobs that say what they are copies of.
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
		if settled(group) {
			continue
		}
		jobs, err := f.relate(ctx, list, group)
		if err != nil {
			return nil, err
		}
		todo = append(todo, jobs...)
	}
	return todo, nil
}

// settled reports whether a group is as it was when its logs were compared: no log is new or was read as a whole since, and none is gone.
func settled(group []twin) bool {
	originals := 0
	for i := range group {
		switch group[i].log.Summary.Forked {
		case original(group):
			originals++
		case 0:
			return false
		}
	}
	return originals == 1 || len(group) == 0
}

// original is index.Summary.Forked of the original of a group.
func original(group []twin) int64 {
	if len(group) == 1 {
		return 0
	}
	return -int64(len(group))
}

// relate finds the original of a group and what the others are copies of: of the logs before it, the one that it shares most
// with. The first log is the one that was created first. Where that is not known, because the creation has no record, it is
// the one that is the first to have something of its own, or has nothing.
func (f *Finder) relate(ctx context.Context, list []source, group []twin) ([]job, error) {
	count := map[uint64]int{}
	for i := range group {
		c := &group[i]
		var err error
		if c.b, err = f.m.Open(list[c.source].Root.Sessions); err == nil {
			c.ids, err = f.copyIDs(ctx, c)
		}
		if errors.Is(err, backend.ErrNotExist) || errors.Is(err, backend.ErrChanged) || unreadable(ctx, err) != nil {
			return nil, nil // the next refresh relates them
		}
		if err != nil {
			return nil, err
		}
		for id := range c.ids {
			count[id]++
		}
	}
	own := func(c *twin) int64 {
		first := int64(math.MinInt64)
		for id, at := range c.ids {
			if count[id] == 1 && (first == math.MinInt64 || at < first) {
				first = at
			}
		}
		return first
	}
	sorting.By(group, func(a, b twin) int {
		return cmp.Or(cmp.Compare(created(&a), created(&b)), cmp.Compare(own(&a), own(&b)), cmp.Compare(len(a.ids), len(b.ids)), strings.Compare(a.path, b.path))
	})
	var todo []job
	for i := range group {
		c := &group[i]
		of, most := copied{until: original(group), whole: own(c) == math.MinInt64}, 0
		for k := range group[:i] {
			if n, until := shared(c, &group[k]); n > most {
				most, of.parent, of.until = n, group[k].path, until
			}
		}
		if c.log.Summary.Forked == of.until && (c.log.Summary.Parent == of.parent || of.until <= 0) && (!of.whole || c.log.Resume().From == 0) {
			continue
		}
		at, err := c.b.Stat(ctx, c.log.Name)
		if err != nil {
			continue // it is gone: the next refresh knows
		}
		todo = append(todo, job{b: c.b, source: c.source, log: at, known: c.log, copied: &of})
	}
	return todo, nil
}

// created is when a log was created, in milliseconds.
func created(c *twin) int64 {
	at, _ := c.log.Summary.Created.Millis()
	return at
}

// shared counts the messages that two logs have in common, and says when a copy begins to have its own.
func shared(a, b *twin) (n int, until int64) {
	for id, at := range a.ids {
		if _, ok := b.ids[id]; ok {
			n++
			until = max(until, at+1, 1) // 0 and less is no copy
		}
	}
	return n, until
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
		return nil, nil // it is gone: the next refresh knows
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
