package rows

import (
	"bytes"
	"context"
	"errors"
	"hash/maphash"
	"math/bits"
	"slices"

	"github.com/treeline-dev/treeline/internal/litefile"
)

// look brings the stamps up to date with a snapshot. If the pages that were written since the last one are known, it reads only the
// sessions that these pages name.
func (d *Database) look(ctx context.Context, s *litefile.Snapshot, t *tables) error {
	if s == d.seen && d.stamps != nil {
		return nil
	}
	known := d.stamps
	if known == nil || d.far || s.Before == nil || s.Before != d.seen || t.cleared(s) {
		known = nil
	}
	var err error
	var list map[string]*stamp
	far, tails := d.far, d.tails
	if known != nil {
		list, err = t.update(ctx, s, known, tails)
	} else {
		tails = map[uint32]string{}
		list, far, err = t.scan(s, tails)
		if errors.Is(err, errors.ErrUnsupported) {
			list, far = nil, true
			var db *litefile.DB
			if db, err = s.DB(); err == nil {
				list, err = t.loadAll(ctx, db)
			}
		}
	}
	if err != nil {
		return err
	}
	d.stamps, d.far, d.tails, d.seen = list, far, tails, s
	return nil
}

// cleared reports whether a table was written that has only one page. If the program deletes all rows at once, their pages are not written.
func (t *tables) cleared(s *litefile.Snapshot) bool {
	for _, of := range []*table{t.message, t.part} {
		if of == nil {
			continue
		}
		if _, wrote := slices.BinarySearch(s.Wrote, of.root); wrote && s.IsLeaf(of.root) {
			return true
		}
	}
	return false
}

// scan makes the stamps of all sessions from the heads of rows. tails maps a page with the end of a long row to the session of the row. far
// is set if a change may show neither in the head of its row nor on such a page.
func (t *tables) scan(s *litefile.Snapshot, tails map[uint32]string) (list map[string]*stamp, far bool, err error) {
	list = map[string]*stamp{}
	if err = t.sessions(s, list); err != nil {
		return nil, false, err
	}
	if far, err = s.Moves(); err != nil {
		return nil, false, err
	}
	x := &scan{t: t, list: list, tails: tails, seed: maphash.MakeSeed(), parted: map[uint64]bool{}}
	for k, of := range []*table{t.message, t.part} {
		if of == nil {
			continue
		}
		if err := s.Table(of.root, func(r *litefile.Row) error { return x.row(k, of, r) }); err != nil {
			return nil, false, err
		}
	}
	for _, st := range list {
		t.settle(st)
	}
	return list, far || x.far, nil
}

// scan is the state of tables.scan between rows.
type scan struct {
	t       *tables
	list    map[string]*stamp
	tails   map[uint32]string
	far     bool
	scratch []byte
	pages   []uint32
	seed    maphash.Seed
	parted  map[uint64]bool // messages by the hash of their ids and sessions, and whether a part was found
}

// row takes a message or, if k is 1, a part.
func (x *scan) row(k int, of *table, r *litefile.Row) error {
	id, err := of.value(r, of.session)
	if err != nil {
		return err
	}
	st := x.list[string(text(id))]
	if st == nil {
		return nil
	}
	var size int
	if size, x.scratch, err = of.rowSize(r, x.scratch); err != nil {
		return err
	}
	if x.pages, err = of.tail(x.pages[:0], r); err != nil {
		return err
	}
	for _, page := range x.pages {
		x.tails[page] = st.id
	}
	if of.updated >= 0 {
		v, err := of.value(r, of.updated)
		if err != nil {
			return err
		}
		st.marks[k].take(v)
	}
	x.far = x.far || !r.Near(of.session)
	if k == 0 {
		st.messages++
		st.size += x.t.frame() + int64(size)
		st.last = max(st.last, r.ID)
	} else {
		st.parts++
	}
	if x.t.part == nil {
		return nil
	}
	column := of.id
	if k == 1 {
		column = of.message
	}
	v, err := of.value(r, column)
	if err != nil {
		return err
	}
	h := maphash.Bytes(x.seed, text(v)) ^ bits.RotateLeft64(maphash.Bytes(x.seed, text(id)), 1)
	before, ok := x.parted[h]
	switch {
	case k == 0:
		x.parted[h] = false
	case ok: // a comma stands before all parts but the first
		st.size += int64(size)
		if before {
			st.size++
		}
		x.parted[h] = true
	}
	return nil
}

