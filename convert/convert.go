// Package convert turns a session of one agent into one of another, and loses nothing.
//
// A crossing converts the entries of a tree one after the other: the parts and bodies of one dialect on one side, a
// dialect.Composer on the other. The records that some entries became are a passage. The new log is then converted back,
// in memory, and compared record by record. What differs is the loss: it is reported, and the old records are put, as
// text, into the last record of their passage: its origin, with a hash over the new records. A crossing that meets an
// origin whose hash is right takes the old records instead of making new ones. What no record can carry goes into the
// header. New ids depend on the entries alone, so that converting there, back and there again makes the same session.
package convert

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// Options say what a session is converted to.
type Options struct {
	// To is the dialect of the new session. If it is one of runs, the agent's sessions are meant.
	To dialect.Dialect
	// Leaf, if set, converts only the path to that entry. Otherwise all branches are converted; to a dialect without
	// branches, the path to the session's own leaf, and the others are carried along.
	Leaf *session.EntryID
	// Dir is the folder of the new log; "" is where the agent would keep it.
	Dir   string
	Write store.WriteOptions
}

// ErrConverted is wrapped by the error for a converted session that did not say the same when it was read back. It was
// removed again.
var ErrConverted = errors.New("the converted session does not say the same")

// File converts the session at a path, which is only read; see Session.
func File(ctx context.Context, s *store.Store, path string, opt Options) (*store.Session, Report, error) {
	src, err := s.Open(ctx, path, store.OpenOptions{})
	if err != nil {
		return nil, Report{}, err
	}
	defer src.Close()
	return Session(ctx, s, src, opt)
}

// Session makes a session of another dialect from src, which is only read. What the other dialect can express is written
// as its agent would write it. What it cannot is carried along, so that converting back restores it. The report lists
// what became of everything. Losses are found, not guessed: each record is converted there and back, and the difference
// is the loss. The new log is read back and compared before Session returns.
func Session(ctx context.Context, s *store.Store, src *store.Session, opt Options) (dst *store.Session, report Report, err error) {
	opt.To = place.Sessions(opt.To)
	opt.Write = opt.Write.Filled()
	err = src.Read(func(l *logtree.Log, blobs logtree.Blobs) error {
		from := side{l.Path, l.Dialect, l.Tree, blobs}
		to, err := composer(from, opt.To)
		if err != nil {
			return logtree.Named(l.Path, err)
		}
		v := &conversion{store: s, ctx: ctx, src: from, to: to, opt: opt}
		if v.loose, v.slot, err = looseLines(ctx, l); err != nil {
			return logtree.Named(l.Path, err)
		}
		if dst, err = v.run(); err == nil {
			report = v.report(dst)
		}
		return err
	})
	return dst, report, err
}

// side is one session of a conversion.
type side struct {
	path    string
	dialect dialect.Dialect
	tree    *session.Tree
	blobs   logtree.Blobs
}

// composer says whether a session can be converted to a dialect.
func composer(src side, d dialect.Dialect) (dialect.ComposingDialect, error) {
	to, ok := dialect.AsComposer(d)
	switch {
	case d == src.dialect:
		return to, fmt.Errorf("it is a session of %s already; a fork copies it", d.Name())
	case !ok:
		return to, fmt.Errorf("converting to %s is %w: no program of today reads what is new there", d.Name(), store.ErrUnsupported)
	case src.tree.Header().Raw == nil && src.tree.Len() == 0:
		return to, fmt.Errorf("%w: it is empty", logtree.ErrNotSession)
	}
	return to, nil
}

// conversion is the making of one session from another. It goes in rounds: what does not come back when the new session is
// converted back is carried along in the next round, until all does.
type conversion struct {
	store *store.Store
	ctx   context.Context
	src   side
	to    dialect.ComposingDialect
	opt   Options

	cross   *crossing
	head    [][]byte // before the entries
	carried []bool   // by passage
	all     bool     // all passages are carried: the source has no room for what the target's records need
	eased   []bool   // by passage: it is carried for the way back alone; nil until it is asked for
	// A conversion inside a conversion does not ask for its own way back: that would never end.
	inner  bool // it is the way back of another conversion
	header bool // what the session as a whole says is carried
	// loose are the lines that are neither header nor entry; slot is the title slot before the header.
	loose    []int
	slot     []byte
	ledger   ledger
	progress bool  // more is carried than before
	owner    []int // the passage of each record
}

func (v *conversion) crossing(s side, to dialect.ComposingDialect) *crossing {
	c := newCrossing(s.tree, s.dialect, to)
	c.random, c.now = v.opt.Write.Random, v.opt.Write.Clock
	c.resolve = func(m []byte) ([]byte, error) { return s.blobs.Resolve(v.ctx, m, nil) }
	c.whole = func(e session.Entry) ([]byte, error) {
		raw, _, err := s.blobs.Whole(v.ctx, e)
		return raw, err
	}
	return c
}

