package convert

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/treeline-dev/treeline/convert/origin"
	"github.com/treeline-dev/treeline/convert/pile"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/shortid"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/session"
)

// passage is some entries of a session and the records of another dialect that stand for them. Usually it is one entry and one record.
type passage struct {
	// entries are the indexes of the entries that the records express; extra are those that the records only carry.
	entries, extra []int
	records        []session.Span // in the pile of the crossing
	// custom is set if the record is a custom entry that holds nothing but an origin.
	custom *dialect.NewEntry
	// restored reports whether the records come from an origin; at has their old indexes.
	restored bool
	at       []int
	// script reports whether a script made the passage. Only an origin restores its entries. made are its records that wait for their
	// frames.
	script bool
	made   []framing
	// head and tip are the entries that references to the first and last record mean.
	head, tip session.EntryID
}

// crossing converts the entries of a tree to another dialect.
type crossing struct {
	tree *session.Tree
	from dialect.Dialect
	to   dialect.ComposingDialect
	// resolve replaces references to blobs by their content; whole returns a record with its cut strings restored.
	resolve func(message []byte) ([]byte, error)
	whole   func(e session.Entry) ([]byte, error)
	random  io.Reader
	now     func() time.Time
	stopped func() error // says that the conversion was cancelled
	// leaf, if set, is the end of the only path to convert.
	leaf *session.EntryID
	pile pile.Pile // the records

	// The rest is filled in by run. Slices marked with * have an element for each entry.
	ofRun     bool            // the source is the log of a run
	replays   bool            // the messages of the target are made from whole paths, see script
	framer    dialect.Framer  // nil where the target writes one record for each
	same      bool            // both dialects are of one family: messages are copied, not composed
	scripted  bool            // it was converted by a script
	linear    bool            // the target has no branches
	onPath    []int           // the entries to convert, in order
	asked     []bool          // * on the path to leaf; nil for all
	pos       int             // in onPath: the entry that is converted
	before    int             // the last entry for which after is known, -1 for none
	origins   []*origin.Found // *
	done      []bool          // *
	passages  []*passage
	passageOf []*passage                          // *
	repeated  map[int]int                         // see chooseRepeats
	first     map[session.EntryID]session.EntryID // the id of the first record that an entry became
	last      map[session.EntryID]session.EntryID // the id of the last one
	used      map[session.EntryID]bool
	tools     map[string]string // names of tools by the ids of calls
	after     []state           // *
	recent    []string          // the messages of a run since the last answer; see follow
	tip       session.EntryID   // the last record, in linear targets
	header    session.Header    // of the new session
	clock     time.Time         // the time of the last entry that has one
	latest    time.Time         // the latest time of all entries
	dropped   []int             // entries off the path, or that nothing can carry
	homeless  []int             // entries that only the header can carry
	prompt    string            // the name of a session that has none, see ownPrompt
	newOf     dialect.NewSession
	cwd       string         // of the new session if the old one names none
	fresh     bool           // the id is a new one, whatever the old session is
	writes    bool           // the session will be written, and is not only compared
	anew      bool           // no entry is restored
	back      *origin.Origin // the header's origin, if the session is converted back
}

// state is what holds after an entry, on its path.
type state struct {
	model session.ModelRef // in use
	said  string           // the model that the target's records name up to there
	calls openCalls        // the calls that a result may answer
}

// newCrossing returns a crossing. The caller sets resolve, whole, random, now and stopped before run.
func newCrossing(t *session.Tree, from dialect.Dialect, to dialect.ComposingDialect) *crossing {
	_, ofRun := from.(dialect.Runs)
	framer, _ := to.Dialect.(dialect.Framer)
	n := t.Len()
	empty, _ := logtree.FromRecords(to.Dialect, "", session.Header{}, nil, nil) // there is no record to fail at
	return &crossing{
		replays: empty.Tree.Replayed(), framer: framer,
		before: -1, ofRun: ofRun, tree: t, from: from, to: to, same: from.Family() == to.Dialect.Family(), linear: !to.Habits().Branches,
		origins: make([]*origin.Found, n), done: make([]bool, n), passageOf: make([]*passage, n), after: make([]state, n),
		used: make(map[session.EntryID]bool, n), tools: map[string]string{},
		first: map[session.EntryID]session.EntryID{}, last: make(map[session.EntryID]session.EntryID, n),
	}
}

