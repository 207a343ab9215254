package convert

import (
	"crypto/sha256"
	"errors"
	"slices"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/session"
)

// A script is the other way to convert a session. Where an agent makes the messages of a context from the path as a whole
// (session.Replayer), an entry alone does not say what the model sees of it. So each branch is converted from the messages
// that the model sees at its tip. Branches share the messages that they have in common. What is in no message is carried
// along.

// node is a message of the script in the new session, with all before it.
type node struct {
	key [sha256.Size]byte
	// id is the last record up to here; "" where there is none.
	id    session.EntryID
	at    time.Time
	model string // that the records name up to here
}

// script is the state of converting by a script.
type script struct {
	*crossing
	nodes map[[sha256.Size]byte]node
	// compacted has what compactions became, by their position.
	compacted map[int]node
	work      int // entries on the paths so far
}

// errMixed: an entry that changed stands before one with an origin, so that the old records do not fit any more.
var errMixed = errors.New("restored entries follow changed ones")

// byScript reports whether the messages of one of the sessions are made from whole paths. The log of a run is always
// converted by its entries: what the model saw is in its requests.
func (c *crossing) byScript() bool {
	if c.ofRun || c.same {
		return false
	}
	return c.tree.Replayed() || logtree.FromRecords(c.to.Dialect, "", session.Header{}, nil).Tree.Replayed()
}

// perform converts by a script.
func (c *crossing) perform() error {
	passages, dropped := c.passages, c.dropped
	err := c.play()
	if errors.Is(err, errMixed) {
		c.passages, c.dropped = passages, dropped
		clear(c.origins)
		clear(c.done)
		clear(c.passageOf)
		err = c.play()
	}
	return err
}

// play converts each branch.
func (c *crossing) play() error {
	s := &script{crossing: c, nodes: map[[sha256.Size]byte]node{}, compacted: map[int]node{}}
	for i, o := range c.origins {
		if o != nil && !c.done[i] {
			c.restore(o)
		}
	}
	tips, err := s.tips()
	if err != nil {
		return err
	}
	for _, tip := range tips {
		first := len(c.passages)
		end, err := s.branch(tip)
		if err != nil {
			return err
		}
		if err := s.claim(tip, first); err != nil {
			return err
		}
		c.last[tip], c.tip = end.id, end.id
	}
	return nil
}

// most and more bound the work: paths that share much are read again for each tip. A branch beyond them is carried along.
const (
	most = 64
	more = 100_000
)

// tips gives the ends of the branches in the order of the log, the leaf last.
func (s *script) tips() ([]session.EntryID, error) {
	leaf := s.leafID()
	if leaf == "" && (s.linear || s.leaf != nil) {
		return nil, nil
	}
	covered := make([]bool, s.tree.Len())
	cover := func(id session.EntryID) (last int, err error) {
		path, err := s.tree.Path(id)
		if err != nil {
			return -1, err
		}
		s.work += path.Len()
		last = -1
		for _, e := range path.Entries() {
			covered[e.Index], last = true, e.Index
		}
		return last, nil
	}
	var list []session.EntryID
	if leaf != "" {
		list = append(list, leaf)
		if _, err := cover(leaf); err != nil {
			return nil, err
		}
	}
	if s.linear || s.leaf != nil {
		return list, nil
	}
	for i := len(covered) - 1; i >= 0 && s.work <= most*len(covered)+more; i-- {
		e := s.tree.At(i)
		if covered[i] || !speaks(e) || e.Aside() {
			continue
		}
		// Of entries with one id only the last is found by it.
		if last, err := cover(e.ID); err != nil {
			return nil, err
		} else if last == i {
			list = append(list, e.ID)
		}
	}
	slices.Reverse(list)
	return list, nil
}

// speaks reports whether the model may see something of an entry.
func speaks(e session.Entry) bool {
	switch e.Kind {
	case session.KindMessage, session.KindCustomMessage, session.KindBranchSummary, session.KindCompaction:
		return true
	}
	return false
}

// branch converts what the model sees at an entry and gives its last message.
func (s *script) branch(tip session.EntryID) (node, error) {
	path, err := s.tree.Path(tip)
	if err != nil {
		return node{}, err
	}
	if err := s.unmixed(path); err != nil {
		return node{}, err
	}
	atoms, err := s.context(tip)
	if err != nil {
		return node{}, err
	}
	begin := node{}
	if at, ok := s.compaction(path); ok {
		if begin, atoms, err = s.compact(path, at, atoms); err != nil {
			return node{}, err
		}
	} else if last := s.lastRestored(path); last >= 0 {
		if begin, atoms, err = s.goOn(path.At(last), atoms); err != nil {
			return node{}, err
		}
	}
	for _, u := range s.units(atoms) {
		if begin, err = s.say(begin, u); err != nil {
			return node{}, err
		}
	}
	return begin, nil
}