// sessions makes stamps of the rows of sessions.
func (t *tables) sessions(s *litefile.Snapshot, list map[string]*stamp) error {
	values := make([]any, len(t.session.columns))
	return s.Table(t.session.root, func(r *litefile.Row) (err error) {
		for i := range values {
			if values[i], err = t.session.value(r, i); err != nil {
				return err
			}
		}
		st := t.begin(values)
		list[st.id] = st
		return nil
	})
}

// update makes the stamps after some pages were written. It reads a session again if its id is in a row on one of these pages, before or
// after, or if tails has one of the pages for it; of other sessions it reads only the row.
func (t *tables) update(ctx context.Context, s *litefile.Snapshot, known map[string]*stamp, tails map[uint32]string) (map[string]*stamp, error) {
	dirty := map[string]bool{}
	for _, page := range s.Wrote {
		if id, ok := tails[page]; ok {
			dirty[id] = true
		}
		for _, snap := range []*litefile.Snapshot{s.Before, s} {
			snap.LeafRows(page, func(r *litefile.Row) {
				for i := range r.Columns() {
					if kind, n := r.Len(i); kind != litefile.Text || n > longestID || !r.Near(i) {
						continue
					}
					if v, err := r.Value(i); err == nil && known[string(text(v))] != nil {
						dirty[string(text(v))] = true
					}
				}
			})
		}
	}
	if err := t.retail(s, tails); err != nil {
		return nil, err
	}
	list := make(map[string]*stamp, len(known))
	if err := t.sessions(s, list); err != nil {
		return nil, err
	}
	db, err := s.DB()
	if err != nil {
		return nil, err
	}
	for id, st := range list {
		old := known[id]
		if old != nil && !dirty[id] {
			st.messages, st.parts, st.size, st.last = old.messages, old.parts, old.size, old.last
			t.settle(st)
			if copy(st.marks[:2], old.marks[:2]); st.marks == old.marks && bytes.Equal(st.header, old.header) {
				list[id] = old
			}
			continue
		}
		_, now, err := t.load(ctx, db, id)
		if err != nil {
			return nil, err
		}
		if now != nil {
			list[id] = now
		}
	}
	return list, nil
}

// retail records the ends of the long rows on the pages that were written. Entries of rows that are gone stay: they only cost the read of a
// session.
func (t *tables) retail(s *litefile.Snapshot, tails map[uint32]string) error {
	var pages []uint32
	for _, of := range []*table{t.message, t.part} {
		if of == nil {
			continue
		}
		err := s.RowsOn(of.root, s.Wrote, func(r *litefile.Row) (err error) {
			if pages, err = of.tail(pages[:0], r); err != nil || len(pages) == 0 {
				return err
			}
			id, err := of.value(r, of.session)
			for _, page := range pages {
				tails[page] = string(text(id))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// longestID is longer than the ids of sessions: longer texts are not compared with them.
const longestID = 256

// loadAll makes the stamps by queries, for a database that cannot be scanned.
func (t *tables) loadAll(ctx context.Context, db querier) (map[string]*stamp, error) {
	var ids []string
	found, err := db.QueryContext(ctx, `SELECT `+quoted(t.session.ID)+` FROM `+quoted(t.session.Name))
	if err != nil {
		return nil, err
	}
	defer found.Close()
	for found.Next() {
		var id string
		if err := found.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	if err := found.Err(); err != nil {
		return nil, err
	}
	list := map[string]*stamp{}
	for _, id := range ids {
		_, st, err := t.load(ctx, db, id)
		if err != nil {
			return nil, err
		}
		if st != nil {
			list[id] = st
		}
	}
	return list, nil
}
