package convert

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/treeline-dev/treeline/convert/origin"
	"github.com/treeline-dev/treeline/convert/pile"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// returned is a converted session that was converted back.
type returned struct {
	pile     *pile.Pile
	head     [][]byte
	id       session.ID
	records  [][]session.Span // by passage
	homeless []session.Span   // the records that the header carried
}

// convertBack converts the new session back. Each record belongs to the passage of the record that it was made from, or of the first if it
// was made from several.
func (v *conversion) convertBack(sess side) (returned, error) {
	r := returned{records: make([][]session.Span, len(v.cross.passages)), pile: &pile.Pile{}}
	from, ok := dialect.AsComposer(v.src.dialect)
	if !ok {
		return r, v.originsBack(sess, &r)
	}
	c := v.crossing(sess, from)
	r.pile = &c.pile
	err := c.run()
	if err == nil {
		r.head, err = c.headRecords()
	}
	if err != nil {
		return r, err
	}
	c.rest()
	r.id = c.newOf.ID
	others := foreign(sess.tree)
	for _, p := range c.passages {
		switch {
		case len(p.entries) > 0:
			k := v.owner[p.entries[0]-others]
			r.records[k] = append(r.records[k], p.records...)
		case p.restored: // the header carried it: see crossing.run
			r.homeless = append(r.homeless, p.records...)
		} // the rest comes from another log that the new one goes on from
	}
	return r, nil
}

// foreign counts the entries of other logs that a log goes on from. They come first.
func foreign(t *session.Tree) (n int) {
	for n < t.Len() && t.At(n).Foreign() {
		n++
	}
	return n
}

// originsBack is convertBack for a dialect that cannot be a target: only what is carried along comes back.
func (v *conversion) originsBack(sess side, r *returned) error {
	name := v.src.dialect.Name()
	found, err := origin.Find(sess.tree, v.to, name, r.pile)
	if err != nil {
		return err
	}
	if o, ok := origin.Whole(sess.tree, v.to, name, found); ok {
		r.id = o.Session
		if !sess.tree.Header().InEntry {
			r.homeless, _ = o.Put(r.pile)
		}
		r.head = present(o.Slot.Bytes(), o.Header.Bytes())
	}
	for i, k := range v.owner {
		if f := found[i]; f != nil && f.Last == i {
			r.records[k] = append(r.records[k], f.Spans...)
		}
	}
	return nil
}

// equal reports whether records came back byte for byte. The order of members, white space and the spelling of texts and numbers count: an
// agent's own tools may rely on them.
func equal(before, after [][]byte) bool { return slices.EqualFunc(before, after, bytes.Equal) }

// compare converts the new session back and tells which passages differ from the old session; -1 is the header. Restored passages are not
// compared: they have the bytes of an older session.
func (v *conversion) compare(sess side, tell func(passage int, before, after [][]byte)) (wrong bool, err error) {
	if n := sess.tree.Len() - foreign(sess.tree); n != len(v.owner) {
		return false, fmt.Errorf("%w: %d of %d entries were read back", ErrConverted, n, len(v.owner))
	}
	r, err := v.convertBack(sess)
	if err != nil {
		return false, errors.Join(err, r.pile.Close()) // it may hold what was converted before the error
	}
	defer r.pile.Close()
	one := func(k int, entries []int, came []session.Span) error {
		before, err := v.encoded(entries)
		if err != nil {
			return err
		}
		after, err := r.pile.All(came)
		if err != nil {
			return err
		}
		if !equal(before, after) {
			wrong = true
			tell(k, before, after)
		}
		return v.ctx.Err()
	}
	if err := one(-1, v.cross.homeless, r.homeless); err != nil {
		return false, err
	}
	for k, p := range v.cross.passages {
		if p.restored {
			continue
		}
		if err := one(k, sources(p), r.records[k]); err != nil {
			return false, err
		}
	}
	// A restored header is not compared either.
	if v.cross.back != nil {
		return wrong, nil
	}
	header, err := v.sourceHeader()
	if err != nil {
		return false, err
	}
	before := present(v.outline.slot, header)
	id := v.src.tree.Header().ID
	// An id that cannot be a file name is replaced on the way back, too.
	if !equal(before, r.head) || dialect.CheckFileID(id) == nil && r.id != id {
		wrong = true
		tell(-1, before, r.head)
	}
	return wrong, nil
}

