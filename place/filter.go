package place

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/session"
)

// Filter narrows a list of sessions. The zero value lets all through; conditions that are set must all hold.
type Filter struct {
	// Source is the name of a dialect, or the folder of a source.
	Source string
	// CWD is the working directory; rows with an Err pass, because nobody knows whose they are.
	CWD string
	// Since and Until are the first moment that passes and the first that does not.
	Since, Until time.Time
	// Model fits a model that answered, Title what the session is called. Both are patterns with * and ?, whatever the case;
	// a Model without either need only occur in the name.
	Model, Title string
	// Has must all occur.
	Has index.Has
	// Only, if set, decides about the sessions that pass all else.
	Only func(*Row) bool
}

// Needs says whether the filter asks for what only the whole log tells.
func (f *Filter) Needs() bool { return f.Model != "" || f.Has != 0 }

// ErrUnknownSource is wrapped by the error for a source that there is not.
var ErrUnknownSource = fmt.Errorf("no such source")

// Filter keeps the rows that the filter lets through. The slice is used again.
func (m *Machine) Filter(rows []Row, f Filter) ([]Row, error) {
	if f.Source != "" {
		of, err := m.ofSource(f.Source)
		if err != nil {
			return nil, err
		}
		rows = slices.DeleteFunc(rows, func(r Row) bool { return !of(&r) })
	}
	if f.CWD != "" {
		rows = m.InDir(f.CWD, rows)
	}
	model, title := wildcard(f.Model, true), wildcard(f.Title, false)
	return slices.DeleteFunc(rows, func(r Row) bool {
		when := r.When()
		switch {
		case !f.Since.IsZero() && when.Before(f.Since), !f.Until.IsZero() && !when.Before(f.Until):
			return true
		// A row that was made without the catalogue, or one with an error: it cannot be said that it fits.
		case f.Needs() && r.Known == nil:
			return true
		case f.Has != 0 && r.Known.Has&f.Has != f.Has:
			return true
		case model != nil && !slices.ContainsFunc(r.Known.Models, model.MatchString):
			return true
		case title != nil && !title.MatchString(r.Heading()):
			return true
		}
		return f.Only != nil && !f.Only(&r)
	}), nil
}

// CheckSource says whether there is a source of that name, for those who want to know it before they read anything.
func (m *Machine) CheckSource(name string) error {
	if name == "" {
		return nil
	}
	_, err := m.ofSource(name)
	return err
}

// ofSource finds the rows of a source by its name or its folder. A dialect's name comes before a folder's: a folder of that
// name in the working directory can still be named by "./".
func (m *Machine) ofSource(name string) (func(*Row) bool, error) {
	if d, err := m.Dialect(name); err == nil {
		// Of a log that cannot be read, only its place says whose it is.
		of := func(r *Row) dialect.Dialect {
			if r.Dialect == nil {
				return r.Source.Dialect
			}
			return r.Dialect
		}
		if IsRuns(d) { // who names an agent means its sessions
			return func(r *Row) bool { return of(r) != nil && of(r).Family() == Sessions(d).Family() }, nil
		}
		return func(r *Row) bool { return of(r) == d }, nil
	}
	dir := m.Absolute(name)
	known := false
	for _, src := range m.Sources() {
		known = known || Within(dir, src.Root.Sessions)
	}
	if !known {
		return nil, fmt.Errorf("%q: %w", name, ErrUnknownSource)
	}
	return func(r *Row) bool { return Within(dir, Clean(r.Source.Root.Sessions)) }, nil
}

// wildcard makes an expression of a pattern with * and ?, nil of an empty one. With part set one that has neither need only
// occur.
func wildcard(pattern string, part bool) *regexp.Regexp {
	if pattern == "" {
		return nil
	}
	// Quoted as a whole, then the two wildcards are given their meaning back: so nothing else of a pattern is an
	// expression, and it always compiles.
	text := regexp.QuoteMeta(pattern)
	text = strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(text)
	if !part || strings.ContainsAny(pattern, "*?") {
		text = "^" + text + "$"
	}
	return regexp.MustCompile("(?is)" + text)
}

// Order is what a list is sorted by.
type Order string

// The orders. All but titles and projects begin with the largest, or the newest.
const (
	OrderWhen     Order = "when"
	OrderCreated  Order = "created"
	OrderSize     Order = "size"
	OrderMessages Order = "messages"
	OrderTokens   Order = "tokens"
	OrderCost     Order = "cost"
	OrderTitle    Order = "title"
	OrderProject  Order = "project"
)

// Orders lists them.
var Orders = []Order{OrderWhen, OrderCreated, OrderSize, OrderMessages, OrderTokens, OrderCost, OrderTitle, OrderProject}

