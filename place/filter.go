package place

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/session"
)

// Filter narrows a list of sessions. The zero value lets all pass; conditions that are set must all hold.
type Filter struct {
	// Source is the name of a dialect, or the folder of a source.
	Source string
	// CWD is the working directory; rows with an Err pass, since their directory is unknown.
	CWD string
	// Since is the first moment that passes; Until is the first that does not.
	Since, Until time.Time
	// Model matches a model that answered, Title the session's heading. Both are patterns with * and ?, without regard to case; a Model
	// without these need only occur in the model's name.
	Model, Title string
	// Project, if set, decides by the working directory.
	Project func(cwd string) bool
	// Has lists things that the session must all have.
	Has index.Has
	// Only, if set, is a last condition: it is asked about rows that pass all others.
	Only func(*Row) bool
}

// Needs reports whether the filter needs what only a catalogue knows.
func (f *Filter) Needs() bool { return f.Model != "" || f.Has != 0 }

// ErrUnknownSource is wrapped by the error for a source that does not exist.
var ErrUnknownSource = errors.New("no such source")

// Filter keeps the rows that pass. It reuses the slice.
func (m *Machine) Filter(rows []Row, f Filter) ([]Row, error) {
	passes, err := m.Condition(f)
	if err != nil {
		return nil, err
	}
	return Drop(rows, func(r *Row) bool { return !passes(r) }), nil
}

// Condition returns the condition of a filter as a function.
func (m *Machine) Condition(f Filter) (passes func(*Row) bool, err error) {
	of, in := func(*Row) bool { return true }, func(*Row) bool { return true }
	if f.Source != "" {
		if of, err = m.ofSource(f.Source); err != nil {
			return nil, err
		}
	}
	if f.CWD != "" {
		in = m.inDir(f.CWD)
	}
	model, title := wildcard(f.Model, true), wildcard(f.Title, false)
	return func(r *Row) bool {
		when := r.When()
		return of(r) && in(r) && (f.Since.IsZero() || !when.Before(f.Since)) && (f.Until.IsZero() || when.Before(f.Until)) &&
			(!f.Needs() || r.Known != nil) && // without the catalogue, or with an error, whether the row passes is unknown
			(f.Project == nil || f.Project(r.CWD)) && (f.Has == 0 || r.Known.Has&f.Has == f.Has) &&
			(model == nil || slices.ContainsFunc(r.Known.Models, model.MatchString)) &&
			(title == nil || title.MatchString(r.Heading())) && (f.Only == nil || f.Only(r))
	}, nil
}

// CheckSource fails if there is no source of that name; "" means all sources.
func (m *Machine) CheckSource(name string) error {
	_, err := m.Condition(Filter{Source: name})
	return err
}

// ofSource returns a condition for the rows of a source, named by its dialect or its folder. The dialect comes first: a folder of that name
// in the working directory can be named with "./".
func (m *Machine) ofSource(name string) (func(*Row) bool, error) {
	if d, err := m.Dialect(name); err == nil {
		// The dialect of a log that cannot be read is that of its source.
		of := func(r *Row) dialect.Dialect {
			if r.Dialect == nil {
				return r.Source.Dialect
			}
			return r.Dialect
		}
		if IsRuns(d) { // the name of an agent means its sessions
			return func(r *Row) bool { return of(r) != nil && of(r).Family() == Sessions(d).Family() }, nil
		}
		// In the place of an agent the name means all logs of its family, whichever version wrote them.
		return func(r *Row) bool {
			return of(r) == d || r.Source.Dialect == d && r.Source.Why != WhyAsked && of(r).Family() == d.Family()
		}, nil
	}
	dir := m.Absolute(name)
	if !slices.ContainsFunc(m.Sources(), func(src Source) bool { return Within(dir, src.Root.Sessions) }) {
		return nil, fmt.Errorf("%q: %w", name, ErrUnknownSource)
	}
	return func(r *Row) bool { return Within(dir, Clean(r.Source.Root.Sessions)) }, nil
}

// ModelPattern returns the condition that Filter.Model sets, for the name of a model.
func ModelPattern(pattern string) func(model string) bool { return wildcard(pattern, true).MatchString }

// wildcard makes a regular expression of a pattern with * and ?, nil of an empty one. With part set, a pattern without these need only
// occur.
func wildcard(pattern string, part bool) *regexp.Regexp {
	if pattern == "" {
		return nil
	}
	// The pattern is quoted as a whole before the two wildcards get their meaning back. It is valid UTF-8, as titles are: it always
	// compiles.
	pattern = strings.ToValidUTF8(pattern, "\uFFFD")
	text := strings.NewReplacer(`\*`, `.*`, `\?`, `.`).Replace(regexp.QuoteMeta(pattern))
	if !part || strings.ContainsAny(pattern, "*?") {
		text = "^" + text + "$"
	}
	return regexp.MustCompile("(?is)" + text)
}