// unmixed fails where an entry that speaks and has no origin stands before one that has, unless a compaction is between
// them: what it keeps is written again.
func (s *script) unmixed(path session.Path) error {
	changed := false
	for _, e := range path.Entries() {
		switch {
		case e.Kind == session.KindCompaction && s.origins[e.Index] == nil:
			return nil
		case s.origins[e.Index] == nil:
			changed = changed || speaks(e)
		case changed && speaks(e):
			return errMixed
		}
	}
	return nil
}

// lastRestored is the position of the last entry on a path that has an origin, -1 where there is none.
func (s *script) lastRestored(path session.Path) int {
	for k := path.Len() - 1; k >= 0; k-- {
		if s.origins[path.At(k).Index] != nil {
			return k
		}
	}
	return -1
}

// goOn gives the place after the restored entries of a path, and what the model sees after them. Programs join messages, so
// the first of what follows may be in the message of a restored entry: as much of it is new as the message has more now.
func (s *script) goOn(restored session.Entry, atoms []atom) (node, []atom, error) {
	tip := s.origins[restored.Index].Tip
	begin := node{key: sha256.Sum256([]byte(tip)), id: tip, at: s.clock}
	last := -1
	for k, a := range atoms {
		if a.entry >= 0 && s.origins[a.entry] != nil {
			last = k
		}
	}
	if last < 0 {
		return begin, atoms, nil
	}
	before, err := s.context(restored.ID)
	if err != nil {
		return begin, nil, err
	}
	skip := 0 // atoms of the joined message that are old
	for _, a := range before {
		if a.entry == atoms[last].entry {
			skip++
		}
	}
	for k := range atoms {
		if atoms[k].info != atoms[last].info {
			atoms[k].old = k < last
			continue
		}
		atoms[k].old = skip > 0
		skip--
	}
	return begin, atoms, nil
}

// compaction gives the position of the last compaction on a path that hides what comes before it.
func (s *script) compaction(path session.Path) (int, bool) {
	for k := path.Len() - 1; k >= 0; k-- {
		if e := path.At(k); e.Kind == session.KindCompaction && s.origins[e.Index] == nil {
			return k, true
		}
	}
	return 0, false
}

// compact writes the compaction at a position of the path, after what the model saw before it. It gives the place after it
// and what is still to say. A target that is saved as a whole has only what the model sees now.
func (s *script) compact(path session.Path, at int, atoms []atom) (node, []atom, error) {
	e := path.At(at)
	done, again := s.compacted[e.Index]
	if s.to.Habits().SavedWhole {
		return node{}, atoms, nil
	}
	var before node
	if !again && at > 0 {
		var err error
		if before, err = s.branch(path.At(at - 1).ID); err != nil {
			return node{}, nil, err
		}
	}
	k, rest, ok := s.summary(e, atoms)
	if !ok && !s.linear {
		// The target shows a summary first, and this context begins with something else: it becomes a root of its own.
		return node{key: sha256.Sum256([]byte(e.ID)), at: before.at}, atoms, nil
	}
	if again {
		return done, rest, nil
	}
	done, err := s.write(before, e, k)
	s.compacted[e.Index] = done
	return done, rest, err
}

// summary gives the compaction to write for what the model sees after one, and what is to be said after it. ok is false where
// the context does not begin with a summary.
func (s *script) summary(e session.Entry, atoms []atom) (k session.Compaction, rest []atom, ok bool) {
	body, err := e.Body()
	if err != nil {
		return k, atoms, false
	}
	old, _ := body.(session.Compaction)
	if isNumber(old.TokensJSON) {
		k.TokensBefore, k.TokensJSON = old.TokensBefore, old.TokensJSON
	}
	k.ReplacesAll = true
	first := ""
	if len(atoms) > 0 && atoms[0].role == session.RoleUser {
		if t, isText := atoms[0].part.(session.Text); isText {
			first = t.Text
		}
	}
	if s.to.Habits().SummaryFollows {
		k.Summary = first
		return k, atoms, true
	}
	if first == "" {
		return k, atoms, false
	}
	k.Summary = first
	a := atoms[0]
	alone := len(atoms) == 1 || atoms[1].entry != e.Index
	return k, atoms[1:], a.info.Meta || a.entry == e.Index && alone
}

