package transcript

import "github.com/treeline-dev/treeline/session"

// lastAnswer returns the last block of the model after the last prompt, or -1 if there is none.
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

// spend adds the usage that an entry reports to a block. If the same amount was reported before, it is added to the block that has it. spend
// returns false for an entry that reports none.
func (b *builder) spend(e session.Entry, block int) (reports bool) {
	if block < 0 {
		return true
	}
	return b.spendings(e, func(s session.Spending) {
		at := block
		if before, again := b.spent[s.Of]; again && s.Of != "" {
			at = before
		}
		b.spent[s.Of] = at
		b.made[at].add(s)
	})
}

// spendings calls use with the amounts that an entry reports. It returns false for an entry that reports none.
func (b *builder) spendings(e session.Entry, use func(session.Spending)) (reports bool) {
	raw, err := e.Raw()
	if err != nil {
		return true // the block of the entry reports the error, if it has one
	}
	b.spender.Spent(e, raw, func(s session.Spending) {
		if !s.Total {
			reports = true
			use(s)
		}
	})
	return reports
}

// add adds an amount. Of several with the same name, the largest counts.
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

// sum returns the usage that the records of an answer report.
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
