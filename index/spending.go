package index

import (
	"hash/fnv"
	"slices"
)

// Spending is what a log has reported so far about tokens and cost. Answers are identified by hashes; see HashOf.
type Spending struct {
	// recent is a ring of the last answers, whose usage may be reported again; next is the index of the next one.
	recent [recentAnswers]Spent
	next   int
	// totals are sums of the session so far. The list is replaced and never modified.
	totals []Spent
	// Provider and Model are those of the last model change.
	Provider, Model string
}

// recentAnswers is how many answers may report usage interleaved, as sub-agents do that work at the same time.
const recentAnswers = 16

// Has reports whether an answer is among the recent ones.
func (s *Spending) Has(of string) bool {
	h := HashOf(of)
	return slices.ContainsFunc(s.recent[:], func(r Spent) bool { return r.Of == h })
}

// Put records an amount and returns the one recorded before; first: there was none. It keeps the larger of the two.
func (s *Spending) Put(now Spent, total bool) (was Spent, first bool) {
	same := func(r Spent) bool { return r.Of == now.Of }
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

// Keep stores in r what an index keeps of the Spending, the oldest answer first.
func (s *Spending) Keep(r *Resume) {
	r.Recent = nil
	for i := range s.recent {
		if a := s.recent[(s.next+i)%recentAnswers]; a != (Spent{}) {
			r.Recent = append(r.Recent, a)
		}
	}
	r.Totals, r.Provider, r.Model = s.totals, s.Provider, s.Model
}

// Restore restores what Keep stored.
func (s *Spending) Restore(r *Resume) {
	s.next = copy(s.recent[:], r.Recent) % recentAnswers
	s.totals, s.Provider, s.Model = r.Totals, r.Provider, r.Model
}

// HashOf returns a 64-bit FNV-1a hash, never 0.
func HashOf(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return max(h.Sum64(), 1)
}
