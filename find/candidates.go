package find

import (
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/query"
)

// candidates returns, for each query, the logs that may match, with their spans. The signatures are read once. A log that the index does
// not know, or whose signatures are damaged, is searched as a whole.
func (s *search) candidates(queries []*query.Query, all []*target) [][]target {
	whole := make([]bool, len(all))
	known := s.known(all)
	logs, places := known[:0], make([]int32, 0, len(all)) // the known logs, in the same memory; their indexes in all
	for i, l := range known {
		if l.Logs != nil {
			logs, places = append(logs, l), append(places, int32(i))
		} else {
			whole[i] = true
		}
	}
	spans := make([]map[int32][]span, len(queries))
	for k := range spans {
		spans[k] = map[int32][]span{}
	}
	may := make([]bool, len(queries))
	unknown := s.f.ix.EachChunk(logs, func(i int, c *index.Kept) {
		if s.opt.Rank {
			s.terms.Chunks++
			queries[0].CountTerms(c, s.terms.With)
		}
		for k, q := range queries {
			if !c.Again {
				may[k] = q.May(c)
			}
			if may[k] {
				at := places[i]
				spans[k][at] = append(spans[k][at], span{c.From, c.To, c.Odd()})
			}
		}
	})
	for _, i := range unknown {
		whole[places[i]] = true
		// Put after the search, so that the next refresh makes them again; but not if another process moved or removed them.
		if l := logs[i].Logs.At(logs[i].At); s.f.ix.Current(l) {
			s.lost = append(s.lost, index.Update{Source: all[places[i]].key(), Put: []index.Log{l.Lost()}})
		}
	}
	lists := make([][]target, len(queries))
	for k := range lists {
		for i, t := range all {
			found := spans[k][int32(i)]
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

// known returns the places of logs in the index; the zero value if it does not have them.
func (s *search) known(logs []*target) []index.Place {
	c := s.f.ix.Catalogue()
	known := make([]index.Place, len(logs))
	for i, t := range logs {
		switch {
		case t.run != nil:
			if p, ok := c.PlaceOf(t.key(), t.run.Log.Name); ok {
				known[i] = p
			}
		case t.at >= 0:
			known[i] = index.Place{Logs: t.source.logs, At: t.at}
			// Updating the runs may have moved all signatures to another file since the sessions were listed.
			if s.changed {
				was := t.source.logs.At(t.at)
				if p, ok := c.PlaceOf(t.key(), was.Name); ok && p.Logs.At(p.At).Stamp == was.Stamp {
					known[i] = p
				}
			}
		}
	}
	return known
}
