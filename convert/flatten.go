package convert

import (
	"cmp"
	"slices"
)

// flat is a record of the new session and the passage that it belongs to: an index, or -1 for what belongs to none.
type flat struct {
	record  []byte
	passage int
	at      int
}

// flatten gives the records in the order in which they are written. Restored ones go where they were; all others stay
// behind those that they follow.
func flatten(passages []*passage) []flat {
	var list []flat
	last := -1
	for k, p := range passages {
		for j, r := range p.records {
			at := last
			if p.restored {
				at = p.at[j]
				// Restored records may stand in another order than their passages: what follows goes behind the last of
				// them.
				last = max(last, at)
			}
			list = append(list, flat{r, k, at})
		}
	}
	// Stable, and new records have the place of the restored one before them: so they come right behind it.
	slices.SortStableFunc(list, func(a, b flat) int { return cmp.Compare(a.at, b.at) })
	return list
}

// headRecords gives what stands before the entries: the title slot, the header, or nothing.
func (c *crossing) headRecords() ([][]byte, error) {
	if o := c.back; o != nil {
		var list [][]byte
		for _, r := range []*carried{o.Slot, o.Header} {
			if b := r.bytes(); b != nil {
				list = append(list, b)
			}
		}
		return list, nil
	}
	header, err := c.to.Header(c.newOf)
	return present(header), err
}
