package convert

import (
	"crypto/sha256"
	"errors"
	"slices"
	"time"

	"github.com/treeline-dev/treeline/convert/casting"
	"github.com/treeline-dev/treeline/convert/pile"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// A script is the other way to convert a session. If an agent makes the messages of a context from the path as a whole (session.Replayer),
// a single entry does not show what the model sees of it. So each branch is converted from the messages that the model sees at its tip.
// Branches share the messages that they have in common. What is in no message is carried along.

// node is the place after a message of the script in the new session.
type node struct {
	key [sha256.Size]byte
	// id is the id of the last record up to here, "" before the first.
	id    session.EntryID
	at    time.Time
	model string   // that the records name up to here
	last  *passage // of the last record
}

// script is the state of converting by a script.
type script struct {
	*crossing
	nodes map[[sha256.Size]byte]node
	// spent has the answers whose usage is written. If an answer is repeated for the results of another branch, its usage counts only once.
	spent map[[sha256.Size]byte]bool
	// compacted has the compactions in the new session, by the position of the old one. If turns are taken back, a branch after a
	// compaction may begin with something else and have a compaction of its own.
	compacted map[int][]summed
	models    map[int]session.ModelRef // as modelsOf gives them
	work      int                      // entries on the paths so far
	failures  map[int][]string         // the calls that failed, by the position of the entry with their results
	restored  restored
	total     int // the weight of all entries
	read      int // the weight of the contexts so far; see until
}

// summed is a compaction in the new session.
type summed struct {
	summary string
	node
}

// byScript reports whether the messages of one of the sessions are made from whole paths. The log of a run is always converted by its
// entries: what the model saw is in its requests.
func (c *crossing) byScript() bool {
	if c.ofRun || c.same || c.tree.Replayed() && c.refused() {
		return false
	}
	return c.replays || c.tree.Replayed()
}

// refused reports whether the agent shows the model nothing of a path with messages, because its program refuses to continue the session.
// Then the entries say more than the context.
func (c *crossing) refused() bool {
	leaf := c.leafID()
	path, err := c.tree.Path(leaf)
	if err != nil || leaf == "" {
		return false
	}
	seen, err := session.BuildContext(c.tree, leaf, session.ContextOptions{})
	if err != nil {
		return false
	}
	for range seen.Messages() {
		return false
	}
	if !slices.ContainsFunc(seen.Problems(), func(p session.Problem) bool { return p.Kind == session.ProblemRefused }) {
		return false
	}
	for _, e := range path.Entries() {
		if e.Kind == session.KindMessage {
			return true
		}
	}
	return false
}

// perform converts by a script. If not everything can be restored as it was, nothing is. If the agent does not continue after the entries
// that the header carries either, the new session is a copy like any other: it has an id and a header of its own, and carries the old ones.
func (c *crossing) perform() error {
	carried := c.passages // by the header
	again, err := c.restoring()
	if !again {
		return err
	}
	if err = c.afresh(carried); len(carried) == 0 || !errors.Is(err, store.ErrUnsupported) {
		return err
	}
	c.back = nil
	if err := c.begin(); err != nil {
		return err
	}
	return c.afresh(nil)
}

// afresh converts everything after some passages, and restores nothing.
func (c *crossing) afresh(passages []*passage) error {
	c.passages = slices.Clip(passages)
	clear(c.origins)
	clear(c.done)
	clear(c.passageOf)
	clear(c.used)
	for e := range c.tree.Entries() {
		c.used[e.ID] = true
	}
	if err := c.play(); err != nil {
		return err
	}
	return c.frame()
}

// restoring restores what has an origin, and converts the rest. Restored records name their parents by their old ids. again reports whether
// nothing may be restored: a parent is missing because an entry before it was changed, the agent does not continue after a restored record,
// or too many entries were changed.
func (c *crossing) restoring() (again bool, err error) {
	if err := c.play(); err != nil {
		return errors.Is(err, errPieces), err
	}
	if again, err := c.orphaned(); again || err != nil {
		return again, err
	}
	err = c.frame()
	return errors.Is(err, store.ErrUnsupported) && slices.ContainsFunc(c.passages, func(p *passage) bool { return p.restored }), err
}

// orphaned reports whether the parent of a restored record is missing.
func (c *crossing) orphaned() (bool, error) {
	restored, fresh := false, false
	for _, p := range c.passages {
		restored, fresh = restored || p.restored, fresh || !p.restored
	}
	if !restored || !fresh {
		return false, nil
	}
	var log pile.Sheet
	defer log.Close()
	t, err := c.readAs(&log, c.passages)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(t.Problems(), func(p session.Problem) bool { return p.Kind == session.ProblemOrphan }), nil
}

// play converts each branch.
func (c *crossing) play() error {
	s := &script{
		crossing: c, nodes: map[[sha256.Size]byte]node{}, spent: map[[sha256.Size]byte]bool{}, compacted: map[int][]summed{}, models: modelsOf(c.tree),
		failures: map[int][]string{},
	}
	for e := range c.tree.Entries() {
		s.total += weight(e)
	}
	if err := c.unpair(); err != nil {
		return err
	}
	tips, err := s.tips()
	if err != nil {
		return err
	}
	defer s.restored.sheet.Close()
	leaf := c.leafID()
	for _, tip := range tips {
		first := len(c.passages)
		if tip == leaf {
			s.read = 0 // what other branches took is not missing here
		}
		end, err := s.branch(tip)
		if err != nil {
			return err
		}
		if err := s.claim(tip, first); err != nil {
			return err
		}
		c.last[tip], c.tip = end.id, end.id
	}
	for i, o := range c.origins {
		if o != nil && !c.done[i] && (c.leaf == nil || c.asked[i]) {
			c.restore(o)
		}
	}
	return nil
}

// tips returns the ends of the branches in the order of the log, the leaf last.
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
		// If several entries have the same id, it finds only the last one.
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

// branch converts what the model sees at an entry and returns its last message.
func (s *script) branch(tip session.EntryID) (at node, err error) {
	path, err := s.tree.Path(tip)
	if err != nil {
		return at, err
	}
	from, compacted := compaction(path)
	s.read += s.cost(path, from)
	var before *node
	if compacted && from > 0 && s.firstTime(path.At(from)) {
		// This is done now, while neither the path nor the context after it is in memory: a session may have many compactions.
		previous := path.At(from - 1).ID
		path = session.Path{}
		n, err := s.until(previous)
		if err != nil {
			return at, err
		}
		before = &n
		if path, err = s.tree.Path(tip); err != nil {
			return at, err
		}
	}
	parts := s.stretches(path, from)
	if len(parts) > most {
		return at, errPieces // the context at the end of each would be needed
	}
	// A session that is only converted back needs no context, which is as large as the session.
	whole := len(parts) == 1 && parts[0].restored
	var atoms []casting.Atom
	if !whole {
		if atoms, err = s.context(tip); err != nil {
			return at, err
		}
	}
	if compacted {
		if at, atoms, err = s.compact(path, from, atoms, before); err != nil {
			return at, err
		}
	}
	if atoms, err = s.assign(atoms, path, parts); err != nil {
		return at, err
	}
	if err := s.restoredCalls(path, parts); err != nil {
		return at, err
	}
	units := make([][]casting.Unit, len(parts))
	for _, u := range casting.Units(s.to.WritingDialect, atoms, s.restored.Restored) {
		units[u.Stretch] = append(units[u.Stretch], u)
	}
	for k, r := range parts {
		if r.restored {
			at = s.restoreStretch(path, r)
			continue
		}
		for _, u := range units[k] {
			if at, err = s.say(at, u); err != nil {
				return at, err
			}
		}
	}
	return at, nil
}

// compaction returns the position of the last compaction on a path.
func compaction(path session.Path) (int, bool) {
	for k := path.Len() - 1; k >= 0; k-- {
		if path.At(k).Kind == session.KindCompaction {
			return k, true
		}
	}
	return 0, false
}

// firstTime reports whether a compaction is reached for the first time, so that what the model saw before it must be written.
func (s *script) firstTime(e session.Entry) bool {
	return len(s.compacted[e.Index]) == 0 && !s.savesNow(e)
}

// savesNow reports whether the target, which is saved as a whole, has only what the model sees now, and nothing of a compaction.
func (s *script) savesNow(e session.Entry) bool {
	return s.to.Habits().HoldsNow() && s.origins[e.Index] == nil
}

// compact writes the compaction at a position of the path, after what the model saw before it. It returns the place after it and what is
// still to be written. said is the place before it, if that is already written.
func (s *script) compact(path session.Path, at int, atoms []casting.Atom, said *node) (node, []casting.Atom, error) {
	e := path.At(at)
	k, rest, ok := s.summary(e, atoms)
	known := s.compacted[e.Index]
	i := slices.IndexFunc(known, func(c summed) bool { return c.summary == k.Summary })
	again := i >= 0
	keep := func(n node) {
		if !again {
			s.compacted[e.Index] = append(known, summed{k.Summary, n})
		}
	}
	restored := s.origins[e.Index] != nil
	if s.savesNow(e) {
		return node{}, atoms, nil
	}
	var before node
	if said != nil {
		before = *said
	} else if !again && at > 0 {
		var err error
		if before, err = s.until(path.At(at - 1).ID); err != nil {
			return node{}, nil, err
		}
	}
	if restored {
		keep(before)
		return before, atoms, nil
	}
	if !ok && !s.linear {
		// The target shows a summary first, but this context begins with something else: it becomes a separate root.
		root := node{key: sha256.Sum256([]byte(e.ID)), at: before.at}
		keep(root)
		return root, atoms, nil
	}
	if again {
		return known[i].node, rest, nil
	}
	if len(known) > 0 { // what is said after it is not said after the others
		before.key = sha256.Sum256(append(before.key[:], k.Summary...))
	}
	done, err := s.write(before, e, k)
	keep(done)
	return done, rest, err
}

// summary returns the compaction to write for what the model sees after one, and what is to be written after it. ok is false if the context
// does not begin with a summary, and the target would show its beginning as one.
func (s *script) summary(e session.Entry, atoms []casting.Atom) (k session.Compaction, rest []casting.Atom, ok bool) {
	body, err := e.Body()
	if err != nil {
		return k, atoms, false
	}
	old, _ := body.(session.Compaction)
	if isNumber(old.TokensJSON) {
		k.TokensBefore, k.TokensJSON = old.TokensBefore, old.TokensJSON
	}
	k.ReplacesAll = true
	if len(atoms) == 0 || atoms[0].Role != session.RoleUser {
		return k, atoms, false
	}
	first, ok := atoms[0].Part.(session.Text)
	if !ok {
		return k, atoms, false
	}
	k.Summary = first.Text
	a := atoms[0]
	alone := len(atoms) == 1 || atoms[1].Entry != e.Index
	return k, atoms[1:], s.replays || a.Info.Meta || a.Entry == e.Index && alone
}
