package find

import (
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/query"
)

// candidates gives, for each query, those of the logs that may match, with their spans. The signatures are read once. A
// log that the index does not know, or whose signatures are damaged, is searched as a whole.
func (s *search) candidates(queries []*query.Query, all []*target) [][]target {
	whole := make([]bool, len(all))
	var logs []*index.Log
	var places []int // of logs in all
	for i, l := range s.known(all) {
		if l != nil {
			logs, places = append(logs, l), append(places, i)
		} else {
			whole[i] = true
		}
	}
	spans := make([][][]span, len(queries))
	for k := range spans {
		spans[k] = make([][]span, len(all))
	}
	unknown := s.f.ix.EachChunk(logs, func(i int, c *index.Kept) {
		if s.opt.Rank {
			s.rank.chunks++
			queries[0].CountTerms(c, s.rank.with)
		}
		for k, q := range queries {
			if q.May(c) {
				at := places[i]
				spans[k][at] = append(spans[k][at], span{c.From, c.To, c.Odd()})
			}
		}
	})
	for _, i := range unknown {
		whole[places[i]] = true
		// Put after the search, so that the next refresh makes them again; not if another process moved or removed them.
		if s.f.ix.Current(logs[i]) {
			s.lost = append(s.lost, index.Update{Source: all[places[i]].key(), Put: []index.Log{logs[i].Lost()}})
		}
	}
	lists := make([][]target, len(queries))
	for k := range lists {
		for i, t := range all {
			found := spans[k][i]
			if !whole[i] && len(found) == 0 {
				continue
			}
			if t.run == nil {
				s.row(t)
			}
			c := *t
			if !whole[i] {
				c.spans = found
			}
			lists[k] = append(lists[k], c)
		}
	}
	return lists
}

// known gives what the index has of logs, nil if it has nothing.
func (s *search) known(logs []*target) []*index.Log {
	c := s.f.ix.Catalogue()
	known := make([]*index.Log, len(logs))
	for i, t := range logs {
		switch {
		case t.run != nil:
			known[i], _ = c.Log(t.key(), t.run.Log.Name)
		default:
			known[i] = t.kept
			// Updating the runs may have moved all signatures to another file since the sessions were listed.
			if s.changed && t.kept != nil {
				if l, ok := c.Log(t.key(), t.kept.Name); ok && l.Stamp == t.kept.Stamp {
					known[i] = l
				}
			}
		}
	}
	return known
}
