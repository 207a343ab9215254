// Package convert turns a session of one agent into a session of another. What the other format cannot express is carried along and reported.
//
// Session converts an open session, and File converts one by its path. Both return the new session and a Report on everything in the old one.
//
// A crossing converts the entries of a tree one after the other, from the parts and bodies of one dialect to records of another, through a
// dialect.Composer. The records that some entries became are a passage. The new log is then converted back, in memory, and compared record
// by record. The difference is the loss. It is reported, and the old records are stored as text in the last record of their passage. This
// text is the origin, and contains a hash of the new records. A crossing that finds an origin with the right hash restores the old records.
// If the copy has changed so that this would lose something, nothing is restored, and what the copy has is converted like any session.
// What no record can carry goes into the header, which also names the session that the copy was made from. New ids depend only on the old
// ones, so converting there, back and there again makes the same session.
package convert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/convert/pile"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// Options say what a session is converted to, and where the new log is written.
type Options struct {
	// To is the dialect of the new session. A dialect of runs stands for that of the agent's sessions.
	To dialect.Dialect
	// Leaf, if set, converts only the path to that entry. An entry that moves the leaf means the entry to which it moves it. Otherwise all
	// branches are converted. A dialect without branches gets the path to the session's own leaf, and the other branches are carried along.
	Leaf *session.EntryID
	// Fresh gives the new session an id that no other session has. Otherwise the id depends on the id of src: a second conversion fails
	// with backend.ErrExist, and a session that is converted back has its old id again.
	Fresh bool
	// Dir is the folder of the new log; "" means the folder where the agent would keep it. In that case, a session without a working
	// directory gets the working directory of the store, because its agent would not find it elsewhere.
	Dir   string
	Write store.WriteOptions
}

// SameError says that a session is of the dialect that it is to be converted to.
type SameError struct {
	Dialect dialect.Dialect
	// Other is another dialect of the family, nil if there is none. A log outside the agents' folders does not show which dialect of a
	// family wrote it.
	Other dialect.Dialect
}

// Error implements error.
func (e *SameError) Error() string {
	text := fmt.Sprintf("it is read as a session of %s already; a fork copies it", e.Dialect.Name())
	if e.Other != nil {
		text += fmt.Sprintf("; if %s wrote it, read it as %s", e.Other.Name(), e.Other.Name())
	}
	return text
}

// ErrConverted is wrapped by the error for a converted session that differs when it is read back. The new log is removed.
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