// write writes an entry that is not a message.
func (s *script) write(before node, e session.Entry, body session.Body) (node, error) {
	after := before
	after.key = sha256.Sum256(append(before.key[:], e.ID...))
	after.at = s.later(before, s.timeAt(e))
	id, err := s.freshID(string(after.key[:]))
	if err != nil {
		return before, err
	}
	record, err := s.to.Record(dialect.NewEntry{ID: id, Parent: before.id, Time: after.at, Body: body, Header: &s.header})
	if err != nil {
		return before, nil // the target has no such entry
	}
	after.id = id
	s.enter([]int{e.Index}, [][]byte{record})
	return after, nil
}

// later is a time after that of the message before: programs find the leaf by time.
func (s *script) later(before node, at time.Time) time.Time {
	if next := before.at.Add(time.Millisecond); at.Before(next) {
		return next
	}
	return at
}

// timeAt is the time of an entry, or that of the one before.
func (s *script) timeAt(e session.Entry) time.Time {
	if raw, err := e.Raw(); err == nil {
		return s.timeOf(raw)
	}
	return s.clock
}

// say writes a message after another, unless a branch before did.
func (s *script) say(before node, u unit) (node, error) {
	after := before
	after.key = u.key(before.key)
	if known, ok := s.nodes[after.key]; ok {
		return known, nil
	}
	m := u.NewMessage
	m.Time = s.later(before, m.Time)
	m.ID = string(s.newOf.ID) + "/" + hexKey(after.key)
	bodies, model := s.bodies(m, before.model)
	var records [][]byte
	after.at = m.Time
	for k, body := range bodies {
		id, err := s.freshID(hexKey(after.key) + string(rune('a'+k%26)))
		if err != nil {
			return before, err
		}
		record, err := s.to.Record(dialect.NewEntry{ID: id, Parent: after.id, Time: after.at, Body: body, Header: &s.header})
		if err != nil {
			continue // the target has no such entry
		}
		records = append(records, record)
		after.id, after.model = id, model
		after.at = after.at.Add(time.Millisecond)
	}
	if after.at.After(s.latest) {
		s.latest = after.at
	}
	s.enter(u.entries, records)
	s.nodes[after.key] = after
	return after, nil
}

// bodies composes a message. It gives nothing where the target cannot express it. before is the model that the records
// name up to here, model the one that they name after it.
func (s *script) bodies(m dialect.NewMessage, before string) (list []session.Body, model string) {
	model = before
	messages, err := s.to.Compose(m)
	if err != nil {
		return nil, model
	}
	if name := m.Provider + "/" + m.Model; m.Role == session.RoleAssistant && s.to.Habits().ModelByEntry && m.Model != "" && name != before {
		model = name
		list = append(list, session.ModelChange{Role: "default", Provider: m.Provider, ModelID: m.Model, Model: name, Split: true})
	}
	for _, j := range messages {
		list = append(list, session.Message{Role: m.Role, JSON: j})
	}
	return list, model
}

// enter adds the records of some entries. Those of entries that have records already, or of none, belong to the passage
// before.
func (s *script) enter(entries []int, records [][]byte) {
	if len(records) == 0 {
		return
	}
	p := &passage{script: true}
	fresh := true
	if n := len(s.passages) - 1; n >= 0 && !s.passages[n].restored {
		p, fresh = s.passages[n], false
	}
	for _, i := range entries {
		e := s.tree.At(i)
		if s.passageOf[i] != nil {
			continue
		}
		if !e.Foreign() && len(p.records) > 0 {
			p, fresh = &passage{script: true}, true
		}
		if p.head == "" {
			p.head = e.ID
		}
		p.tip = e.ID
	}
	for _, i := range entries {
		if s.passageOf[i] == nil && !s.tree.At(i).Foreign() {
			p.entries = append(p.entries, i)
		}
	}
	p.records = append(p.records, records...)
	if fresh {
		s.passages = append(s.passages, p)
	}
	for _, i := range entries {
		if s.passageOf[i] == nil {
			s.passageOf[i] = p
		}
	}
}

// claim gives the entries on the path to a tip that speak and are in no message of their own, such as further pieces of an
// answer, to the passage before them. Passages from first on are those of the branch; new messages after the last of them
// follow the tip.
func (s *script) claim(tip session.EntryID, first int) error {
	path, err := s.tree.Path(tip)
	if err != nil {
		return err
	}
	var at *passage
	for _, e := range path.Entries() {
		if p := s.passageOf[e.Index]; p != nil {
			at = p
		} else if at != nil && !at.restored && speaks(e) {
			s.passageOf[e.Index] = at
			at.entries = append(at.entries, e.Index)
			at.tip = e.ID
		}
	}
	if n := len(s.passages); n > first {
		s.passages[n-1].tip = tip
	}
	return nil
}