// Sort orders rows that stand newest first by something else; among equals the newest stays first.
func Sort(rows []Row, by Order) []Row {
	known := func(r *Row) *index.Summary {
		if r.Known == nil {
			return new(index.Summary)
		}
		return r.Known
	}
	var compare func(a, b *Row) int
	switch by {
	case OrderCreated:
		compare = func(a, b *Row) int {
			x, _ := a.Created.Time()
			y, _ := b.Created.Time()
			return y.Compare(x)
		}
	case OrderSize:
		compare = func(a, b *Row) int { return cmp.Compare(b.Log.Size, a.Log.Size) }
	case OrderMessages:
		compare = func(a, b *Row) int { return cmp.Compare(b.Messages, a.Messages) }
	case OrderTokens:
		compare = func(a, b *Row) int { return cmp.Compare(known(b).Tokens.Total, known(a).Tokens.Total) }
	case OrderCost:
		compare = func(a, b *Row) int { return cmp.Compare(known(b).Cost, known(a).Cost) }
	case OrderTitle:
		compare = func(a, b *Row) int {
			return strings.Compare(strings.ToLower(a.Heading()), strings.ToLower(b.Heading()))
		}
	case OrderProject:
		compare = func(a, b *Row) int { return strings.Compare(a.CWD, b.CWD) }
	default:
		return rows
	}
	// Rows are large: pointers are sorted, and the rows moved once.
	order := make([]*Row, len(rows))
	for i := range rows {
		order[i] = &rows[i]
	}
	slices.SortStableFunc(order, compare)
	sorted := make([]Row, len(rows))
	for i, r := range order {
		sorted[i] = *r
	}
	return sorted
}

// Forks puts the sessions that were forked under the one that they come from, as far as that is in the list, and gives for
// each row how deep it stands. A fork is under its parent wherever its own time would put it. Where parents run in a circle,
// the first of them in the list stands for itself.
func Forks(rows []Row) (ordered []Row, depth []int) {
	parent := parents(rows)
	children := make([][]int, len(rows))
	for i, p := range parent {
		if p >= 0 {
			children[p] = append(children[p], i)
		}
	}
	ordered, depth = make([]Row, 0, len(rows)), make([]int, 0, len(rows))
	type place struct{ row, level int }
	var stack []place // forks of forks may be as deep as the list is long
	for i := range rows {
		if parent[i] < 0 {
			stack = append(stack, place{i, 0})
		}
		for len(stack) > 0 {
			at := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			ordered, depth = append(ordered, rows[at.row]), append(depth, at.level)
			// The last in comes out first: so forks stand in the order of the list.
			for _, c := range slices.Backward(children[at.row]) {
				stack = append(stack, place{c, at.level + 1})
			}
		}
	}
	return ordered, depth
}

// parents gives for each row the one that it comes from, -1 for none: each leads to a row without one. A parent is named by
// its path or its id. Folders are moved to other machines and homes with the paths in them as they were: a path that is not
// in the list means the only file there is of that name.
func parents(rows []Row) []int {
	const several = -2
	byID, byPath, byName := map[session.ID]int{}, map[string]int{}, map[string]int{}
	for i := range rows {
		r := &rows[i]
		if r.Err == nil && r.ID != "" {
			byID[r.ID] = i
		}
		byPath[r.Path] = i
		name := lastName(r.Path)
		if _, again := byName[name]; again {
			// Two files of one name: which is meant cannot be said.
			byName[name] = several
			continue
		}
		byName[name] = i
	}
	parent := make([]int, len(rows))
	for i := range rows {
		named := rows[i].Parent
		p, ok := byPath[named]
		if !ok {
			p, ok = byID[session.ID(named)]
		}
		// An id is no path: it has no last name to be looked for.
		if !ok && named != lastName(named) {
			p, ok = byName[lastName(named)]
		}
		if !ok || p == i || p == several || named == "" {
			p = -1
		}
		parent[i] = p
	}
	walk := make([]int, len(rows)) // the walk that came by, counted from 1
	for i := range rows {
		k := i
		for k >= 0 && walk[k] == 0 {
			walk[k] = i + 1
			k = parent[k]
		}
		if k < 0 || walk[k] != i+1 {
			continue
		}
		first := k // the walk met itself: k is in a circle
		for m := parent[k]; m != k; m = parent[m] {
			first = min(first, m)
		}
		// Cut at its first row, the circle is a tree below it; walks that come by later end in what was walked already.
		parent[first] = -1
	}
	return parent
}

// lastName is the last name of a path, of whichever system it was written on.
func lastName(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }
