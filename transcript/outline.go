package transcript

import (
	"context"
	"sort"

	"github.com/treeline-dev/treeline/session"
)

// OutlineRequest asks for an outline of the tree.
type OutlineRequest struct {
	// Leaf ends the active path; nil means the leaf of the session.
	Leaf *session.EntryID
	// Folded are the entries whose descendants are hidden.
	Folded map[session.EntryID]bool
	// Landmarks shows only prompts, forks, first entries and ends of branches, compactions and labels.
	Landmarks bool
}

// Outline is the tree as a list of rows, of which a reader sees a few at a time. Unlike a Rail, it omits only what is folded. It takes
// twelve bytes per row, and reads an entry only when its row is requested.
type Outline struct {
	d     *Document
	route *route
	rows  []outlineRow
	// Columns is the number of columns that are used.
	Columns int
	// Branches counts the ends of the conversation; Entries counts the entries that speak.
	Branches, Entries int
}

// outlineRow is one row of an outline.
type outlineRow struct {
	index  int32
	column uint8
	begins bool  // begins a branch, in a column of its own
	folded bool  // its descendants are hidden
	hidden int32 // number of hidden entries below it
}

// Outline returns the outline. It reads no record.
func (d *Document) Outline(r OutlineRequest) (*Outline, error) {
	path, err := d.route(r.Leaf)
	if err != nil {
		return nil, err
	}
	k := d.k
	o := &Outline{d: d, route: path, Branches: k.branches, Entries: len(k.order)}
	folded := map[int32]bool{}
	for id, on := range r.Folded {
		if e, ok := k.t.Lookup(id); ok && on {
			folded[k.speaking(int32(e.Index))] = true
		}
	}
	labeled := map[int32]bool{}
	if r.Landmarks {
		labeled = k.labeled()
	}
	column := make([]uint8, len(k.class)) // by index
	for at := 0; at < len(k.order); at++ {
		i := k.order[at]
		up := k.up[i]
		column[i] = column[up]
		aside := k.next[i] >= 0 // another branch follows in the column of the fork
		if aside && column[i] < mostColumns-1 {
			column[i]++
		}
		o.Columns = max(o.Columns, int(column[i])+1)
		row := outlineRow{index: i, column: column[i], begins: aside}
		if folded[i] && k.weight[i] > 1 {
			row.folded, row.hidden = true, k.weight[i]-1
			at += int(k.weight[i]) - 1
		}
		if row.folded || (k.isHead(i) || i == k.leaf) && (!r.Landmarks || labeled[i] || k.isLandmark(i)) {
			o.rows = append(o.rows, row)
		}
	}
	return o, nil
}

// isLandmark reports whether an entry is a landmark; see OutlineRequest.Landmarks.
func (k *Skeleton) isLandmark(i int32) bool {
	c := k.class[i]
	return i == k.leaf || k.forks(i) || k.forks(k.up[i]) || k.first[i] < 0 || c&byUser != 0 ||
		c&(byModel|byTool) == 0 && k.t.At(int(i)).Kind == session.KindCompaction
}

// Document returns the document that the outline was made from. After the session has grown, the outline must not be used any more.
func (o *Outline) Document() *Document { return o.d }

// Len returns the number of rows.
func (o *Outline) Len() int { return len(o.rows) }

// OutlineRow is a row of an outline.
type OutlineRow struct {
	Row
	// Begins means that a branch begins here, to the right of the fork's column. In every column to the left of a row, a branch that begins
	// further below is still to come.
	Begins bool
	// Folded means that its descendants are hidden. Hidden is their number.
	Folded bool
	Hidden int
}

// Rows returns the rows from..to, with their texts. Above is not set.
func (o *Outline) Rows(ctx context.Context, from, to int) ([]OutlineRow, error) {
	from, to = max(from, 0), min(to, len(o.rows))
	if from >= to {
		return nil, nil
	}
	a := artist{k: o.d.k, route: o.route, here: o.d.k.root()}
	r := o.d.reader(ctx)
	list := make([]OutlineRow, to-from)
	for n, row := range o.rows[from:to] {
		list[n] = OutlineRow{Row: a.row(row.index, -1, int(row.column)), Begins: row.begins, Folded: row.folded, Hidden: int(row.hidden)}
		if err := o.d.describeRow(ctx, r, &list[n].Row); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Find returns the row of an entry or of the nearest entry before it that has a row, or -1 if there is none.
func (o *Outline) Find(id session.EntryID) int {
	k := o.d.k
	e, ok := k.t.Lookup(id)
	if !ok {
		return -1
	}
	i := k.speaking(int32(e.Index))
	if i == k.root() {
		return min(0, len(o.rows)-1)
	}
	// The rows have the order of the skeleton, in which descendants follow an entry.
	return sort.Search(len(o.rows), func(n int) bool { return k.place[o.rows[n].index] > k.place[i] }) - 1
}

// ID returns the id of a row's entry.
func (o *Outline) ID(row int) session.EntryID { return o.d.k.id(o.rows[row].index) }

// Head returns the first row of the branch that a row is on: the first one after the fork above it.
func (o *Outline) Head(row int) int {
	k := o.d.k
	i := o.rows[row].index
	for k.up[i] != k.root() && !k.forks(k.up[i]) {
		i = k.up[i]
	}
	for row > 0 && k.place[o.rows[row-1].index] >= k.place[i] {
		row--
	}
	return row
}

// NextPrompt returns the next row that a person typed, in the direction of step (+1 or -1), or -1 if there is none. active considers only
// rows on the path.
func (o *Outline) NextPrompt(row, step int, active bool) int {
	for row += step; row >= 0 && row < len(o.rows); row += step {
		if i := o.rows[row].index; o.d.k.class[i]&byUser != 0 && (!active || o.route.at(i) >= 0) {
			return row
		}
	}
	return -1
}

// Aside returns the first entries of the branches that leave the path.
func (o *Outline) Aside() (list []session.EntryID) {
	k := o.d.k
	for _, r := range o.rows {
		if up := k.up[r.index]; k.forks(up) && o.route.at(r.index) < 0 && (up == k.root() || o.route.at(up) >= 0) {
			list = append(list, k.id(r.index))
		}
	}
	return list
}