// Order is what a list is sorted by.
type Order string

// The orders. All but OrderTitle and OrderProject begin with the largest or newest.
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

// Orders lists all orders.
var Orders = []Order{OrderWhen, OrderCreated, OrderSize, OrderMessages, OrderTokens, OrderCost, OrderTitle, OrderProject}

// Sort sorts rows, which are newest first, in place by another order; the sort is stable.
func Sort(rows []Row, by Order) []Row {
	keys := make([]Key, len(rows))
	for i := range rows {
		keys[i] = rows[i].Key(by)
	}
	return sorting.Large(rows, func(a, b int) int { return keys[a].Compare(&keys[b]) })
}

// Key is what a list is sorted by. Large numbers come first.
type Key struct {
	Number   int64   `json:",omitzero"`
	Fraction float64 `json:",omitzero"`
	Text     string  `json:",omitzero"`
}

// Compare orders keys of one order.
func (k *Key) Compare(other *Key) int {
	return cmp.Or(cmp.Compare(other.Number, k.Number), cmp.Compare(other.Fraction, k.Fraction), strings.Compare(k.Text, other.Text))
}

// Key returns the key of a row. All keys of OrderWhen are equal.
func (r *Row) Key(by Order) (k Key) {
	switch {
	case by == OrderCreated:
		at, _ := r.Created.Time()
		k.Number, k.Fraction = at.Unix(), float64(at.Nanosecond())
	case by == OrderSize:
		k.Number = r.Log.Size
	case by == OrderMessages:
		k.Number = int64(r.Messages)
	case by == OrderTokens && r.Known != nil:
		k.Number = r.Known.Tokens.Total
	case by == OrderCost && r.Known != nil:
		k.Fraction = r.Known.Cost
	case by == OrderTitle:
		k.Text = strings.ToLower(r.Heading())
	case by == OrderProject:
		k.Text = r.CWD
	}
	return k
}

// Forks puts each fork after its parent if that is in the list, whatever their times, and returns the depth of each row. In a cycle of
// parents the first row of the list counts as the root.
func Forks(rows []Row) (ordered []Row, depth []int) {
	parent := Parents(rows)
	children := make([][]int, len(rows))
	for i, p := range parent {
		if p >= 0 {
			children[p] = append(children[p], i)
		}
	}
	ordered, depth = make([]Row, 0, len(rows)), make([]int, 0, len(rows))
	type place struct{ row, level int }
	var stack []place // a chain of forks may be as long as the list
	for i := range rows {
		if parent[i] < 0 {
			stack = append(stack, place{i, 0})
		}
		for len(stack) > 0 {
			at := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			ordered, depth = append(ordered, rows[at.row]), append(depth, at.level)
			// Backward: the last one pushed is popped first.
			for _, c := range slices.Backward(children[at.row]) {
				stack = append(stack, place{c, at.level + 1})
			}
		}
	}
	return ordered, depth
}

// Parents returns the index of each row's parent, -1 for none, without cycles. A parent is named by its path or its id. Folders move to
// other machines and keep the old paths in their logs: a path that is not in the list means the only file of that name.
func Parents(rows []Row) []int {
	const several = -2
	byID, byPath, byName := map[session.ID]int{}, map[string]int{}, map[string]int{}
	for i := range rows {
		r := &rows[i]
		if r.Err == nil && r.ID != "" {
			byID[r.ID] = i
		}
		byPath[r.Path] = i
		name := index.LastPart(r.Path)
		if _, again := byName[name]; again {
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
		// An id is not a path: it has no file name to look for.
		if !ok && named != index.LastPart(named) {
			p, ok = byName[index.LastPart(named)]
		}
		if !ok || p == i || p == several || named == "" {
			p = -1
		}
		parent[i] = p
	}
	walk := make([]int, len(rows)) // the walk that visited the row, counted from 1
	for i := range rows {
		k := i
		for k >= 0 && walk[k] == 0 {
			walk[k] = i + 1
			k = parent[k]
		}
		if k < 0 || walk[k] != i+1 {
			continue
		}
		first := k // the walk met itself: k is in a cycle
		for m := parent[k]; m != k; m = parent[m] {
			first = min(first, m)
		}
		parent[first] = -1
	}
	return parent
}
