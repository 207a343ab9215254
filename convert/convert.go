package convert

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// ConvertOptions say what a session is converted to.
type ConvertOptions struct {
	// To is the dialect of the new session; see Sessions for one of runs.
	To dialect.Dialect
	// Leaf, if set, converts only the way to that entry. Otherwise all branches are converted; to a dialect that has none,
	// the way to the session's own leaf, and the others are carried along.
	Leaf *session.EntryID
	// Dir is the folder of the new log; "" is where the agent would keep it.
	Dir   string
	Write WriteOptions
}

// ErrConverted is wrapped by the error for a converted session that did not say the same when it was read back. It was
// removed again.
var ErrConverted = errors.New("the converted session does not say the same")

// Convert makes a session of another dialect from the one in a file, which is only read. What the other dialect can
// express is written as its agent would; what it cannot is carried along where there is room, so that converting back
// restores it. The report lists what became of everything. The new file is read back and compared before Convert returns.
//
// What is lost is found, not guessed: each record is converted there and back, and what then differs is the loss.
func (s *Store) Convert(ctx context.Context, path string, opt ConvertOptions) (*Session, ConvertReport, error) {
	src, err := s.Open(ctx, path, OpenOptions{})
	if err != nil {
		return nil, ConvertReport{}, err
	}
	defer src.Close()
	return s.ConvertSession(ctx, src, opt)
}

// ConvertSession is Convert for a session that is open.
func (s *Store) ConvertSession(ctx context.Context, src *Session, opt ConvertOptions) (*Session, ConvertReport, error) {
	opt.To = Sessions(opt.To)
	to, err := s.composer(src, opt.To)
	if err != nil {
		return nil, ConvertReport{}, named(src.path, err)
	}
	opt.Write.fill()
	opt.Write.Defer = dialect.DeferNever
	v := &conversion{store: s, ctx: ctx, src: src, to: to, opt: opt}
	if v.loose, v.slot, err = src.looseLines(ctx); err != nil {
		return nil, ConvertReport{}, named(src.path, err)
	}
	dst, err := v.run()
	if err != nil {
		return nil, ConvertReport{}, err
	}
	return dst, v.report(dst), nil
}

// composer says whether a session can be converted to a dialect.
func (s *Store) composer(src *Session, d dialect.Dialect) (dialect.ComposingDialect, error) {
	h := src.tree.Header()
	to, ok := dialect.AsComposer(d)
	switch {
	case d == src.dialect:
		return to, fmt.Errorf("it is a session of %s already; 'fork' copies it", d.Name())
	case !ok:
		return to, fmt.Errorf("converting to %s is %w: no program of today reads what is new there", d.Name(), ErrUnsupported)
	case h.Raw == nil && src.tree.Len() == 0:
		return to, fmt.Errorf("%w: it is empty", ErrNotSession)
	}
	return to, nil
}

// conversion is the making of one session from another. It goes in rounds: what does not come back when the new session is
// converted back is carried along in the next one, until all does.
type conversion struct {
	store *Store
	ctx   context.Context
	src   *Session
	to    dialect.ComposingDialect
	opt   ConvertOptions

	cross   *crossing
	head    [][]byte // before the entries
	carried []bool   // by passage
	all     bool     // all passages are: the source has no room for what the target's records need to be made again
	eased   []bool   // by passage: it is carried for the way back alone; nil as long as nobody asked
	// A conversion inside a conversion does not ask for its own way back: that would never end.
	inner  bool // it is the way back of another conversion
	header bool // what the session as a whole says is carried
	// loose are the lines that are neither header nor entry, slot is the record with the title before the header.
	loose    []int
	slot     []byte
	ledger   ledger
	progress bool  // more is carried than before
	owner    []int // the passage of each record
}