// run converts the entries in the order of the log, since each may depend on what those before it became. Entries with an origin are
// restored, not converted.
func (c *crossing) run() error {
	if d, ok := c.from.(dialect.Composer); ok {
		var err error
		if c.origins, err = origin.Find(c.tree, d, c.to.Dialect.Name(), &c.pile); err != nil {
			return err
		}
		if o, ok := origin.Whole(c.tree, d, c.to.Dialect.Name(), c.origins); ok {
			c.back = &o
		} else if _, ok := c.to.Dialect.(dialect.Stamper); ok && c.writes {
			clear(c.origins) // they are of another session, which its records name
		}
		if c.anew {
			clear(c.origins)
		}
	}
	if err := c.path(); err != nil {
		return err
	}
	if err := c.begin(); err != nil {
		return err
	}
	c.chooseRepeats()
	if c.back != nil && !c.tree.Header().InEntry && len(c.back.Records) > 0 {
		p := &passage{restored: true, head: c.back.Head, tip: c.back.Tip}
		p.records, p.at = c.back.Put(&c.pile)
		c.settle(p)
	}
	// New ids must differ from those that entries keep, including entries that come later.
	for e := range c.tree.Entries() {
		c.used[e.ID] = true
	}
	if c.scripted = c.byScript(); c.scripted {
		if err := c.perform(); err != nil {
			return err
		}
	} else {
		if err := c.each(); err != nil {
			return err
		}
		if err := c.frame(); err != nil {
			return err
		}
	}
	c.attach()
	// The header has the time of the last save: that of the newest entry.
	if c.to.Habits().SavedWhole {
		c.newOf.Time = c.latest
	}
	return nil
}

// rest frees what is not needed once all records are made: several large sessions may be converted at once.
func (c *crossing) rest() {
	c.origins, c.done, c.passageOf, c.after, c.onPath, c.asked = nil, nil, nil, nil, nil, nil
	c.repeated, c.first, c.last, c.used, c.tools = nil, nil, nil, nil, nil
}

// each converts the entries one after the other.
func (c *crossing) each() error {
	for pos, i := range c.onPath {
		c.pos = pos
		if c.done[i] {
			continue
		}
		if o := c.origins[i]; o != nil {
			c.restore(o)
			continue
		}
		e := c.tree.At(i)
		p, err := c.entry(e, pos)
		if err != nil {
			return err
		}
		c.done[i] = true
		c.settle(p)
	}
	return nil
}

// meant returns the entry that a wanted leaf means. An entry that moves the leaf means its target: the path to it ends with what was left.
// If there is no such target, the leaf was not moved.
func (c *crossing) meant(leaf session.EntryID) (session.EntryID, error) {
	e, ok := c.tree.Lookup(leaf)
	switch {
	case !ok: // path reports it
		return leaf, nil
	case c.isLeafMark(e):
		return e.Parent, nil
	case e.Kind != session.KindLeaf:
		return leaf, nil
	}
	body, err := e.Body()
	if err != nil {
		return "", err
	}
	if b, ok := body.(session.Leaf); ok {
		if _, ok := c.tree.Lookup(b.Target); ok || b.Target == "" {
			return b.Target, nil
		}
	}
	return leaf, nil
}

// leafID returns the leaf of what is converted.
func (c *crossing) leafID() session.EntryID {
	if c.leaf != nil {
		return *c.leaf
	}
	return c.tree.LeafID()
}

// path finds the entries to convert: all of them, or those on the path to the leaf.
func (c *crossing) path() error {
	t := c.tree
	if c.leaf == nil && !c.linear {
		for i := range t.Len() {
			c.onPath = append(c.onPath, i)
		}
		return nil
	}
	leaf := c.leafID()
	path, err := t.Path(leaf)
	if err != nil {
		return err
	}
	c.asked = make([]bool, t.Len())
	compacted := false
	for _, e := range path.Entries() {
		c.onPath = append(c.onPath, e.Index)
		c.asked[e.Index] = true
		compacted = compacted || e.Kind == session.KindCompaction
	}
	// Such a session holds only what the model sees now.
	if compacted && c.to.Habits().HoldsNow() {
		return c.current(leaf)
	}
	return nil
}