// Session makes a session of another dialect from src, which is only read. What the other dialect can express is written as its agent would
// write it. The rest is carried along, so that converting back restores it. The report lists what became of everything. Losses are
// measured: each record is converted there and back, and the difference is the loss. The new log is read back and compared before Session
// returns. If Session fails, also because ctx is cancelled, there is no new session.
func Session(ctx context.Context, s *store.Store, src *store.Session, opt Options) (dst *store.Session, report Report, err error) {
	opt.To = place.Sessions(opt.To)
	opt.Write = opt.Write.Filled()
	err = src.Read(func(l *logtree.Log, blobs logtree.Blobs) error {
		from := sideOf(l, blobs)
		to, err := composer(from, opt.To, s.Dialects())
		if err != nil {
			return logtree.Named(l.Path, err)
		}
		v := &conversion{store: s, ctx: ctx, src: from, to: to, opt: opt}
		defer func() { v.close() }()
		if v.outline, err = outlineOf(ctx, l); err != nil {
			return logtree.Named(l.Path, err)
		}
		dst, err = v.run()
		if errors.Is(err, ErrConverted) && v.restores() {
			// The old records and what was added to the copy do not convert back to the copy. If nothing is restored, all of it is carried.
			v.close()
			v = &conversion{store: s, ctx: ctx, src: from, to: to, opt: opt, outline: v.outline, anew: true}
			dst, err = v.run()
		}
		if err != nil {
			return err
		}
		if report, err = v.report(dst); err != nil {
			err = errors.Join(err, dst.Delete(context.WithoutCancel(ctx)))
			dst = nil
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

func sideOf(l *logtree.Log, blobs logtree.Blobs) side { return side{l.Path, l.Dialect, l.Tree, blobs} }

// composer returns the dialect to convert to, or the reason why the session cannot be converted to it. all are the known dialects.
func composer(src side, d dialect.Dialect, all []dialect.Dialect) (dialect.ComposingDialect, error) {
	to, ok := dialect.AsComposer(d)
	switch {
	case d == src.dialect:
		same := &SameError{Dialect: d}
		if i := slices.IndexFunc(all, func(o dialect.Dialect) bool { return o != d && o.Family() == d.Family() }); i >= 0 {
			same.Other = all[i]
		}
		return to, same
	case !ok:
		return to, fmt.Errorf("converting to %s is %w: no program of today reads what is new there", d.Name(), store.ErrUnsupported)
	case src.tree.Header().Raw == nil && src.tree.Len() == 0:
		return to, fmt.Errorf("%w: it is empty", logtree.ErrNotSession)
	}
	return to, nil
}

// conversion makes one session from another, in rounds. A passage that does not come back when the new session is converted back is carried
// along in the next round, until everything comes back.
type conversion struct {
	store *store.Store
	ctx   context.Context
	src   side
	to    dialect.ComposingDialect
	opt   Options

	cross    *crossing
	head     [][]byte // records before the entries
	carried  []bool   // by passage
	all      bool     // all passages are carried: the source has no room for what the target's records need
	eased    []bool   // by passage: carried for the way back alone; nil until easeTheWayBack has run
	loose    bool     // the way back carries entries that stand for none
	inner    bool     // it is the way back of another conversion, and needs no way back of its own
	anew     bool     // everything is converted, and nothing restored
	header   bool     // the header carries the old one
	outline  outline
	ledger   ledger
	progress bool  // this round carries more than the one before
	owner    []int // the passage of each record
}

// close releases the temporary records.
func (v *conversion) close() {
	if v.cross != nil {
		_ = v.cross.pile.Close() // nothing is read from it any more
	}
}

func (v *conversion) crossing(s side, to dialect.ComposingDialect) *crossing {
	c := newCrossing(s.tree, s.dialect, to)
	c.random, c.now, c.stopped = v.opt.Write.Random, v.opt.Write.Clock, v.ctx.Err
	c.resolve = func(m []byte) ([]byte, error) { return s.blobs.Resolve(v.ctx, m, nil) }
	c.whole = func(e session.Entry) ([]byte, error) {
		raw, _, err := s.blobs.Whole(v.ctx, e)
		return raw, err
	}
	return c
}

// translate makes the records, without origins.
func (v *conversion) translate() (err error) {
	v.cross = v.crossing(v.src, v.to)
	v.cross.fresh, v.cross.writes, v.cross.anew = v.opt.Fresh && !v.inner, !v.inner, v.anew
	if v.opt.Leaf != nil {
		leaf, err := v.cross.meant(*v.opt.Leaf)
		if err != nil {
			return err
		}
		v.cross.leaf = &leaf
	}
	if !v.inner && v.opt.Dir == "" {
		v.cross.cwd = v.store.WorkDir(v.to.Dialect, "")
	}
	if err = v.cross.run(); err == nil {
		v.head, err = v.cross.headRecords()
	}
	return err
}

// run makes the new session. The records are compared in memory before the log is created, unless they are settled. If the log differs when
// it is read back, or the conversion is cancelled, the log is removed.
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
	log, err := v.fill(persist, v.made(draft.Path(), n, v.store.Blobs(draft.Path(), v.to.Dialect)))
	if err != nil {
		return nil, errors.Join(err, draft.Discard())
	}
	sess, err := v.store.CreateFrom(v.ctx, draft, log.Each())
	if err := errors.Join(err, log.Close()); err != nil {
		return nil, err
	}
	if err = v.verify(sess); err == nil {
		err = v.register(sess)
	}
	if err != nil {
		return nil, errors.Join(err, sess.Delete(context.WithoutCancel(v.ctx)))
	}
	return sess, nil
}

// register gives the new session its name if its agent keeps names apart from the logs. A log outside the agent's folder has no such name.
func (v *conversion) register(sess *store.Session) error {
	if _, ok := v.to.Dialect.(dialect.Registrar); !ok || v.cross.newOf.Title == "" {
		return nil
	}
	if err := sess.Rename(v.ctx, v.cross.newOf.Title); !errors.Is(err, store.ErrUnsupported) {
		return err
	}
	return nil
}

// made returns a function that reads a log as the new session before it is written.
func (v *conversion) made(path string, n dialect.NewSession, blobs blob.Reader) func(*pile.Sheet) (side, error) {
	return func(log *pile.Sheet) (side, error) {
		tree, err := log.Read(v.to.Dialect, path, n)
		return side{path, v.to.Dialect, tree, logtree.Blobs{Path: path, Dialect: v.to.Dialect, Reader: blobs}}, err
	}
}

// fill puts the records together and finds what must be carried along so that nothing is lost. persist, if not nil, changes a record as the
// agent would before storing it.
func (v *conversion) fill(persist func(record []byte) (kept []byte, final bool, err error), made func(*pile.Sheet) (side, error)) (*pile.Sheet, error) {
	if err := v.addTitle(); err != nil {
		return nil, logtree.Named(v.src.path, err)
	}
	for _, p := range v.cross.passages {
		for i, at := range p.records {
			if persist == nil || p.restored || p.custom != nil {
				continue
			}
			r, err := v.cross.pile.Bytes(at)
			if err != nil {
				return nil, err
			}
			kept, final, err := persist(r)
			switch {
			case err == nil && !bytes.Equal(kept, r):
				p.records[i] = v.cross.pile.Put(kept)
			case final:
				return nil, err
			} // after any other error the record stays as it was
		}
		// A custom entry in the place of another holds nothing but its origin.
		v.carried = append(v.carried, !p.restored && (p.custom != nil || p.script))
	}
	if len(v.head) == 0 && len(v.cross.passages) == 0 {
		return nil, logtree.Named(v.src.path, fmt.Errorf("it has no message: a session of %s without any is %w", v.to.Dialect.Name(), store.ErrUnsupported))
	}
	if err := v.addLeaf(made); err != nil {
		return nil, logtree.Named(v.src.path, err)
	}
	// A copy has an id of its own, so its header always names the old one.
	if v.cross.back == nil {
		v.header = true
		v.ledger.note("", "header", Carried)
		if v.outline.slot != nil {
			v.ledger.note("", "slot", Carried)
		}
	}
	v.cross.rest()
	for {
		log, err := v.log()
		if err != nil || v.settled() {
			return log, logtree.Named(v.src.path, err)
		}
		more, err := v.round(log, made)
		if err == nil && !more {
			return log, nil
		}
		if err = errors.Join(err, log.Close()); err != nil {
			return nil, logtree.Named(v.src.path, err)
		}
	}
}

// round compares the new log with the old session. more reports whether another round must carry more.
func (v *conversion) round(log *pile.Sheet, made func(*pile.Sheet) (side, error)) (more bool, err error) {
	v.progress = false
	read, err := made(log)
	if err != nil {
		return false, err
	}
	// note marks what is lost as carried. It sets progress if the next round will differ.
	wrong, err := v.compare(read, v.note)
	switch {
	case err == nil && wrong && !v.progress:
		return false, ErrConverted // nothing more can be carried
	case err != nil || wrong:
		return wrong, err
	}
	return v.easeTheWayBack(read)
}

// settled reports whether the first round is the last. Converted by a script, every passage carries its origin. On the way back, which is
// by a script too, records that stand for no entry become no record. Such a session may be large and is not held in memory twice: it is
// compared only after it is written.
func (v *conversion) settled() bool { return v.cross.scripted && !v.inner }

// add appends an entry that stands for no entry of the old session. References to it mean the leaf.
func (c *crossing) add(seed string, n dialect.NewEntry) (session.EntryID, error) {
	var err error
	if n.ID, err = c.freshID(seed); err != nil {
		return "", err
	}
	n.Time, n.Header = c.clock, &c.header
	record, err := c.to.Record(n)
	if err != nil {
		return "", err
	}
	c.passages = append(c.passages, &passage{records: []session.Span{c.pile.Put(record)}, head: c.leafID(), tip: c.leafID()})
	return n.ID, nil
}

// addLeaf moves the leaf of the new session to that of the old one. In a linear session the leaf is the last entry, and a restored session
// has its own entries for it.
func (v *conversion) addLeaf(made func(*pile.Sheet) (side, error)) error {
	c := v.cross
	if last := len(c.passages) - 1; c.linear || last >= 0 && c.passages[last].restored {
		return nil
	}
	var log pile.Sheet // without origins: they do not move the leaf
	defer log.Close()
	for _, r := range v.head {
		log.Add(r)
	}
	if err := c.copyTo(&log, c.passages); err != nil {
		return err
	}
	read, err := made(&log)
	if err != nil {
		return err
	}
	tree := read.tree
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
	e := dialect.NewEntry{Parent: tree.LeafID(), Body: session.Leaf{Target: want}}
	if habits.LeafType != "" {
		e.Parent, e.Body = want, session.Custom{Type: habits.LeafType}
	}
	v.carried = append(v.carried, false)
	_, err = c.add("leaf", e)
	if errors.Is(err, store.ErrUnsupported) {
		v.carried = v.carried[:len(v.carried)-1]
		v.ledger.note("", "leaf", Carried) // the leaf of the new session is its last entry
		return nil
	}
	return err
}
