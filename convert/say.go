package convert

import (
	"crypto/sha256"
	"slices"
	"strconv"
	"time"

	"github.com/treeline-dev/treeline/convert/casting"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// write writes an entry that is not a message.
func (s *script) write(before node, e session.Entry, body session.Body) (node, error) {
	after := before
	after.key = sha256.Sum256(append(before.key[:], e.ID...))
	after.at = s.later(before, s.timeAt(e))
	id, err := s.freshID(hexKey(after.key))
	if err != nil {
		return before, err
	}
	list := []dialect.NewEntry{{ID: id, Parent: before.id, Time: after.at, Body: body, Header: &s.header}}
	if d, ok := s.to.Dialect.(dialect.Spreader); ok {
		n := 0
		list, err = d.Spread(list[0], func() (session.EntryID, error) {
			n++
			return s.freshID(hexKey(after.key) + strconv.Itoa(n))
		})
		if err != nil {
			return before, err
		}
	}
	var made []dialect.NewRecord
	for k, n := range list {
		if n.Time = n.Time.Add(time.Duration(k) * time.Millisecond); k > 0 {
			n.Parent = list[k-1].ID
		}
		record, err := s.to.Record(n)
		if err != nil {
			return before, nil // the target has no such entry
		}
		made, after.at = append(made, dialect.NewRecord{NewEntry: n, Record: record}), n.Time
	}
	after.id = id
	s.enter(&after, []int{e.Index}, made)
	return after, nil
}

// later returns a time after that of the message before, since programs find the leaf by time.
func (s *script) later(before node, at time.Time) time.Time {
	if next := before.at.Add(time.Millisecond); at.Before(next) {
		return next
	}
	return at
}

// timeAt returns the time of an entry or, if it has none, that of the entry before.
func (s *script) timeAt(e session.Entry) time.Time {
	if raw, err := e.Raw(); err == nil {
		return s.timeOf(raw)
	}
	return s.clock
}

// say writes a message after another one, unless an earlier branch has written it.
func (s *script) say(before node, u casting.Unit) (node, error) {
	after := before
	after.key = u.Key(before.key)
	if known, ok := s.nodes[after.key]; ok {
		return known, nil
	}
	m := u.NewMessage
	if m.Usage != nil {
		alone := u
		alone.Answers = nil
		key := alone.Key(before.key)
		if s.spent[key] {
			m.Usage = nil
		}
		s.spent[key] = true
	}
	m.Time = s.later(before, m.Time)
	m.ID = string(s.newOf.ID) + "/" + hexKey(after.key)
	bodies, model := s.bodies(m, before.model)
	var made []dialect.NewRecord
	after.at = m.Time
	for k, body := range bodies {
		id, err := s.freshID(hexKey(after.key) + "/" + strconv.Itoa(k))
		if err != nil {
			return before, err
		}
		n := dialect.NewEntry{ID: id, Parent: after.id, Time: after.at, Body: body, Header: &s.header}
		record, err := s.to.Record(n)
		if err != nil {
			continue // the target has no such entry
		}
		made = append(made, dialect.NewRecord{NewEntry: n, Record: record})
		after.id, after.model = id, model
		after.at = after.at.Add(time.Millisecond)
	}
	if after.at.After(s.latest) {
		s.latest = after.at
	}
	s.enter(&after, u.Entries, made)
	s.nodes[after.key] = after
	return after, nil
}

// bodies composes a message. It returns nothing if the target cannot express it. before is the model that the records name so far, and
// model the one that they name afterwards.
func (s *script) bodies(m dialect.NewMessage, before string) (list []session.Body, model string) {
	model = before
	messages, err := s.to.Compose(m)
	if err != nil {
		return nil, model
	}
	if name := m.Provider + "/" + m.Model; m.Role == session.RoleAssistant && s.to.Dialect.Codec().Rules().ModelByEntry && m.Model != "" && name != before {
		model = name
		list = append(list, session.ModelChange{Role: "default", Provider: m.Provider, ModelID: m.Model, Model: name, Split: true})
	}
	for _, j := range messages {
		list = append(list, session.Message{Role: m.Role, JSON: j})
	}
	return list, model
}

// enter adds the records up to a place that were made from some entries. If there are none, or all of them have records already, the new
// records belong to the passage before them. If that is not the last one, as with results on another branch, they are a passage of their
// own, which stands for no entry.
func (s *script) enter(at *node, entries []int, made []dialect.NewRecord) {
	if len(made) == 0 {
		return
	}
	entries = slices.DeleteFunc(slices.Clone(entries), func(i int) bool { return s.passageOf[i] != nil })
	own := slices.DeleteFunc(slices.Clone(entries), func(i int) bool { return s.tree.At(i).Foreign() })
	var p *passage
	if n := len(s.passages) - 1; n >= 0 && !s.passages[n].restored {
		p = s.passages[n]
	}
	if p == nil || len(own) > 0 || at.last != nil && at.last != p {
		p = &passage{script: true, head: s.tipOf(at.last)}
		p.tip = p.head
		if len(entries) > 0 {
			p.head = s.tree.At(entries[0]).ID
		}
		s.passages = append(s.passages, p)
	}
	if n := len(entries) - 1; n >= 0 {
		p.tip = s.tree.At(entries[n]).ID
	}
	p.entries = append(p.entries, own...)
	for _, n := range made {
		s.keep(p, n.NewEntry, n.Record)
	}
	for _, i := range entries {
		s.passageOf[i] = p
	}
	at.last = p
}

// tipOf returns the last entry of a passage, "" for nil.
func (s *script) tipOf(p *passage) session.EntryID {
	switch {
	case p == nil:
		return ""
	case !p.restored:
		return p.tip
	case len(p.entries) == 0: // all are of another log
		return ""
	}
	return s.tree.At(p.entries[len(p.entries)-1]).ID // p.tip is an entry of the target
}

// claim adds entries on the path to a tip to the passage before them, if they speak but are in no message of their own, such as further
// pieces of an answer. The passages from index first on belong to the branch; new messages after the last of them follow the tip.
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

// failed returns the calls on a path whose results report a failure. Some programs do not tell the model.
func (s *script) failed(at session.EntryID) (map[string]bool, error) {
	if !s.tree.Replayed() {
		return nil, nil
	}
	path, err := s.tree.Path(at)
	if err != nil {
		return nil, err
	}
	list := map[string]bool{}
	for _, e := range path.Entries() {
		if e.Role != session.RoleTool {
			continue
		}
		ids, known := s.failures[e.Index]
		if !known {
			parts, err := e.Parts()
			if err != nil {
				return nil, err
			}
			for _, p := range parts {
				if r, ok := p.(session.ToolResult); ok && r.IsError {
					ids = append(ids, r.CallID)
				}
			}
			s.failures[e.Index] = ids
		}
		for _, id := range ids {
			list[id] = true
		}
	}
	return list, nil
}
