package transcript

import "github.com/treeline-dev/treeline/session"

// lastAnswer gives the last block of the model after the last prompt, -1 if there is none.
func (b *builder) lastAnswer() int {
	for ; b.judged < len(b.made); b.judged++ {
		switch b.made[b.judged].Role {
		case session.RoleAssistant:
			b.speech = b.judged
		case session.RoleUser:
			b.speech = -1
		}
	}
	return b.speech
}

// spend notes what an entry says that the answer in a block used. Where that was told before, it is the same amount.
func (b *builder) spend(e session.Entry, block int) {
	if block < 0 {
		return
	}
	b.spendings(e, func(s session.Spending) {
		at := block
		if before, again := b.spent[s.Of]; again && s.Of != "" {
			at = before
		}
		b.spent[s.Of] = at
		b.made[at].add(s)
	})
}

// spendings gives the amounts that an entry tells of.
func (b *builder) spendings(e session.Entry, use func(session.Spending)) {
	raw, err := e.Raw()
	if err != nil {
		return // the block of the entry says so, where it has one
	}
	b.spender.Spent(e, raw, func(s session.Spending) {
		if !s.Total {
			use(s)
		}
	})
}

// add adds an amount. Of several with the same name the largest counts.
func (m *made) add(s session.Spending) {
	if s.Of != "" {
		if k, again := m.named[s.Of]; again {
			if s.Usage.Total >= m.spent[k].Usage.Total {
				m.spent[k] = s
			}
			return
		}
		if m.named == nil {
			m.named = map[string]int{}
		}
		m.named[s.Of] = len(m.spent)
	}
	m.spent = append(m.spent, s)
}

// sum adds up what the records of an answer say that it used.
func (m *made) sum() (u session.Usage) {
	for _, s := range m.spent {
		u.Input += s.Usage.Input
		u.Output += s.Usage.Output
		u.CacheRead += s.Usage.CacheRead
		u.CacheWrite += s.Usage.CacheWrite
		u.Total += s.Usage.Total
		u.Cost += s.Usage.Cost
	}
	return u
}
