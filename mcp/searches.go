package mcp

import (
	"fmt"
	"slices"
	"sync"

	"github.com/treeline-dev/treeline/find"
)

// searches remembers which hits of a search a client has. A search with a larger limit returns the hits of one log in the order of the log,
// which is not always that of their times, so the first hits of two searches with different limits may differ. If a search is no longer
// remembered, the hits are counted instead.
type searches struct {
	mu   sync.Mutex
	last int
	list []given // the most recently used one is first
}

// given are the hits of a search that a client has, in the order in which it got them. A cursor counts them, so that a request can be
// repeated.
type given struct {
	number int
	hits   []string
}

// Limits of what is remembered.
const (
	mostSearches = 8
	mostGiven    = 100_000
)

// rest returns the hits that a client does not have.
func (s *searches) rest(at *position, hits []find.Hit) []find.Hit {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at.N == 0 {
		return hits
	}
	i := s.find(at)
	if i < 0 {
		return hits[min(at.N, len(hits)):]
	}
	has := make(map[string]bool, at.N)
	for _, h := range s.list[i].hits[:at.N] {
		has[h] = true
	}
	return slices.DeleteFunc(hits, func(h find.Hit) bool { return has[hitName(&h)] })
}

// gave notes the hits that a client gets, and moves the position behind them.
func (s *searches) gave(at *position, hits []find.Hit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.find(at)
	if i < 0 && at.N == 0 {
		s.last++
		at.Search = s.last
		s.list = append([]given{{number: at.Search}}, s.list...)
		s.list = s.list[:min(len(s.list), mostSearches)]
		i = 0
	}
	if i >= 0 {
		g := s.list[i]
		g.hits = g.hits[:at.N]
		for k := range hits {
			g.hits = append(g.hits, hitName(&hits[k]))
		}
		if s.list = slices.Delete(s.list, i, i+1); len(g.hits) <= mostGiven {
			s.list = append([]given{g}, s.list...)
		}
	}
	at.N += len(hits)
}

// find returns the index of the search of a position, or -1 if it is not remembered.
func (s *searches) find(at *position) int {
	return slices.IndexFunc(s.list, func(g given) bool { return g.number == at.Search && at.N <= len(g.hits) })
}

// hitName identifies a hit.
func hitName(h *find.Hit) string {
	if h.Run != nil {
		return fmt.Sprintf("%s %d", h.Run.Path, h.Line)
	}
	return h.Session.Path + " " + string(h.Entry)
}
