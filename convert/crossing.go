package convert

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// passage is some entries of a session and the records, in another dialect, that stand for them: usually one for one.
type passage struct {
	// entries are indexes into the tree: those that the records say, then extra, which no record can say.
	entries, extra []int
	records        [][]byte
	// custom is set where the record is a custom entry that says nothing but what it carries.
	custom *dialect.NewEntry
	// restored: the records are what they were before the session was converted; at has their places.
	restored bool
	at       []int
	// head and tip are the entries that references to the first and last record mean.
	head, tip session.EntryID
}

// crossing converts the entries of a tree to another dialect.
type crossing struct {
	tree *session.Tree
	from dialect.Dialect
	to   dialect.ComposingDialect
	// resolve puts blobs in their places; whole gives records with what was cut off.
	resolve func(message []byte) ([]byte, error)
	whole   func(e session.Entry) ([]byte, error)
	random  io.Reader
	now     func() time.Time
	// leaf, if set, is the end of the only path that is wanted.
	leaf *session.EntryID

	// The rest is what run finds out on its way. What is known of an entry is kept by its index in the tree; ids are only
	// for what names entries by them.
	same      bool // both dialects are of one family: messages need not be composed anew
	linear    bool
	onPath    []int        // what is converted, in order
	asked     map[int]bool // what was asked for, where that is not all
	origins   map[int]*foundOrigin
	done      map[int]bool
	passages  []*passage
	passageOf map[int]*passage
	first     map[session.EntryID]session.EntryID
	last      map[session.EntryID]session.EntryID
	used      map[session.EntryID]bool
	tools     map[string]string        // names of tools by the ids of calls
	models    map[int]session.ModelRef // the model after an entry
	said      map[int]string           // the model that records of the target have named by then
	tip       session.EntryID          // of the last record, in linear targets
	header    session.Header           // of the new session
	clock     time.Time                // of the last entry that had one
	latest    time.Time                // of all
	dropped   []int                    // entries off the path that was asked for, or without a place
	homeless  []int                    // entries that no record can carry: the header does
	newOf     dialect.NewSession
	back      *origin // the header's, where the session is converted back
}

// newCrossing begins a crossing. resolve, whole, random and now are for the caller to set before run.
func newCrossing(t *session.Tree, from dialect.Dialect, to dialect.ComposingDialect) *crossing {
	return &crossing{
		tree: t, from: from, to: to, same: from.Family() == to.Dialect.Family(), linear: !to.Habits().Branches,
		done: map[int]bool{}, passageOf: map[int]*passage{}, used: map[session.EntryID]bool{}, tools: map[string]string{},
		first: map[session.EntryID]session.EntryID{}, last: map[session.EntryID]session.EntryID{},
		models: map[int]session.ModelRef{}, said: map[int]string{},
	}
}

// run converts everything. First what the session carries of one that it was made from: those records are taken over as
// they are, and only the rest is converted. Then the entries in the order of the log, since each may need what those before
// it became.
func (c *crossing) run() error {
	if d, ok := c.from.(dialect.Composer); ok {
		var err error
		if c.origins, err = origins(c.tree, d, c.to.Dialect.Name()); err != nil {
			return err
		}
		if o, ok := headerOrigin(c.tree, d, c.to.Dialect.Name(), c.origins); ok {
			c.back = &o
		}
	}
	if err := c.path(); err != nil {
		return err
	}
	if err := c.begin(); err != nil {
		return err
	}
	if c.back != nil && !c.tree.Header().InEntry && len(c.back.Records) > 0 {
		c.settle(c.back.passage())
	}
	// Ids that are made for records must not meet those that entries keep, also of entries that come later.
	for e := range c.tree.Entries() {
		c.used[e.ID] = true
	}
	for pos, i := range c.onPath {
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
	c.attach()
	// Its header has the time of the last save, which is that of the newest entry.
	if c.to.Habits().SavedWhole {
		c.newOf.Time = c.latest
	}
	return nil
}

// leafID is the end of what is converted.
func (c *crossing) leafID() session.EntryID {
	if c.leaf != nil {
		return *c.leaf
	}
	return c.tree.LeafID()
}

// path decides what is converted: all entries, or those on the way to the leaf.
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
	c.asked = map[int]bool{}
	compacted := false
	for _, e := range path.Entries() {
		c.onPath = append(c.onPath, e.Index)
		c.asked[e.Index] = true
		compacted = compacted || e.Kind == session.KindCompaction
	}
	// Such a session holds what the model sees now, and nothing of what was compacted.
	if compacted && c.to.Habits().SavedWhole {
		return c.current(leaf)
	}
	return nil
}