// encoded returns the records of entries of the old session.
func (v *conversion) encoded(entries []int) ([][]byte, error) {
	var list [][]byte
	for _, i := range entries {
		raw, err := v.src.dialect.Encode(v.src.tree.At(i))
		if err != nil {
			return nil, err
		}
		list = append(list, raw)
	}
	return list, nil
}

// note records a loss and marks its passage as carried.
func (v *conversion) note(k int, before, after [][]byte) {
	// It is carried and still differs. Without progress the conversion fails.
	if k < 0 || v.carried[k] {
		return
	}
	v.carried[k], v.progress = true, true
	p := v.cross.passages[k]
	var said [][]byte // without entries that have no record of their own
	var entries []int
	extra := setOf(p.extra)
	for j, i := range sources(p) {
		if !extra[i] {
			said, entries = append(said, before[j]), append(entries, i)
		}
	}
	for j, paths := range differences(said, after) {
		if len(paths) == 0 {
			paths = []string{""}
		}
		for _, path := range paths {
			v.ledger.entry(path, v.src.tree.At(entries[j]), Carried)
		}
	}
}

// verify compares once more, with the log as it was written and read back: the backend is not trusted.
func (v *conversion) verify(dst *store.Session) error {
	return dst.Read(func(l *logtree.Log, blobs logtree.Blobs) error {
		var differs error
		_, err := v.compare(sideOf(l, blobs), func(_ int, before, after [][]byte) {
			differs = cmp.Or(differs, fmt.Errorf("%w: %d records came back as %d, or with other bytes", ErrConverted, len(before), len(after)))
		})
		return logtree.Named(l.Path, cmp.Or(err, differs))
	})
}

// restores reports whether some records come from origins.
func (v *conversion) restores() bool {
	return v.cross != nil && slices.ContainsFunc(v.cross.passages, func(p *passage) bool { return p.restored && len(p.entries) > 0 })
}

// report describes the outcome for everything. Each entry is counted once; losses are listed by kind and path.
func (v *conversion) report(dst *store.Session) (Report, error) {
	t := v.src.tree
	r := Report{
		Source:  Converted{Dialect: v.src.dialect.Name(), File: v.src.path, ID: t.Header().ID, Entries: t.Len()},
		Target:  Converted{Dialect: v.to.Dialect.Name(), File: dst.Path(), ID: dst.ID(), Entries: dst.Tree().Len()},
		Dropped: len(v.cross.dropped),
	}
	if !v.cross.ofRun {
		var err error
		if r.Source.View, err = viewOf(v.src, v.cross.leafID()); err != nil {
			return r, logtree.Named(v.src.path, err)
		}
		err = dst.Read(func(l *logtree.Log, blobs logtree.Blobs) (err error) {
			r.Target.View, err = viewOf(sideOf(l, blobs), l.Tree.LeafID())
			return err
		})
		if err != nil {
			return r, err
		}
	}
	for _, i := range v.cross.dropped {
		v.ledger.entry("", t.At(i), Dropped)
	}
	for _, i := range v.cross.homeless {
		v.ledger.entry("", t.At(i), Carried)
	}
	r.Carried = len(v.cross.homeless)
	for kind, lines := range map[string][]int{"line": v.outline.loose, "spacing": v.outline.spaced} {
		for _, n := range lines {
			loss := v.ledger.note("", kind, Dropped)
			loss.Lines = append(loss.Lines, n)
		}
	}
	for range v.outline.tasks {
		v.ledger.note("", "sub-agent", Dropped)
	}
	// Eased passages count as mapped: they lose nothing.
	for k, p := range v.cross.passages {
		list, extra := sources(p), setOf(p.extra)
		switch {
		case p.script: // the model sees the others
			r.Carried += len(extra)
		case v.carried[k]:
			r.Carried += len(list)
		}
		for _, i := range list {
			switch {
			case !v.carried[k] || p.script && !extra[i]:
				v.ledger.entry("", t.At(i), Mapped)
			case p.custom != nil || extra[i]:
				v.ledger.entry("", t.At(i), Carried)
			}
		}
	}
	for e := range t.Entries() {
		if e.Foreign() { // the header still names the log that has it
			v.ledger.entry("", e, Mapped)
		}
	}
	r.Mapped = t.Len() - r.Dropped - r.Carried
	// A log is migrated as a whole: the first entry tells.
	migrated := t.Len() > 0 && t.At(0).Migrated
	if migrated {
		v.ledger.note("/version", "header", Migrated)
	}
	if !v.header {
		v.ledger.note("", "header", Mapped)
	}
	r.Losses = v.ledger.sorted()
	r.Lossless = r.Dropped == 0 && len(v.outline.loose) == 0 && len(v.outline.spaced) == 0 && !migrated
	return r, nil
}

