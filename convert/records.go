package convert

import (
	"cmp"
	"errors"
	"slices"

	"github.com/treeline-dev/treeline/convert/origin"
	"github.com/treeline-dev/treeline/convert/pile"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/session"
)

// log returns the new log with its origins. It sets owner, which the comparison needs.
func (v *conversion) log() (out *pile.Sheet, err error) {
	out = &pile.Sheet{}
	defer func() {
		if err != nil {
			err = errors.Join(err, out.Close())
		}
	}()
	whole, err := v.wholeOrigin()
	if err != nil {
		return nil, err
	}
	head := slices.Clone(v.head)
	// In a format without a header record the first entry carries the old header.
	inEntry := v.header && len(v.head) == 0
	if v.header && !inEntry {
		head[len(head)-1] = whole.Sealed(v.to, head[len(head)-1:])[0]
	}
	for _, r := range head {
		out.Add(r)
	}
	v.owner = nil
	first := slices.IndexFunc(v.cross.passages, func(p *passage) bool { return len(p.records) > 0 })
	var sealed [][]byte // the records of one passage: they follow each other
	last := -1          // that passage
	for _, f := range flatten(v.cross.passages) {
		k := f.passage
		v.owner = append(v.owner, k)
		carriesHeader := inEntry && k == first
		if !(k < len(v.carried) && v.carries(k)) && !carriesHeader {
			record, err := v.cross.pile.Bytes(f.record)
			if err != nil {
				return nil, err
			}
			out.Add(record)
			continue
		}
		if k != last {
			o, err := v.origin(v.cross.passages[k])
			if err != nil {
				return nil, err
			}
			if carriesHeader {
				o.Session, o.Header, o.Slot = whole.Session, whole.Header, whole.Slot
			}
			if sealed, err = v.seal(v.cross.passages[k], o); err != nil {
				return nil, err
			}
			last = k
		}
		out.Add(sealed[f.index])
	}
	return out, out.Err()
}

// carries reports whether the records of a passage carry their origin.
func (v *conversion) carries(k int) bool {
	p := v.cross.passages[k]
	return v.carried[k] || v.eased != nil && v.eased[k] || v.all && !p.restored && len(p.entries) > 0 && len(p.records) > 0
}

// seal puts the origin into the records of a passage. In a custom entry that only carries, it is the data.
func (v *conversion) seal(p *passage, o origin.Origin) ([][]byte, error) {
	if p.custom == nil {
		records, err := v.cross.pile.All(p.records)
		if err != nil {
			return nil, err
		}
		return o.Sealed(v.to, records), nil
	}
	n := *p.custom
	n.Body = session.Custom{Type: origin.Custom, Data: o.Alone()}
	record, err := v.to.Record(n)
	return [][]byte{record}, err
}

// origin returns the origin of a passage.
func (v *conversion) origin(p *passage) (origin.Origin, error) {
	o := origin.Origin{Dialect: v.src.dialect.Name(), Head: p.head, Tip: p.tip}
	if c := v.cross; c.linear && p == c.passages[len(c.passages)-1] {
		o.Tip = c.leafID() // entries that are added later follow the old leaf
	}
	var err error
	o.Records, err = v.carriedRecords(sources(p))
	return o, err
}

func (v *conversion) carriedRecords(entries []int) ([]origin.Record, error) {
	records, err := v.encoded(entries)
	list := make([]origin.Record, len(records))
	for k, r := range records {
		list[k] = origin.Keep(r, entries[k])
	}
	return list, err
}

// sources returns the entries that a passage stands for, in the order of the log.
func sources(p *passage) []int {
	all := slices.Concat(p.entries, p.extra)
	slices.Sort(all)
	return all
}

// wholeOrigin returns the origin of the session as a whole. Its Session is never empty: on the way back, it shows that the header carries
// an origin.
func (v *conversion) wholeOrigin() (origin.Origin, error) {
	o := origin.Origin{Dialect: v.src.dialect.Name(), Session: v.src.tree.Header().ID}
	if o.Session == "" {
		o.Session = v.cross.newOf.ID
	}
	var err error
	if o.Records, err = v.carriedRecords(v.cross.homeless); err != nil {
		return o, err
	}
	raw, err := v.sourceHeader()
	if raw != nil {
		o.Header = new(origin.Keep(raw, 0))
	}
	if v.outline.slot != nil {
		o.Slot = new(origin.Keep(v.outline.slot, 0))
	}
	return o, err
}

// flat is a record of the new session: the index of its passage, its index in the passage, and its place among all records.
type flat struct {
	record         session.Span
	passage, index int
	at             int
}

// flatten returns the records in the order in which they are written. Restored records go to their old places. Each other record follows
// the record before it.
func flatten(passages []*passage) []flat {
	var list []flat
	last := -1
	for k, p := range passages {
		for j, r := range p.records {
			at := last
			if p.restored {
				at = p.at[j]
				last = max(last, at) // restored records may have another order than their passages
			}
			list = append(list, flat{r, k, j, at})
		}
	}
	// The sort is stable: a new record has the place of the restored one before it, and follows it.
	sorting.By(list, func(a, b flat) int { return cmp.Compare(a.at, b.at) })
	return list
}

// copyTo writes the records of passages at the end of a log.
func (c *crossing) copyTo(log *pile.Sheet, passages []*passage) error {
	for _, f := range flatten(passages) {
		record, err := c.pile.Bytes(f.record)
		if err != nil {
			return err
		}
		log.Add(record)
	}
	return nil
}

// headRecords returns the records before the entries, if there are any: the title slot and the header.
func (c *crossing) headRecords() ([][]byte, error) {
	if o := c.back; o != nil && c.fresh && o.Header.Bytes() != nil {
		_, stamps := c.to.Dialect.(dialect.Stamper) // see copies
		header, slot, err := c.to.EditHeader(session.Header{ID: o.Session, Raw: o.Header.Bytes()}, o.Slot.Bytes(), dialect.HeaderEdit{ID: &c.newOf.ID, Copy: stamps})
		return present(slot, header), err
	} else if o != nil {
		return present(o.Slot.Bytes(), o.Header.Bytes()), nil
	}
	return dialect.Opening(c.to.WritingDialect, c.newOf)
}

// setOf makes a set of a list that may be as long as the session.
func setOf(list []int) map[int]bool {
	if len(list) == 0 {
		return nil
	}
	set := make(map[int]bool, len(list))
	for _, i := range list {
		set[i] = true
	}
	return set
}
