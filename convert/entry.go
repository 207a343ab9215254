package convert

import (
	"fmt"
	"slices"

	"github.com/treeline-dev/treeline/convert/origin"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// entry converts an entry, together with those after it on the path that become one record with it. It tries an entry of the same kind,
// then, if the model sees the entry, a message in the user's name, then a custom entry that only carries it. It returns nil if the target
// has none of these.
func (c *crossing) entry(e session.Entry, pos int) (*passage, error) {
	raw, err := c.whole(e)
	if err != nil {
		return nil, err
	}
	body, err := c.from.Codec().Body(e, raw)
	if err != nil {
		return nil, err
	}
	// This is first because a message may need to name the model in use.
	c.inherit(e, body)
	p := &passage{entries: []int{e.Index}, head: e.ID, tip: e.ID}
	n := dialect.NewEntry{ID: e.ID, Parent: c.parentOf(e), Time: c.timeOf(raw), Header: &c.header}
	if c.replays {
		if n.ID, err = c.freshID(c.onlyID(e)); err != nil {
			return nil, err
		}
	}
	if m, ok := body.(session.Message); ok {
		return c.messagePassage(p, e, m, n, pos)
	}
	if c.ofRun && e.Kind == session.KindCustomMessage {
		if done, err := c.prompts(p, e, raw, n); done != nil || err != nil {
			return done, err
		}
	}
	if n.Body, err = c.translate(e, raw, body, &n); err != nil {
		return nil, err
	}
	if n.Body != nil {
		// The target may refuse the entry: it has no such entries, or other rules.
		summed := e.Kind == session.KindCompaction && c.to.Habits().SumsInOwnWords && !c.same
		if record, err := c.to.Record(n); err == nil && !summed {
			if m, ok := body.(session.ModelChange); ok {
				c.after[e.Index].said = m.Provider + "/" + m.ModelID
			}
			if e.Kind == session.KindCustomMessage || e.Kind == session.KindBranchSummary || c.ends(e) && e.Kind != session.KindLeaf && !c.isLeafMark(e) {
				if done, err := c.led(p, e, n); done != nil || err != nil {
					return done, err
				}
			}
			c.keep(p, n, record)
			c.named(e, n.ID)
			if e.Kind == session.KindCompaction {
				p.records = append(p.records, c.repeats(pos)...)
			}
			return p, nil
		}
		if seen, err := c.asMeta(p, e, raw, n); seen != nil || err != nil {
			return seen, err
		}
	}
	return c.silent(p, e, n)
}

// named notes the new id of an entry. An entry that only moves the leaf has another parent in the target, see translate. Its children
// become children of the parent that it had in the source.
func (c *crossing) named(e session.Entry, id session.EntryID) {
	c.last[e.ID], c.tip = id, id
	mark := c.to.Habits().LeafType
	if mark == "" && e.Kind == session.KindCustom && c.isLeafMark(e) || mark != "" && e.Kind == session.KindLeaf {
		c.last[e.ID] = c.lastOf(e.Parent)
	}
}

// inherit finds the model in use after an entry, in the source (model) and by the target's records (said). If they differ, an entry that
// names the model is written. The calls that wait for a result after the parent wait after the entry, too.
func (c *crossing) inherit(e session.Entry, body session.Body) {
	c.after[e.Index] = c.beforeIt(e)
	c.before = e.Index
	switch b := body.(type) {
	case session.Compaction:
		// A call that the model does not see any more cannot be answered.
		if c.forgets(b, c.after[e.Index].calls.at) {
			c.after[e.Index].calls = openCalls{}
		}
	case session.ModelChange:
		// Models of other roles do not answer prompts.
		if b.Role == "default" {
			c.after[e.Index].model = session.ModelRef{Provider: b.Provider, Model: b.ModelID}
		}
	case session.Message:
		if b.Role == session.RoleAssistant && b.Model != "" {
			c.after[e.Index].model = session.ModelRef{Provider: b.Provider, Model: b.Model}
		}
	}
}

// beforeIt returns what holds before an entry. If a single path is converted, that is what holds after the previous entry, because the
// parent may be left out; otherwise it is what holds after the parent.
func (c *crossing) beforeIt(e session.Entry) state {
	if c.asked != nil {
		if c.before >= 0 {
			return c.after[c.before]
		}
	} else if parent, ok := c.tree.Lookup(e.Parent); ok && e.Parent != "" {
		return c.after[parent.Index]
	}
	return state{model: c.runModel()}
}

// parentOf returns the parent of the entry's first record.
func (c *crossing) parentOf(e session.Entry) session.EntryID {
	if c.linear {
		return c.tip
	}
	if e.Parent == "" {
		return ""
	}
	return c.lastOf(e.Parent)
}

// habits returns the habits of the source; the zero value if the dialect is only read.
func (c *crossing) habits() dialect.Habits {
	if w, ok := c.from.(dialect.Writer); ok {
		return w.Habits()
	}
	return dialect.Habits{}
}

// isLeafMark reports whether an entry is a custom entry that marks the leaf, see Habits.LeafType.
func (c *crossing) isLeafMark(e session.Entry) bool {
	if c.habits().LeafType == "" {
		return false
	}
	body, err := e.Body()
	custom, ok := body.(session.Custom)
	return err == nil && ok && custom.Type == c.habits().LeafType
}

// translate returns the body that the target may be able to write, nil if it certainly cannot. Ids become those of the new session.
func (c *crossing) translate(e session.Entry, raw []byte, body session.Body, n *dialect.NewEntry) (session.Body, error) {
	switch b := body.(type) {
	case session.Compaction:
		// An invalid number is left out; the rest of the compaction is converted.
		if !isNumber(b.TokensJSON) {
			b.TokensBefore, b.TokensJSON = 0, nil
		}
		if b.ReplacesAll && !c.same || c.to.Habits().KeepsByRepeating {
			b.FirstKept = ""
		} else if b.FirstKept != "" {
			b.FirstKept = c.firstOf(b.FirstKept)
		}
		b.HistoryEnd = c.lastOf(b.HistoryEnd)
		return b, nil
	case session.BranchSummary:
		// A reference to an entry means its last record.
		b.From = c.lastOf(b.From)
		return b, nil
	case session.Label:
		b.Target = c.lastOf(b.Target)
		return b, nil
	case session.ContextEdit:
		if !c.same {
			return nil, nil // the content is in the source's own format
		}
		b.Target = c.lastOf(b.Target)
		return b, nil
	case session.ModelChange:
		if c.to.Dialect.Codec().Rules().SingleModel && b.Role != "default" {
			return nil, nil // the target would use it for everything
		}
		return b, nil
	case session.CustomMessage:
		if c.same {
			return b, nil
		}
		// In the log of a run it is a request, whose messages are other entries, or an error, which the model did not see.
		if c.ofRun {
			return nil, nil
		}
		parts, err := c.partsOf(e, raw)
		if parts = dialect.Spoken(dialect.Prose(parts)); len(parts) == 0 {
			return nil, err // no provider accepts it
		}
		b.Content = c.to.Content(parts)
		return b, err
	case session.Leaf:
		b.Target = c.lastOf(b.Target)
		if mark := c.to.Habits().LeafType; mark != "" {
			// The mark is a child of its target.
			n.Parent = b.Target
			return session.Custom{Type: mark}, nil
		}
		return b, nil
	case session.Custom:
		if c.to.Habits().LeafType != "" || !c.isLeafMark(e) {
			return b, nil
		}
		target := n.Parent
		n.Parent = ""
		for i := e.Index - 1; i >= 0 && n.Parent == ""; i-- { // it is a child of the leaf that was left
			if c.leaf == nil || c.asked[i] {
				n.Parent = c.lastOf(c.tree.At(i).ID)
			}
		}
		return session.Leaf{Target: target}, nil
	case session.Opaque:
		if !c.same {
			return nil, nil // the record may mean something else to the target, or be unreadable to it
		}
	}
	return body, nil
}

// asMeta makes a message in the user's name from an entry that the model sees and that the target cannot express.
func (c *crossing) asMeta(p *passage, e session.Entry, raw []byte, n dialect.NewEntry) (*passage, error) {
	var parts []session.Part
	var err error
	switch k, _ := n.Body.(session.Compaction); {
	case e.Kind == session.KindCompaction && c.to.Habits().HoldsNow():
		parts = []session.Part{session.Text{Text: k.Summary}}
	case e.Kind == session.KindCustomMessage || e.Kind == session.KindBranchSummary:
		parts, err = c.partsOf(e, raw)
	}
	if parts = dialect.Spoken(dialect.Prose(parts)); err != nil || len(parts) == 0 {
		return nil, err
	}
	m := dialect.NewMessage{ID: c.messageID(e), Role: session.RoleUser, Meta: true, Time: n.Time, Parts: parts}
	said, err := c.inTurn(e, c.after[e.Index].calls, []dialect.NewMessage{m})
	if err != nil {
		return nil, err
	}
	return c.write(p, e, n, said...)
}

// stand makes a custom entry in the place of an entry that the target cannot express, so that the children keep their parent. It returns
// nil if the target has no custom entries.
func (c *crossing) stand(p *passage, e session.Entry, n dialect.NewEntry) (*passage, error) {
	n.Body = session.Custom{Type: origin.Custom, Data: session.Raw("{}")}
	n.Parent = c.parentOf(e)
	record, err := c.to.Record(n)
	if err != nil {
		return nil, nil
	}
	p.custom = &n
	c.keep(p, n, record)
	c.last[e.ID], c.tip = n.ID, n.ID
	return p, nil
}

// messagePassage converts a message to one or more records, after an entry that names the model if one is needed. Within a family the
// message is copied; between families it is split into parts and composed.
func (c *crossing) messagePassage(p *passage, e session.Entry, m session.Message, n dialect.NewEntry, pos int) (*passage, error) {
	message, err := c.resolve(m.JSON)
	if err != nil {
		return nil, err
	}
	if c.same {
		m.JSON = message
		n.Body = m
		record, err := c.to.Record(n)
		if err != nil {
			return c.stand(p, e, n)
		}
		p.records = []session.Span{c.pile.Put(record)}
		c.named(e, n.ID)
		return p, nil
	}
	waiting := c.after[e.Index].calls
	m2, ok := c.neutral(e, m, message, n)
	if !ok {
		return c.silent(p, e, n)
	}
	if c.to.Habits().ResultsInCalls && m.Role == session.RoleAssistant {
		if err := c.gather(p, &m2, pos); err != nil {
			return nil, err
		}
		if err := c.gatherLate(e, &m2); err != nil {
			return nil, err
		}
	}
	var before []dialect.NewMessage
	if c.ofRun {
		if before, err = c.history(e, message, pos, n); err != nil {
			return nil, err
		}
		c.follow(m.Role, message)
	}
	said := append(before, c.resultsApart(m2)...)
	if m.Role == session.RoleAssistant && !c.ofRun {
		if said, err = c.answerOpen(e, message, m2); err != nil {
			return nil, err
		}
	}
	if m2.Role != session.RoleAssistant {
		waiting = c.after[e.Index].calls // without those that it answers
	}
	if said, err = c.inTurn(e, waiting, said); err != nil {
		return nil, err
	}
	done, err := c.write(p, e, n, said...)
	if done == nil && err == nil {
		return c.silent(p, e, n)
	}
	return done, err
}

// gather adds the tool results that follow on the path to the message with their calls, up to the first message that holds anything else.
func (c *crossing) gather(p *passage, m *dialect.NewMessage, pos int) error {
	calls := dialect.CallsIn(m.Parts)
	for _, i := range c.onPath[pos+1:] {
		e := c.tree.At(i)
		if e.Kind != session.KindMessage {
			continue
		}
		// A message with an origin is restored as a record of its own.
		if e.Role == session.RoleAssistant || c.origins[i] != nil {
			return nil
		}
		raw, err := c.whole(e)
		if err != nil {
			return err
		}
		body, err := c.from.Codec().Body(e, raw)
		if err != nil {
			return err
		}
		answer, ok := body.(session.Message)
		if !ok {
			return nil
		}
		message, err := c.resolve(answer.JSON)
		if err != nil {
			return err
		}
		c.after[i] = c.after[c.before]
		said, _ := c.neutral(e, answer, message, dialect.NewEntry{})
		others, results := dialect.Results(said.Parts)
		other := slices.ContainsFunc(results, func(r session.ToolResult) bool { return !calls[r.CallID] })
		if other || len(results) == 0 || said.Role != session.RoleTool && len(others) > 0 {
			return nil
		}
		for _, r := range results {
			m.Parts = append(m.Parts, r)
		}
		// Its record is the one with the call, after which the same holds but for the calls.
		c.done[i], c.before = true, i
		p.entries, p.tip = append(p.entries, i), e.ID
	}
	return nil
}

// write makes the records of an entry's messages. The last record has the entry's id, which children and labels name. If the target cannot
// express the messages, write returns nil and changes nothing.
func (c *crossing) write(p *passage, e session.Entry, n dialect.NewEntry, list ...dialect.NewMessage) (*passage, error) {
	var bodies []session.Body
	said := c.after[e.Index].said
	for _, m := range list {
		messages, err := c.to.Compose(m)
		if err != nil || len(messages) == 0 {
			return nil, nil
		}
		model := m.Provider + "/" + m.Model
		if m.Role == session.RoleAssistant && c.to.Dialect.Codec().Rules().ModelByEntry && m.Model != "" && model != said {
			said = model
			bodies = append(bodies, session.ModelChange{Role: "default", Provider: m.Provider, ModelID: m.Model, Model: model, Split: true})
		}
		for _, j := range messages {
			bodies = append(bodies, session.Message{Role: m.Role, JSON: j})
		}
	}
	done, err := c.writeBodies(p, e, n, bodies)
	if done != nil {
		c.after[e.Index].said = said
	}
	return done, err
}

// writeBodies makes the records of an entry from bodies; see write.
func (c *crossing) writeBodies(p *passage, e session.Entry, n dialect.NewEntry, bodies []session.Body) (*passage, error) {
	var records []dialect.NewRecord
	last := n.ID
	// A compaction that keeps the entry does not keep results of calls before it.
	first := max(0, slices.IndexFunc(bodies, func(b session.Body) bool {
		m, ok := b.(session.Message)
		return !ok || m.Role != session.RoleTool
	}))
	for k, body := range bodies {
		n.Body, n.ID = body, last
		if k < len(bodies)-1 {
			var err error
			if n.ID, err = c.freshID(fmt.Sprintf("%s/%d", c.onlyID(e), k)); err != nil {
				return nil, err
			}
		}
		record, err := c.to.Record(n)
		if err != nil {
			return nil, nil
		}
		if k == first {
			c.first[e.ID] = n.ID
		}
		records = append(records, dialect.NewRecord{NewEntry: n, Record: record})
		n.Parent = n.ID // each record is the parent of the next
	}
	for _, r := range records {
		c.keep(p, r.NewEntry, r.Record)
	}
	for _, i := range p.entries {
		id := c.tree.At(i).ID
		c.last[id] = n.ID
		if i != e.Index {
			c.first[id] = c.firstOf(e.ID)
		}
	}
	c.tip = n.ID
	return p, nil
}