// current narrows onPath to what the model sees at the leaf: the last summary, what it kept, and what came after.
func (c *crossing) current(leaf session.EntryID) error {
	seen, err := session.BuildContext(c.tree, leaf, session.ContextOptions{})
	if err != nil {
		return err
	}
	c.onPath = nil
	for e := range seen.Entries() {
		c.onPath = append(c.onPath, e.Index)
	}
	return nil
}

// begin makes the header of the new session.
func (c *crossing) begin() error {
	h := c.tree.Header()
	at, ok := h.Timestamp.Time()
	if !ok && h.Raw != nil {
		at, ok = c.from.Codec().Time(h.Raw).Time() // another time than that of the beginning
	}
	if !ok {
		at = c.now()
	}
	// Operator writes times in microseconds: a finer time would not come back.
	at = at.Round(time.Microsecond)
	c.clock, c.latest = at, at
	n := dialect.NewSession{Time: at, CWD: h.CWD, Parent: h.Parent}
	if c.back != nil { // the session had that id: it only has to be a valid file name
		if dialect.CheckFileID(c.back.Session) == nil && !c.fresh {
			n.ID = c.back.Session
		}
		if began, ok := c.to.Dialect.Codec().Time(c.back.Header.Bytes()).Time(); ok {
			n.Time = began
		}
	} else {
		n.CWD = cmp.Or(n.CWD, c.cwd)
	}
	var err error
	if n.ID == "" {
		if n.ID, err = c.newID(c.began(at), h.ID); err != nil {
			return err
		}
	}
	if c.prompt, err = c.ownPrompt(n); err != nil {
		return err
	}
	if habits := c.to.Habits(); !habits.RenameByEntry && !habits.Nameless {
		n.Title = c.title()
	}
	c.newOf = n
	c.header = session.Header{ID: n.ID, CWD: n.CWD, Parent: n.Parent}
	return nil
}

// newID returns the id for a copy of a session. It depends on the old id, so that a second conversion is noticed.
func (c *crossing) newID(began time.Time, old session.ID) (session.ID, error) {
	seed := sha256.Sum256(fmt.Appendf(nil, "%s/%s", c.to.Dialect.Name(), old))
	if old == "" || c.fresh {
		if _, err := io.ReadFull(c.random, seed[:]); err != nil {
			return "", err
		}
	}
	id, err := c.to.NewID(began, bytes.NewReader(seed[:]))
	if err != nil || shortOf(id) != shortOf(old) {
		return id, err
	}
	// The ids of many agents begin with the time, so the old session and its copy would have the same short id. An id with a time a few
	// minutes earlier begins differently: the first 8 digits of a UUID of version 7 change every 65 s.
	const step = 66 * time.Second
	steps := 1 + seed[len(seed)-1]%16 // copies for several agents mostly differ, too
	return c.to.NewID(began.Add(-time.Duration(steps)*step), bytes.NewReader(seed[:]))
}

// shortOf returns the part of an id that lists show.
func shortOf(id session.ID) session.ID { return id[:min(len(id), shortid.Least)] }

// began returns the time for an id, which may contain it: no session begins after its last entry.
func (c *crossing) began(header time.Time) time.Time {
	for _, i := range slices.Backward(c.onPath) {
		if at, err := c.tree.At(i).Time(); err == nil {
			if last, ok := at.Time(); ok {
				if last.Before(header) {
					return last
				}
				break
			}
		}
	}
	return header
}

// learn notes the model, the names of tools and the calls of an entry that is restored as the given records: later entries may need them.
// A result that a conversion made is not in these records, so its call still waits for one.
func (c *crossing) learn(e session.Entry, records []session.Span) {
	body, err := e.Body()
	if err != nil {
		return // it names neither
	}
	c.inherit(e, body)
	switch b := body.(type) {
	case session.ModelChange:
		c.after[e.Index].said = b.Provider + "/" + b.ModelID
	case session.Message:
		parts := c.parts(b.JSON)
		c.noteTools(e, b.Role, parts)
		others, results := dialect.Results(parts)
		for _, r := range results {
			if !c.made(r, records) {
				c.take(e, r.CallID)
			}
		}
		if _, sent := c.sent(b.Role, b.JSON); sent != nil && dialect.Speaks(dialect.Prose(others)) && c.after[e.Index].calls.at != e.Index {
			c.after[e.Index].calls = openCalls{} // a result after it would not directly follow its call
		}
	}
}

