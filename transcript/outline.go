package transcript

import (
	"context"
	"sort"

	"github.com/treeline-dev/treeline/session"
)

// OutlineRequest asks for an outline of the tree.
type OutlineRequest struct {
	// Leaf ends the active path; nil for the leaf of the session.
	Leaf *session.EntryID
	// Folded are entries below which nothing is shown.
	Folded map[session.EntryID]bool
	// Landmarks shows only prompts, forks, first entries and ends of branches, compactions and labels.
	Landmarks bool
}

// Outline is the tree as rows, each below the other, of which a reader sees a few at a time. Unlike a Rail it leaves nothing
// out but what is folded. It keeps twelve bytes a row, and reads an entry when its row is asked for.
type Outline struct {
	d     *Document
	route *route
	rows  []outlineRow
	// Columns is the number of columns that are used.
	Columns int
	// Branches counts the ends of the conversation, Entries the entries that speak.
	Branches, Entries int
}

// outlineRow is one row of an outline.
type outlineRow struct {
	index  int32
	column uint8
	begins bool  // it begins a branch in a column of its own
	folded bool  // what is below is not shown
	hidden int32 // entries that are folded below it
}

// Outline makes the outline. It reads no record.
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

// isLandmark reports whether an entry is one by which a person finds the way: see OutlineRequest.Landmarks.
func (k *Skeleton) isLandmark(i int32) bool {
	c := k.class[i]
	return i == k.leaf || k.forks(i) || k.forks(k.up[i]) || k.first[i] < 0 || c&byUser != 0 ||
		c&(byModel|byTool) == 0 && k.t.At(int(i)).Kind == session.KindCompaction
}

// Document is the one that the outline was made from. Once the session has grown, the outline of its old document must not be used any more.
func (o *Outline) Document() *Document { return o.d }

// Len is the number of rows.
func (o *Outline) Len() int { return len(o.rows) }

// OutlineRow is a row of an outline.
type OutlineRow struct {
	Row
	// Begins: a branch begins with it, in a column further to the right than that of the fork. In all columns to the left of a
	// row, branches that begin further below hang.
	Begins bool
	// Folded: what is below is not shown. Hidden counts it.
	Folded bool
	Hidden int
}

// Rows gives the rows from..to, with their texts. Above is not set.
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

// Find gives the row of an entry, or that of the nearest one before it that has a row; -1 where there is none.
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
	// Rows are in the order of the skeleton, where what is below an entry follows it.
	return sort.Search(len(o.rows), func(n int) bool { return k.place[o.rows[n].index] > k.place[i] }) - 1
}

// ID gives the entry of a row.
func (o *Outline) ID(row int) session.EntryID { return o.d.k.id(o.rows[row].index) }

// Head gives the row with which the branch of a row begins: the first one after the fork above it.
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

// NextPrompt gives the next row that a person typed, in a direction of +1 or -1; -1 where there is none. active looks on the
// path alone.
func (o *Outline) NextPrompt(row, step int, active bool) int {
	for row += step; row >= 0 && row < len(o.rows); row += step {
		if i := o.rows[row].index; o.d.k.class[i]&byUser != 0 && (!active || o.route.at(i) >= 0) {
			return row
		}
	}
	return -1
}

// Aside gives the first entries of the branches that leave the path.
func (o *Outline) Aside() (list []session.EntryID) {
	k := o.d.k
	for _, r := range o.rows {
		if up := k.up[r.index]; k.forks(up) && o.route.at(r.index) < 0 && (up == k.root() || o.route.at(up) >= 0) {
			list = append(list, k.id(r.index))
		}
	}
	return list
}
