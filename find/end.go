package find

import (
	"context"
	"errors"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/session"
)

// end is the last chunk of a log, with what the index knows of the log before it. A hit there needs no tree of the whole session; such hits
// are frequent, since people look for what the agent has just written. The path and labels of an entry depend only on later records, and
// the past, by the conditions of continue.go, names no entry of the end. The tree of the end is therefore enough, unless
//
//   - the leaf is before the end, or the format has its own rules for leaf and path (session.Navigator);
//   - an id of the end occurs in the past.
type end struct {
	kept *index.Log // nil: the whole log is read
	from int64
}

// endOf returns the end of a log that the index knows as it is listed.
func endOf(t *target) end {
	if t.kept == nil || t.kept.Stamp.Generation != t.row.Log.Generation || t.kept.Stamp.Size != t.row.Log.Size {
		return end{}
	}
	return end{kept: t.kept}
}

// read reads the end into the matcher's tree. It returns false if a hit at that offset needs the whole log.
func (e *end) read(ctx context.Context, m *matcher, at int64) (bool, error) {
	if e.kept == nil || m.s.opt.Labelled {
		return false, nil
	}
	was := e.kept.Resume()
	known := e.kept
	e.kept = nil // this is tried once
	d := m.row.Dialect
	if was.From == 0 || at < was.From || d.Name() != known.Summary.Dialect || navigates(d, m.row.Path) {
		return false, nil
	}
	p, dec, err := pastOf(ctx, d, m.row.Path, m.b, m.row.Log, m.pre.r, &was, func(add func(from int64, hash uint32)) error {
		return m.s.f.ix.IDs(known, known.ChunkCount()-1, add)
	})
	if p == nil || err != nil {
		return false, err
	}
	for r, err := range backend.Records(ctx, m.b, m.row.Log, m.pre.r, was.From) {
		if err != nil {
			return false, err
		}
		dec.Decode(dialect.Record{Data: r.Data, Offset: r.Offset, Torn: r.Torn})
	}
	if dec.Finish() != nil {
		return false, nil
	}
	tree := p.Builder.Finish()
	if !p.Builder.LeafRead() || p.Repeated(tree) || p.Unsure {
		return false, nil
	}
	// The result counts only if the log is still the one that was listed.
	now, err := m.b.Stat(ctx, m.row.Log.Name)
	switch {
	case errors.Is(err, backend.ErrNotExist), err == nil && now.Generation != m.row.Log.Generation:
		return false, backend.ErrChanged
	case err != nil:
		return false, err
	}
	e.from = was.From
	m.use(tree)
	return true, nil
}

// navigates reports whether leaf and path of a log follow rules of the format.
func navigates(d dialect.Dialect, path string) bool {
	b := logtree.Seed(d, path, nil, session.Header{})
	d.NewDecoder(b)
	_, ok := b.Finish().Codec().EntryCodec.(session.Navigator)
	return ok
}