// current keeps what the model sees at the leaf: the last summary, what it kept, and what came after.
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
		at, ok = c.from.Codec().Time(h.Raw).Time() // it may say something else than when it began
	}
	if !ok {
		at = c.now()
	}
	// Operator spells times to the microsecond: what is finer would not come back.
	at = at.Round(time.Microsecond)
	c.clock, c.latest = at, at
	n := dialect.NewSession{ID: h.ID, Time: at, CWD: h.CWD, Parent: h.Parent}
	check := c.to.CheckID
	if c.back != nil { // it had that id, whatever anybody thinks of it
		n.ID, check = c.back.Session, dialect.CheckFileID
		if began, ok := c.to.Dialect.Codec().Time(c.back.Header.bytes()).Time(); ok {
			n.Time = began
		}
	}
	// The id is kept wherever the target allows it: so a session and its copy in another format are known to belong
	// together.
	if n.ID == "" || check(n.ID) != nil {
		var err error
		if n.ID, err = c.to.NewID(at, c.random); err != nil {
			return err
		}
	}
	if habits := c.to.Habits(); !habits.RenameByEntry && !habits.Nameless {
		n.Title = c.title()
	}
	c.newOf = n
	c.header = session.Header{ID: n.ID, CWD: n.CWD, Parent: n.Parent}
	return nil
}

// title is the name of the session: the header's, or what the last entry about it says.
func (c *crossing) title() string {
	if h := c.tree.Header(); h.Title != "" {
		return h.Title
	}
	return c.lastName()
}

func (c *crossing) lastName() string {
	for i := c.tree.Len() - 1; i >= 0; i-- {
		if e := c.tree.At(i); e.Kind == session.KindSessionInfo && (c.leaf == nil || c.asked[i]) {
			if body, err := e.Body(); err == nil {
				if info, ok := body.(session.SessionInfo); ok {
					return info.Name
				}
			}
		}
	}
	return ""
}

// restore takes over the records that entries were converted from. What is restored answers for itself: its ids are those
// that other restored records name.
func (c *crossing) restore(o *foundOrigin) {
	p := o.passage()
	for i := o.first; i <= o.last; i++ {
		id := c.tree.At(i).ID
		c.first[id], c.last[id] = o.Head, o.Tip
		c.learn(c.tree.At(i))
		c.done[i] = true
		p.entries = append(p.entries, i)
	}
	c.tip = o.Tip
	c.settle(p)
}

// learn takes from an entry that is not converted itself what others need to know: models, and the names of tools.
func (c *crossing) learn(e session.Entry) {
	body, err := e.Body()
	if err != nil {
		return // nobody needs it
	}
	c.inherit(e, body)
	switch b := body.(type) {
	case session.ModelChange:
		c.said[e.Index] = b.Provider + "/" + b.ModelID
	case session.Message:
		c.noteTools(c.parts(b.JSON))
	}
}

// noteTools remembers the names of tools: some agents name them in calls alone.
func (c *crossing) noteTools(parts []session.Part) {
	for _, part := range parts {
		if call, ok := part.(session.ToolCall); ok {
			c.tools[call.ID] = call.Name
		}
	}
}

// settle takes a passage in; nil is an entry without a record, which attach sees to.
func (c *crossing) settle(p *passage) {
	if p == nil {
		return
	}
	c.passages = append(c.passages, p)
	for _, i := range p.entries {
		c.passageOf[i] = p
	}
}

// attach gives entries that have no record of their own to the passage before them, to be carried along. Entries before the
// first passage go with that one.
func (c *crossing) attach() {
	if len(c.passageOf) == c.tree.Len() {
		return
	}
	var at *passage
	for _, p := range c.passages {
		if !p.restored {
			at = p
			break
		}
	}
	for i := range c.tree.Len() {
		if p := c.passageOf[i]; p != nil {
			if !p.restored {
				at = p
			}
			continue
		}
		switch {
		// Off the path that was asked for; or there is neither a record nor a header to carry it.
		case c.leaf != nil && !c.asked[i] || at == nil && (c.back != nil || c.to.Habits().Headerless):
			c.dropped = append(c.dropped, i)
		case at == nil:
			c.homeless = append(c.homeless, i)
		default:
			at.extra = append(at.extra, i)
		}
	}
}

// firstOf and lastOf say what an entry is called in the new session.
func (c *crossing) firstOf(id session.EntryID) session.EntryID {
	if to, ok := c.first[id]; ok {
		return to
	}
	return id
}

func (c *crossing) lastOf(id session.EntryID) session.EntryID {
	// An id that nothing became is kept: it named nothing in the old session either, or what keeps its id.
	if to, ok := c.last[id]; ok {
		return to
	}
	return id
}

// freshID makes an id for a record that stands for no entry alone. It is the same for the same seed, so that converting there
// and back makes no difference.
func (c *crossing) freshID(seed string) (session.EntryID, error) {
	// More tries than any session needs: ids are eight hex digits at least.
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

// timeOf is when an entry was made; one that does not say was made with the one before.
func (c *crossing) timeOf(raw []byte) time.Time {
	// The clock may go back, as times in logs do; latest does not.
	if at, ok := c.from.Codec().Time(raw).Time(); ok {
		c.clock = at.Round(time.Microsecond)
	}
	if c.clock.After(c.latest) {
		c.latest = c.clock
	}
	return c.clock
}

func isNumber(value []byte) bool {
	return len(value) > 0 && (value[0] == '-' || value[0]-'0' <= 9) && rawjson.Valid(value)
}