// translate makes the records, each for itself.
func (v *conversion) translate() (err error) {
	v.cross = v.crossing(v.src, v.to)
	v.cross.leaf = v.opt.Leaf
	if err = v.cross.run(); err == nil {
		v.head, err = v.cross.headRecords()
	}
	return err
}

// run makes the new session. All is worked out in memory first. The log is created when it is known that nothing will be
// lost, and removed again if it does not read back so.
func (v *conversion) run() (*store.Session, error) {
	if err := v.translate(); err != nil {
		return nil, logtree.Named(v.src.path, err)
	}
	n := v.cross.newOf
	// An existing log is refused before the work: converting twice is mostly a mistake.
	draft, err := v.store.NewDraft(v.ctx, v.to.WritingDialect, n, v.opt.Dir, v.opt.Write)
	if err != nil {
		return nil, err
	}
	persist := func(r []byte) ([]byte, bool, error) { return draft.Persist(v.ctx, r) }
	records, err := v.fill(persist, v.made(draft.Path(), n, v.store.Blobs(draft.Path(), v.to.Dialect)))
	if err != nil {
		return nil, errors.Join(err, draft.Discard())
	}
	sess, err := v.store.CreateFrom(v.ctx, draft, records)
	if err != nil {
		return nil, err
	}
	if err := v.verify(sess); err != nil {
		return nil, errors.Join(err, sess.Delete(v.ctx))
	}
	return sess, nil
}

// made gives a function that reads records as the new session.
func (v *conversion) made(path string, n dialect.NewSession, blobs blob.Reader) func(records [][]byte) side {
	return func(records [][]byte) side {
		l := logtree.FromRecords(v.to.Dialect, path, logtree.Born(n), records)
		return side{path, v.to.Dialect, l.Tree, logtree.Blobs{Path: path, Dialect: v.to.Dialect, Reader: blobs}}
	}
}

// fill puts the records together, and finds what must be carried along so that nothing is lost. persist, if not nil, does
// to a record what the agent does before it stores one.
func (v *conversion) fill(persist func(record []byte) (kept []byte, final bool, err error), made func([][]byte) side) ([][]byte, error) {
	if err := v.addTitle(); err != nil {
		return nil, logtree.Named(v.src.path, err)
	}
	for _, p := range v.cross.passages {
		for i, r := range p.records {
			if persist == nil || p.restored || p.custom != nil {
				continue
			}
			kept, final, err := persist(r)
			switch {
			case err == nil:
				p.records[i] = kept
			case final:
				return nil, err
			} // otherwise the agent would not have written it so: it stays as it was
		}
		// A custom entry that stands for another says nothing but what it carries.
		v.carried = append(v.carried, !p.restored && p.custom != nil)
	}
	if len(v.head) == 0 && len(v.cross.passages) == 0 {
		return nil, logtree.Named(v.src.path, fmt.Errorf("it has no message: a session of %s without any is %w", v.to.Dialect.Name(), store.ErrUnsupported))
	}
	if err := v.addLeaf(made); err != nil {
		return nil, logtree.Named(v.src.path, err)
	}
	if len(v.cross.homeless) > 0 {
		v.header = true
		v.ledger.note("", "header", Carried)
	}
	for {
		records, err := v.records()
		if err != nil {
			return nil, logtree.Named(v.src.path, err)
		}
		v.progress = false
		// note has what is lost carried along, and says by progress that the next round will differ.
		wrong, err := v.compare(made(records), v.note)
		if err == nil && wrong && !v.progress {
			err = ErrConverted // and there is nothing more to carry along
		}
		if err != nil {
			return nil, logtree.Named(v.src.path, err)
		}
		if wrong {
			continue
		}
		if more, err := v.easeTheWayBack(made(records)); err != nil || !more {
			return records, logtree.Named(v.src.path, err)
		}
	}
}

// addTitle names the new session with an entry where its agent does so.
func (v *conversion) addTitle() error {
	c := v.cross
	title := c.tree.Header().Title
	leaf := c.leafID()
	// A session that is converted back has its own records again, and with them its name.
	if title == "" || !v.to.Habits().RenameByEntry || c.lastName() == title || leaf == "" || c.back != nil {
		return nil
	}
	id, err := c.freshID("title")
	if err != nil {
		return err
	}
	record, err := v.to.Record(dialect.NewEntry{ID: id, Parent: c.lastOf(leaf), Time: c.clock, Body: session.SessionInfo{Name: title}})
	if err != nil {
		return err
	}
	c.passages = append(c.passages, &passage{records: [][]byte{record}, head: leaf, tip: leaf})
	c.last[leaf] = id // the leaf is now here
	return nil
}

// addLeaf moves the leaf of the new session to where the old one's is. In a linear session the leaf is the end, and a
// restored session has its own entries for it.
func (v *conversion) addLeaf(made func([][]byte) side) error {
	c := v.cross
	if last := len(c.passages) - 1; c.linear || last >= 0 && c.passages[last].restored {
		return nil // it is where it was
	}
	records, err := v.records()
	if err != nil {
		return err
	}
	tree := made(records).tree
	leaf := c.leafID()
	want := session.EntryID("")
	if leaf != "" {
		want = c.lastOf(leaf)
	}
	habits := v.to.Habits()
	if e, ok := tree.Leaf(); ok {
		body, err := e.Body()
		if err != nil {
			return err
		}
		mark, ok := body.(session.Custom)
		if e.ID == want || ok && habits.LeafType != "" && mark.Type == habits.LeafType && e.Parent == want {
			return nil
		}
	} else if want == "" {
		return nil
	}
	id, err := c.freshID("leaf")
	if err != nil {
		return err
	}
	e := dialect.NewEntry{ID: id, Parent: tree.LeafID(), Time: c.clock, Body: session.Leaf{Target: want}}
	if habits.LeafType != "" {
		e.Parent, e.Body = want, session.Custom{Type: habits.LeafType}
	}
	record, err := v.to.Record(e)
	if err != nil {
		return err
	}
	c.passages = append(c.passages, &passage{records: [][]byte{record}, head: leaf, tip: leaf})
	v.carried = append(v.carried, false)
	return nil
}

// records gives the new log, with what is carried along in it. owner is set for the comparison that follows: it says
// which passage each record belongs to.
func (v *conversion) records() ([][]byte, error) {
	out := slices.Clone(v.head)
	sealed := make([]*passage, len(v.cross.passages))
	whole, err := v.wholeOrigin()
	if err != nil {
		return nil, err
	}
	// A format without a header record has what the whole session carries in its first entry.
	inEntry := v.header && len(v.head) == 0
	if v.header && !inEntry {
		out[len(out)-1] = whole.sealed(v.to, out[len(out)-1:])[0]
	}
	first := -1
	for k, p := range v.cross.passages {
		if first < 0 && len(p.records) > 0 {
			first = k
		}
		carriesHeader := inEntry && k == first
		if !(k < len(v.carried) && v.carries(k)) && !carriesHeader {
			sealed[k] = p
			continue
		}
		o, err := v.origin(p)
		if err != nil {
			return nil, err
		}
		if carriesHeader {
			o.Session, o.Header, o.Slot = whole.Session, whole.Header, whole.Slot
		}
		with := *p
		if with.records, err = v.seal(p, o); err != nil {
			return nil, err
		}
		sealed[k] = &with
	}
	v.owner = nil
	for _, f := range flatten(sealed) {
		out, v.owner = append(out, f.record), append(v.owner, f.passage)
	}
	return out, nil
}

// carries says whether the records of a passage carry what they were made from.
func (v *conversion) carries(k int) bool {
	p := v.cross.passages[k]
	return v.carried[k] || v.eased != nil && v.eased[k] || v.all && !p.restored && len(p.entries) > 0 && len(p.records) > 0
}

// seal puts the origin into the records of a passage. A custom entry has it as its data: it holds nothing else.
func (v *conversion) seal(p *passage, o origin) ([][]byte, error) {
	if p.custom == nil {
		return o.sealed(v.to, p.records), nil
	}
	o.Size = 1
	o.Hash = o.sum(nil)
	n := *p.custom
	n.Body = session.Custom{Type: carriedType, Data: o.json()}
	record, err := v.to.Record(n)
	return [][]byte{record}, err
}

// origin is what a passage carries.
func (v *conversion) origin(p *passage) (origin, error) {
	o := origin{Dialect: v.src.dialect.Name(), Head: p.head, Tip: p.tip}
	if c := v.cross; c.linear && p == c.passages[len(c.passages)-1] {
		o.Tip = c.leafID() // what is added there goes on where the old session was
	}
	var err error
	o.Records, err = v.carriedRecords(sources(p))
	return o, err
}

func (v *conversion) carriedRecords(entries []int) ([]carried, error) {
	records, err := v.encoded(entries)
	list := make([]carried, len(records))
	for k, r := range records {
		list[k] = carry(r, entries[k])
	}
	return list, err
}

// sources are the entries that a passage stands for, in file order.
func sources(p *passage) []int {
	all := slices.Concat(p.entries, p.extra)
	slices.Sort(all)
	return all
}

// wholeOrigin is what the session as a whole carries. Session is never empty there: by it the way back knows that the
// header carries anything.
func (v *conversion) wholeOrigin() (origin, error) {
	o := origin{Dialect: v.src.dialect.Name(), Session: v.src.tree.Header().ID}
	if o.Session == "" {
		o.Session = v.cross.newOf.ID
	}
	var err error
	if o.Records, err = v.carriedRecords(v.cross.homeless); err != nil {
		return o, err
	}
	raw, err := v.sourceHeader()
	if raw != nil {
		o.Header = &carried{}
		*o.Header = carry(raw, 0)
	}
	if v.slot != nil {
		o.Slot = &carried{}
		*o.Slot = carry(v.slot, 0)
	}
	return o, err
}