func (v *conversion) crossing(s *Session, to dialect.ComposingDialect) *crossing {
	c := newCrossing(s.tree, s.dialect, to)
	c.random, c.now = v.opt.Write.Random, v.opt.Write.Clock
	c.resolve = func(m []byte) ([]byte, error) { return s.resolveBlobs(v.ctx, m, nil) }
	c.whole = func(e session.Entry) ([]byte, error) {
		raw, _, err := s.Whole(v.ctx, e)
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

// run makes the new session. All is worked out in memory first; a log is created only when it is known that nothing will be
// lost, and removed again if it does not read back so.
func (v *conversion) run() (*Session, error) {
	if err := v.translate(); err != nil {
		return nil, named(v.src.path, err)
	}
	n := v.cross.newOf
	dir := v.opt.Dir
	if dir == "" {
		dir = v.store.sessionDir(v.to.Dialect, v.store.absolute(n.CWD))
	} else {
		dir = v.store.placeIn(v.to.Dialect, dir)
	}
	path := filepath.Join(dir, v.store.fileName(v.to.Dialect, n))
	b, err := v.store.writeDir(dir, path, v.opt.Write)
	if err != nil {
		return nil, err
	}
	// Converting twice is mostly a mistake, and the same id at two places a bad one. Create would refuse it, too, but only
	// after all the work.
	if _, err := b.Stat(v.ctx, filepath.Base(path)); err == nil {
		return nil, errors.Join(named(path, backend.ErrExist), b.Close())
	}
	sess := v.store.waitingSession(b, filepath.Base(path), path, v.to.WritingDialect, born(n), nil, v.opt.Write)
	if err := v.fill(sess, n); err != nil {
		return nil, errors.Join(err, sess.release())
	}
	if err := sess.create(v.ctx); err != nil {
		return nil, errors.Join(err, sess.release())
	}
	if err := v.verify(sess); err != nil {
		return nil, errors.Join(err, b.Remove(v.ctx, sess.log), sess.release())
	}
	return sess, nil
}

// fill puts the records together, and finds what must be carried along for nothing to be lost.
func (v *conversion) fill(sess *Session, n dialect.NewSession) error {
	if err := v.addTitle(); err != nil {
		return named(v.src.path, err)
	}
	for _, p := range v.cross.passages {
		for i, r := range p.records {
			if p.restored || p.custom != nil {
				continue
			}
			// Blobs first, as in every write.
			kept, err := sess.persist(v.ctx, r)
			switch {
			case err == nil:
				p.records[i] = kept
			case sess.w.err != nil || v.ctx.Err() != nil:
				return err
			} // otherwise it is one that the agent would not have written so: it stays as it was
		}
		// A custom entry that stands for another says nothing but what it carries.
		v.carried = append(v.carried, !p.restored && p.custom != nil)
	}
	if len(v.head) == 0 && len(v.cross.passages) == 0 {
		return named(v.src.path, fmt.Errorf("it has no message: a session of %s that says nothing is %w", v.to.Dialect.Name(), ErrUnsupported))
	}
	if err := v.addLeaf(sess, n); err != nil {
		return named(v.src.path, err)
	}
	if len(v.cross.homeless) > 0 {
		v.header = true
		v.ledger.note("", "header", Carried)
	}
	for {
		records, err := v.records()
		if err != nil {
			return named(v.src.path, err)
		}
		sess.restart(records, born(n))
		v.progress = false
		// note has what is lost carried along, and says by progress that the next round will be another one.
		wrong, err := v.compare(sess, v.note)
		if err == nil && wrong && !v.progress {
			err = ErrConverted // and there is nothing more to be carried along
		}
		if err != nil {
			return named(v.src.path, err)
		}
		if wrong {
			continue
		}
		if more, err := v.easeTheWayBack(sess); err != nil || !more {
			return named(v.src.path, err)
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

// addLeaf moves the leaf of the new session to where the old one's is, if it is not there. In a linear session the leaf is
// the end, and a restored one has its own entries for that.
func (v *conversion) addLeaf(sess *Session, n dialect.NewSession) error {
	c := v.cross
	if last := len(c.passages) - 1; c.linear || last >= 0 && c.passages[last].restored {
		return nil // it is where it was
	}
	records, err := v.records()
	if err != nil {
		return err
	}
	sess.restart(records, born(n))
	leaf := c.leafID()
	want := session.EntryID("")
	if leaf != "" {
		want = c.lastOf(leaf)
	}
	habits := v.to.Habits()
	if e, ok := sess.tree.Leaf(); ok {
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
	e := dialect.NewEntry{ID: id, Parent: sess.tree.LeafID(), Time: c.clock, Body: session.Leaf{Target: want}}
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
