package find

import (
	"hash/fnv"
	"slices"

	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/session"
)

// Some agents tell more than once what an answer used: in each of its records, in events beside it, or as a sum of the
// session so far. A session.Spender names the answer, and only what is more than was told of it before is added.

// spending is what a log told so far.
type spending struct {
	// recent are the last answers, of which more may be told; next is the place of the next one.
	recent [recentAnswers]index.Spent
	next   int
	// totals are sums of the session so far. The list is replaced and never changed.
	totals []index.Spent
	// provider and model are those of the last change of model.
	provider, model string
}

// recentAnswers is how many answers may be told of in turn: those of sub-agents that work at the same time.
const recentAnswers = 16

// spend counts an entry of a log whose dialect is a Spender: as a message, unless it is a further piece of one, and what
// it tells of. It reports whether a message was counted.
func (t *tally) spend(e session.Entry, raw []byte, message bool) bool {
	if e.Kind == session.KindModelChange {
		if body, err := t.codec.Body(e, raw); err == nil {
			if m, ok := body.(session.ModelChange); ok {
				t.spending.provider, t.spending.model = m.Provider, m.ModelID
			}
		}
	}
	var told []session.Spending
	t.spender.Spent(e, raw, func(s session.Spending) { told = append(told, s) })
	answer := e.Kind == session.KindMessage && e.Role == session.RoleAssistant
	if answer && len(told) > 0 && t.spending.has(told[0].Of) {
		message = false // its first piece stands in a chunk that was read before
	}
	if message {
		t.message(raw)
	}
	if answer && message {
		which := t.model(t.spending.provider, t.spending.model)
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

// told adds what an amount is more than what was told before.
func (t *tally) told(e session.Entry, s *session.Spending) {
	if p, ok := s.Usage.Problem(e); ok {
		t.builder.Problem(p)
	}
	provider, model := s.Provider, s.Model
	if model == "" {
		provider, model = t.spending.provider, t.spending.model
	}
	now := index.Spent{Of: hashOf(s.Of), Tokens: tokensOf(&s.Usage), Cost: s.Usage.Cost}
	was, first := t.spending.put(now, s.Total)
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

// share divides the first sum of a session that was forked: the agent goes on counting from what the parent used, so the
// sum includes what was copied. It is divided by tokens.
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

// spellFor gives the spell that what a model used belongs to: the last one of that model. A model that gave no answer in
// the log has a spell without messages.
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

func (s *spending) has(of string) bool {
	h := hashOf(of)
	return slices.ContainsFunc(s.recent[:], func(r index.Spent) bool { return r.Of == h })
}

// put notes an amount and gives what was known of it before; first: nothing was. The larger of the two stays.
func (s *spending) put(now index.Spent, total bool) (was index.Spent, first bool) {
	same := func(r index.Spent) bool { return r.Of == now.Of }
	if total {
		i := slices.IndexFunc(s.totals, same)
		list := slices.Clone(s.totals)
		if i < 0 {
			s.totals = append(list, now)
			return was, true
		}
		if was = list[i]; now.Cost > was.Cost || now.Tokens.Total > was.Tokens.Total {
			list[i], s.totals = now, list
		}
		return was, false
	}
	if i := slices.IndexFunc(s.recent[:], same); i >= 0 {
		if was = s.recent[i]; now.Tokens.Total > was.Tokens.Total {
			s.recent[i] = now
		}
		return was, false
	}
	s.recent[s.next] = now
	s.next = (s.next + 1) % recentAnswers
	return was, true
}

// keep gives what an index keeps of it, the oldest answer first.
func (s *spending) keep(r *index.Resume) {
	r.Recent = nil
	for i := range s.recent {
		if a := s.recent[(s.next+i)%recentAnswers]; a != (index.Spent{}) {
			r.Recent = append(r.Recent, a)
		}
	}
	r.Totals, r.Provider, r.Model = s.totals, s.provider, s.model
}

// restore takes over what keep gave.
func (s *spending) restore(r *index.Resume) {
	s.next = copy(s.recent[:], r.Recent) % recentAnswers
	s.totals, s.provider, s.model = r.Totals, r.Provider, r.Model
}

// hashOf is a 64-bit FNV-1a hash, never 0.
func hashOf(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return max(h.Sum64(), 1)
}
