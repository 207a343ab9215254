package find

import (
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/session"
)

// Some agents report the usage of an answer more than once: in each of its records, in events beside it, or as a sum of the session so far.
// A session.Spender identifies the answer, and only the increase over its last report is added.

// spend counts an entry of a log whose dialect is a Spender: as a message, unless it is a further piece of one, and the usage that it
// reports. It reports whether a message was counted.
func (t *tally) spend(e session.Entry, raw []byte, message bool) bool {
	if e.Kind == session.KindModelChange {
		if body, err := t.codec.Body(e, raw); err == nil {
			if m, ok := body.(session.ModelChange); ok {
				t.spending.Provider, t.spending.Model = m.Provider, m.ModelID
			}
		}
	}
	var told []session.Spending
	t.spender.Spent(e, raw, func(s session.Spending) { told = append(told, s) })
	answer := e.Kind == session.KindMessage && e.Role == session.RoleAssistant
	if answer && len(told) > 0 && t.spending.Has(told[0].Of) {
		message = false // its first piece is in a chunk that was read before
	}
	if message {
		t.message(e, raw)
	}
	if answer && message {
		which := t.model(t.spending.Provider, t.spending.Model)
		if len(told) > 0 && told[0].Model != "" {
			which = t.model(told[0].Provider, told[0].Model)
		}
		t.spellOf(which).Answers++
	}
	for i := range told {
		t.told(e, &told[i])
	}
	return message
}

// told adds the increase of an amount over the one reported before.
func (t *tally) told(e session.Entry, s *session.Spending) {
	if p, ok := s.Usage.Problem(e); ok {
		t.builder.Problem(p)
	}
	provider, model := s.Provider, s.Model
	if model == "" {
		provider, model = t.spending.Provider, t.spending.Model
	}
	now := index.Spent{Of: index.HashOf(s.Of), Tokens: tokensOf(&s.Usage), Cost: s.Usage.Cost}
	was, first := t.spending.Put(now, s.Total)
	if !first && now.Tokens.Total < was.Tokens.Total || now.Cost < was.Cost {
		return
	}
	more := now.Tokens
	more.Sub(was.Tokens)
	spell, cost := t.spellFor(t.model(provider, model)), now.Cost-was.Cost
	if s.Total && first {
		cost = t.share(spell, cost)
	}
	t.use(spell, more, cost)
}

// share divides the first sum of a forked session: the agent continues to count from what the parent used, so the sum includes the copied
// messages. It is divided in proportion to tokens.
func (t *tally) share(own *index.Spell, cost float64) float64 {
	var copied *index.Spell
	var old, all int64
	for i := range t.spells {
		s := &t.spells[i]
		all += s.Tokens.Total
		if s.Copied {
			old += s.Tokens.Total
			copied = s
		}
	}
	if copied == nil || copied == own || all == 0 {
		return cost
	}
	before := cost * float64(old) / float64(all)
	t.now = 0
	t.use(copied, index.Tokens{}, before)
	return cost - before
}

// spellFor returns the spell for the usage of a model: the last one of that model. A model without an answer in the log gets a spell
// without messages.
func (t *tally) spellFor(model int) *index.Spell {
	n := len(t.spells)
	for i := n - 1; i >= 0; i-- {
		if s := &t.spells[i]; s.Model == model || s.Answers == 0 && i == n-1 && s.Model < 0 {
			s.Model, t.now = model, min(t.now, i)
			return s
		}
	}
	if n >= spellsMost {
		return &t.spells[n-1]
	}
	next := index.Spell{Model: model}
	if n > 0 {
		next.Quarter, next.Copied = t.spells[n-1].Quarter, t.spells[n-1].Copied
	}
	t.spells = append(t.spells, next)
	return &t.spells[n]
}
