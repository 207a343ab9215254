package transcript

import (
	"cmp"
	"context"
	"slices"

	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/wire"
)

// RailRequest asks for a drawing of the tree.
type RailRequest struct {
	// Leaf ends the active path; nil means the leaf of the session.
	Leaf *session.EntryID
	// Here is the entry that the reader looks at, or a Block.Place; "" means none.
	Here session.EntryID
	// MaxRows is the largest number of rows; 0 means 300.
	MaxRows int
}

// RowKind says what a row of a rail stands for.
type RowKind uint8

// The kinds of rows.
const (
	RowEntry RowKind = iota
	// RowRun stands for consecutive entries, none of whose branches is drawn.
	RowRun
)

// Row is a row of a rail, drawn below the rows before it.
type Row struct {
	Kind RowKind
	// Entry is the entry of the row, or the last one of a run. Link is a leaf whose window shows it.
	Entry, Link session.EntryID
	// Above is the row from which an edge leads to this one; -1 means none.
	Above int
	// Column is the column of the row, from 0. A row in another column than the one above it begins a branch.
	Column int
	// Text describes the entry in a few words; for the first entry of a branch, it is the label of the branch.
	Text string
	// Count is the number of entries of a run. Branches is the number of branches that leave from the entry or the run and are not drawn.
	Count, Branches int
	// Label is the name that a person gave the entry.
	Label string
	// Block is the kind of the entry's block; Role is the role of the speaker.
	Block Kind
	Role  session.Role
	// Active means that it is on the path, Leaf that it is the leaf of the session, and Here that it is RailRequest.Here.
	Active, Leaf, Here bool
	// Fork means that several branches begin after it. Number is the number of the branch that begins with it, or 0.
	Fork   bool
	Number int

	index int32
}

// Rail is a drawing of a tree.
type Rail struct {
	Rows []Row
	// Columns is the number of columns that are used.
	Columns int
	// Branches counts the ends of the conversation; Entries counts the entries that speak.
	Branches, Entries int
}

const usualRows = 300

// Rail draws the tree with at most MaxRows rows, but at least 4, however large the tree is. It reads only the entries that it draws.
//
// A small tree is drawn as a whole. Of a larger one, the entries that matter most are drawn (see rank), and the others are runs. Of entries
// that matter equally, those near the reader are preferred.
func (d *Document) Rail(ctx context.Context, r RailRequest) (*Rail, error) {
	if r.MaxRows <= 0 {
		r.MaxRows = usualRows
	}
	path, err := d.route(r.Leaf)
	if err != nil {
		return nil, err
	}
	a := artist{k: d.k, route: path, most: max(r.MaxRows, 4), here: d.k.root()}
	if e, _, ok := d.k.named(r.Here); ok {
		a.here = d.k.speaking(int32(e.Index))
	}
	rail := a.draw()
	rail.Branches, rail.Entries = d.k.branches, len(d.k.order)
	return rail, d.describe(ctx, rail)
}

// artist draws a rail.
type artist struct {
	k     *Skeleton
	route *route
	here  int32
	most  int
}

// draw draws the largest number of entries that fits.
func (a *artist) draw() *Rail {
	if heads := a.heads(); len(heads) <= a.most {
		if rail := a.rows(heads); len(rail.Rows) <= a.most {
			return rail
		}
	}
	list := a.ranked()
	fits, most := 1, len(list)
	best := a.rows(a.closed(list[:1]))
	for fits < most { // binary search: more entries never need far fewer rows
		n := (fits + most + 1) / 2
		if rail := a.rows(a.closed(list[:n])); len(rail.Rows) <= a.most {
			fits, best = n, rail
		} else {
			most = n - 1
		}
	}
	return best
}

// heads returns the entries that are worth a row. It stops when there are too many.
func (a *artist) heads() (list []int32) {
	for _, i := range a.k.order {
		if a.isHead(i) {
			if list = append(list, i); len(list) > a.most {
				break
			}
		}
	}
	return list
}

func (a *artist) isHead(i int32) bool { return a.k.isHead(i) || i == a.k.leaf || i == a.here }

// ranked returns the entries that matter most, at most as many as there are rows.
func (a *artist) ranked() []int32 {
	k := a.k
	near := a.here
	if near == k.root() {
		near = k.leaf
	}
	center := 0
	if near != k.root() {
		center = int(k.place[near])
	}
	labeled := a.k.labeled()
	var ranks [6][]int32
	take := func(o int) {
		if o < 0 || o >= len(k.order) {
			return
		}
		i := k.order[o]
		if !a.isHead(i) {
			return
		}
		if r := a.rank(i, labeled[i]); len(ranks[r]) < a.most {
			ranks[r] = append(ranks[r], i)
		}
	}
	take(center)
	for far := 1; far < len(k.order); far++ {
		take(center - far)
		take(center + far)
	}
	list := slices.Concat(ranks[:]...)
	return list[:min(len(list), a.most)]
}

// rank returns how much an entry matters; 0 is the most.
func (a *artist) rank(i int32, labeled bool) int {
	k := a.k
	c, on := k.class[i], a.route.at(i) >= 0
	part := k.forks(i) || k.forks(k.up[i])
	switch {
	case i == k.leaf || i == a.here || k.place[i] == 0:
		return 0
	case part && on:
		return 1
	case labeled, c&(byUser|byModel|byTool) == 0 && k.t.At(int(i)).Kind == session.KindCompaction:
		return 2
	case part, k.first[i] < 0:
		return 3
	case c&byUser != 0 && on:
		return 4
	}
	return 5
}

// labeled returns the entries that have a label.
func (k *Skeleton) labeled() map[int32]bool {
	on := map[int32]bool{}
	for id := range k.t.Labels() {
		if e, ok := k.t.Lookup(id); ok {
			on[k.speaking(int32(e.Index))] = true
		}
	}
	return on
}

