package find

import (
	"context"
	"slices"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/place"
)

// groups returns the groups to which some logs belong: what is known of one log of a group may depend on the others. A log may be nil.
func (f *Finder) groups(logs ...*index.Found) (list []index.Group) {
	for _, l := range logs {
		if l == nil {
			continue
		}
		if l.Summary.First != 0 {
			list = append(list, index.Group{First: l.Summary.First})
		}
		if r, ok := f.sharedRow(l); ok && r.Doubles() {
			list = append(list, index.Group{Source: l.Source, ID: string(r.ID)})
		}
	}
	return list
}

// compareShared compares the logs of groups and puts the results.
func (f *Finder) compareShared(ctx context.Context, list []index.Group, opt RefreshOptions) error {
	var rest []index.Update // groups for which there is little to put
	doubles := map[string][]index.Group{}
	for _, g := range list {
		if g.First == 0 {
			doubles[g.Source] = append(doubles[g.Source], g)
			continue
		}
		p := putter{f: f, ctx: ctx, together: true}
		if err := f.sharedCopies(&p, g.First, opt); err != nil {
			return err
		}
		p.updates = append(p.updates, index.Update{Compared: []index.Group{g}})
		if len(p.updates) == 1 {
			rest = append(rest, p.updates...)
		} else if err := p.flush(""); err != nil {
			return err
		}
	}
	for source, of := range doubles {
		u, err := f.sharedDoubles(ctx, source, of)
		if err != nil {
			return err
		}
		rest = append(rest, u)
	}
	p := putter{f: f, ctx: ctx, updates: rest}
	return p.flush("")
}

// sharedCopies finds out which of the logs that begin with a message are copies of others; see relate. It skips a log that has changed
// since it was put: when it is put, all are compared again.
func (f *Finder) sharedCopies(p *putter, first uint64, opt RefreshOptions) error {
	found, err := f.shared.Select(p.ctx, index.Selection{First: first, Order: index.OrderMade})
	if err != nil {
		return err
	}
	list, group := make([]source, len(found)), make([]twin, 0, len(found))
	for i := range found {
		src, ok := f.m.ArchivedSource(found[i].Source)
		if !ok {
			continue
		}
		list[i] = source{Source: src, pathOf: src.Paths()}
		group = append(group, twin{source: i, log: &found[i].Log, path: list[i].pathOf(found[i].Name)})
	}
	todo, err := f.relate(p.ctx, list, group)
	if err != nil {
		return err
	}
	for i := range todo {
		j := &todo[i]
		j.shared, j.found = &list[j.source].Source, &found[j.source]
	}
	return f.readShared(p, todo, opt)
}

// relation returns a log that was read again with what it is a copy of. It fails with backend.ErrChanged if the log has changed. Otherwise
// its chunks are the same, and they are not put again.
func relation(l index.Log, known *index.Log) (index.Log, error) {
	if l.Stamp.Generation != known.Stamp.Generation || l.Stamp.Size != known.Stamp.Size || l.Facts.Problem != "" {
		return l, backend.ErrChanged
	}
	n, last := len(l.Chunks), known.Resume().From
	if n == known.ChunkCount() && (last == 0 || n > 0 && l.Chunks[n-1].From == last) {
		l.Continue(known, n)
		l.Chunks, l.IDs = nil, nil
	}
	return l, nil
}

// sharedDoubles finds out which log of a session its agent continues, if it has left several. The sessions are those of one source.
func (f *Finder) sharedDoubles(ctx context.Context, source string, of []index.Group) (u index.Update, err error) {
	u = index.Update{Source: source, Compared: of}
	ids := make([]string, len(of))
	for i := range of {
		ids[i] = of[i].ID
	}
	found, err := f.shared.Select(ctx, index.Selection{Sources: []string{source}, IDs: ids})
	if err != nil {
		return u, err
	}
	rows := make([]place.Row, len(found))
	for i := range found {
		rows[i], _ = f.sharedRow(&found[i])
	}
	current := map[string]bool{}
	for _, r := range place.Current(slices.Clone(rows)) {
		current[r.Path] = true
	}
	for i := range found {
		l := found[i].Log
		if left := !current[rows[i].Path]; left != l.Facts.Left {
			facts := *l.Facts
			facts.Left, l.Before, l.Facts = left, &found[i].Stamp, &facts
			u.Put = append(u.Put, l)
		}
	}
	return u, nil
}