// settle adds a passage; nil stands for an entry without a record, see attach. Entries of another log that this log continues are left out:
// on the way back the header names that log, and they become no record.
func (c *crossing) settle(p *passage) {
	if p == nil {
		return
	}
	p.entries = slices.DeleteFunc(p.entries, func(i int) bool { return c.tree.At(i).Foreign() })
	c.passages = append(c.passages, p)
	for _, i := range p.entries {
		c.passageOf[i] = p
	}
}

// attach adds entries without a record to the passage before them, which carries them. Entries before all passages are added to the first.
func (c *crossing) attach() {
	at := -1
	fresh := slices.DeleteFunc(slices.Clone(c.passages), func(p *passage) bool { return p.restored })
	number := make(map[*passage]int, len(fresh))
	for k, p := range fresh {
		number[p] = k
	}
	if len(fresh) > 0 {
		at = 0
	}
	var loose []int  // entries to carry
	var before []int // the passage before each
	size := int64(0)
	for i := range c.tree.Len() {
		if p := c.passageOf[i]; p != nil {
			if k, ok := number[p]; ok {
				at = k
			}
			continue
		}
		if c.tree.At(i).Foreign() {
			continue // the log does not have it
		}
		switch {
		// It is off the path, or there is neither a record nor a header to carry it.
		case c.leaf != nil && !c.asked[i] || at < 0 && (c.back != nil || c.to.Habits().Headerless):
			c.dropped = append(c.dropped, i)
		case at < 0:
			c.homeless = append(c.homeless, i)
		default:
			loose, before = append(loose, i), append(before, at)
			size += c.tree.At(i).Span.Length
		}
	}
	c.spread(fresh, loose, before, size)
}

// muchCarried is how many bytes a passage carries before others help it.
const muchCarried = 1 << 20

// spread adds entries to the passages before them. The path may be short and the rest of the session long. Then the following passages
// carry part of the rest, so that no record becomes as large as the session.
func (c *crossing) spread(passages []*passage, loose, before []int, size int64) {
	if len(loose) == 0 {
		return
	}
	carried := make([]int64, len(passages))
	most := max(muchCarried, 2*size/int64(len(passages)))
	for k, i := range loose {
		at := before[k]
		for carried[at] >= most { // some passage is below the limit: together they carry at most half of their limits
			at = (at + 1) % len(passages)
		}
		passages[at].extra = append(passages[at].extra, i)
		carried[at] += c.tree.At(i).Span.Length
	}
}

// firstOf returns the id of the first record that an entry became. An id that names no entry of the old session is returned unchanged.
func (c *crossing) firstOf(id session.EntryID) session.EntryID { return renamed(c.first, id) }

// lastOf returns the id of the last record that an entry became; see firstOf.
func (c *crossing) lastOf(id session.EntryID) session.EntryID { return renamed(c.last, id) }

func renamed(ids map[session.EntryID]session.EntryID, id session.EntryID) session.EntryID {
	if to, ok := ids[id]; ok {
		return to
	}
	return id
}

// freshID makes an id for a record that no single entry became. The same seed gives the same id, so that a second conversion gives the same
// session. Some agents keep the messages of all sessions in one table, so the ids of their records also depend on the session.
func (c *crossing) freshID(seed string) (session.EntryID, error) {
	if c.replays {
		seed = string(c.newOf.ID) + "/" + seed
	}
	for k := range 100 {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", seed, k))
		id, err := c.to.NewEntryID(bytes.NewReader(sum[:]))
		if err != nil {
			return "", err
		}
		if !c.used[id] {
			c.used[id] = true
			return id, nil
		}
	}
	return "", errors.New("no free entry id found in 100 tries")
}

// timeOf returns the time of an entry or, if it has none, that of the entry before it. The clock may go back, as times in logs do.
func (c *crossing) timeOf(raw []byte) time.Time {
	if at, ok := c.from.Codec().Time(raw).Time(); ok {
		c.clock = at.Round(time.Microsecond)
	}
	if c.clock.After(c.latest) {
		c.latest = c.clock
	}
	return c.clock
}

func isNumber(value []byte) bool {
	return dialect.IsNumber(value) && rawjson.Valid(value)
}