// closed adds the forks at which the paths to the entries of a list separate, and sorts the list by the order of the skeleton. The paths to
// two consecutive entries in that order separate above the highest entry between them.
func (a *artist) closed(list []int32) []int32 {
	k := a.k
	byPlace := func(x, y int32) int { return cmp.Compare(k.place[x], k.place[y]) }
	list = slices.Clone(list)
	sorting.By(list, byPlace)
	n := len(list)
	for c := 1; c < n; c++ {
		high := list[c]
		for o := k.place[list[c-1]] + 1; o < k.place[list[c]]; o++ {
			if i := k.order[o]; k.depth[i] < k.depth[high] {
				high = i
			}
		}
		if up := k.up[high]; up != k.root() {
			list = append(list, up)
		}
	}
	sorting.By(list, byPlace)
	return slices.Compact(list)
}

// rows draws entries that closed returned. The last branch of a fork continues in the column of the fork; the others are further to the
// right, as in a tree that is drawn with letters.
func (a *artist) rows(list []int32) *Rail {
	k := a.k
	rail := &Rail{}
	type open struct {
		i      int32
		row    int
		column int
		left   int // its children in the list that are not drawn yet
	}
	// above has the nearest ancestor of each entry in the list, and hang the number of its children there.
	above := make([]int, len(list)) // index in the list, or -1
	hang := make([]int, len(list))
	var stack []int
	for n, i := range list {
		for len(stack) > 0 && !k.below(i, list[stack[len(stack)-1]]) {
			stack = stack[:len(stack)-1]
		}
		above[n] = -1
		if len(stack) > 0 {
			above[n] = stack[len(stack)-1]
			hang[above[n]]++
		}
		stack = append(stack, n)
	}
	drawn := make([]open, len(list))
	for n, i := range list {
		o := open{i: i, left: hang[n]}
		up, row := k.root(), -1
		if above[n] >= 0 {
			p := &drawn[above[n]]
			p.left--
			up, row, o.column = p.i, p.row, p.column
			if p.left > 0 {
				o.column++
			}
		}
		if run := a.run(up, i); run.Count > 0 {
			run.Above, run.Column = row, o.column
			row = len(rail.Rows)
			rail.Rows = append(rail.Rows, run)
		}
		o.row = len(rail.Rows)
		rail.Rows = append(rail.Rows, a.row(i, row, o.column))
		drawn[n] = o
		if hang[n] > 0 {
			rail.Rows[o.row].Branches = int(k.kids[i]) - hang[n]
		} else {
			if rest := a.rest(i); rest.Count > 0 {
				rest.Above, rest.Column = o.row, o.column
				rail.Rows = append(rail.Rows, rest)
			}
		}
	}
	for i := range rail.Rows {
		rail.Rows[i].Column = min(rail.Rows[i].Column, mostColumns-1)
		rail.Columns = max(rail.Columns, rail.Rows[i].Column+1)
	}
	return rail
}

// mostColumns is the largest number of columns: deeper branches are drawn in the last one.
const mostColumns = 12

// row returns the row of an entry.
func (a *artist) row(i int32, above, column int) Row {
	k := a.k
	r := Row{
		index: i, Entry: k.id(i), Link: k.id(k.end(i)), Above: above, Column: column,
		Active: a.route.at(i) >= 0, Leaf: i == k.leaf, Here: i == a.here, Fork: k.forks(i),
	}
	if k.forks(k.up[i]) {
		r.Number = int(k.number[i])
	}
	if r.Active {
		r.Link = a.route.leaf
	}
	return r
}

// run returns the row for the entries between an ancestor and its descendant.
func (a *artist) run(up, i int32) Row {
	k := a.k
	last := k.up[i]
	r := Row{Kind: RowRun}
	if last == up {
		return r
	}
	r.Count, r.Branches = int(k.heads[last]-k.heads[up]), int(k.sideways[last]-k.sideways[up])
	r.Entry, r.Link, r.Active = k.id(last), k.id(k.end(i)), a.route.at(last) >= 0
	if a.route.at(i) >= 0 {
		r.Link = a.route.leaf
	}
	return r
}

// rest returns the row for everything below an entry, if nothing there is drawn.
func (a *artist) rest(i int32) Row {
	k := a.k
	r := Row{Kind: RowRun, Count: int(k.weight[i]) - 1, Branches: max(int(k.kids[i])-1, 0)}
	if r.Count > 0 {
		tip := k.tip[i]
		r.Entry, r.Link, r.Active = k.id(tip), k.id(k.end(i)), a.route.at(tip) >= 0
	}
	return r
}

// describe sets the texts of the rows.
func (d *Document) describe(ctx context.Context, rail *Rail) error {
	r := d.reader(ctx)
	for n := range rail.Rows {
		if row := &rail.Rows[n]; row.Kind != RowRun {
			if err := d.describeRow(ctx, r, row); err != nil {
				return err
			}
		}
	}
	return nil
}

// describeRow sets the text of an entry's row.
func (d *Document) describeRow(ctx context.Context, r *wire.Reader, row *Row) (err error) {
	e := d.k.t.At(int(row.index))
	row.Role, row.Label = e.Role, d.k.t.Label(e.ID)
	switch e.Kind {
	case session.KindCompaction:
		row.Block = Compaction
	case session.KindBranchSummary:
		row.Block = Summary
	case session.KindOpaque:
		row.Block = Opaque
	}
	if row.Number > 0 {
		row.Text, err = d.label(ctx, r, row.index)
	} else {
		row.Text, err = d.line(ctx, r, row.index)
	}
	return err
}