// easeTheWayBack finds passages that lose nothing but could not be converted back without carrying something: the old session would come
// back with origins in it. Such passages carry their origin, too. more reports whether some of them were not carried before. An entry that
// stands for none, such as a name, then has another passage that carries it on the way back. If that is one more, all passages are carried.
func (v *conversion) easeTheWayBack(sess side) (more bool, err error) {
	from, ok := dialect.AsComposer(v.src.dialect)
	switch {
	case !ok || v.inner || v.all || v.eased != nil && !v.loose || !v.mayCarryMore():
		return false, nil
	case from.Habits().SavedWhole:
		// Its messages have neither ids nor times: only origins restore them.
		v.all = true
		return true, nil
	}
	first := v.eased
	v.eased = append(first, make([]bool, len(v.carried)-len(first))...)
	back := &conversion{store: v.store, ctx: v.ctx, src: sess, to: from, opt: v.opt, inner: true}
	back.opt.Leaf = nil // all that is there
	defer back.close()
	if err := back.translate(); err != nil {
		return false, err
	}
	log, err := back.fill(nil, back.made("", back.cross.newOf, nil))
	if err != nil {
		return false, v.ctx.Err() // the conversion back will report the error
	}
	if err := log.Close(); err != nil {
		return false, err
	}
	for k, p := range back.cross.passages {
		v.loose = v.loose || len(p.extra) > 0
		if !p.restored && len(p.entries) > 0 && back.carried[k] {
			owner := v.owner[p.entries[0]]
			v.eased[owner] = !v.cross.passages[owner].restored && len(v.cross.passages[owner].entries) > 0
			more = more || v.eased[owner] && !v.carried[owner]
		}
	}
	v.all = more && first != nil
	return more, nil
}

// mayCarryMore reports whether a passage that may carry an origin carries none.
func (v *conversion) mayCarryMore() bool {
	for k, p := range v.cross.passages {
		if !v.carried[k] && !p.restored && len(p.entries) > 0 {
			return true
		}
	}
	return false
}

// sourceHeader returns the source's header in the current version, nil if it is in an entry. If a document contains the entries, the header
// is the rest of the document.
func (v *conversion) sourceHeader() ([]byte, error) {
	h := v.src.tree.Header()
	if h.InEntry || h.Raw == nil {
		return nil, nil
	}
	w, ok := v.src.dialect.(dialect.Writer)
	if !ok {
		raw := h.Raw
		for key, value := range rawjson.Fields(h.Raw) {
			if v.src.tree.Len() > 0 && rawjson.IsArray(value) {
				raw = rawjson.Delete(raw, key)
			}
		}
		return raw, nil
	}
	if t := v.src.tree; t.Len() == 0 || !t.At(0).Migrated {
		return h.Raw, nil // an edit would add what the header lacks
	}
	raw, _, err := w.EditHeader(h, nil, dialect.HeaderEdit{})
	return raw, err
}

// present returns the records that are not nil.
func present(records ...[]byte) [][]byte {
	return slices.DeleteFunc(records, func(r []byte) bool { return r == nil })
}
