package view

import (
	"maps"
	"slices"

	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/page"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/usage"
)

// Family relates the sessions of a list to each other.
type Family struct {
	Parents []int         // of each row; -1 means none
	Below   map[int][]int // the forks and sub-agents of a row
	Tasks   []int         // number of sub-agents of each row, including those of its sub-agents
	Folded  int           // number of sub-agents that have a parent in the list
	Repeats *usage.Catalogue
	// Agents, Models and CWDs are the values of the rows, the most frequent first.
	Agents, Models, CWDs []page.Choice
}

// FamilyOf relates the rows to each other. The result is computed once for each list.
func (l *List) FamilyOf() *Family {
	l.once.Do(func() {
		f := Family{Parents: place.Parents(l.Rows), Repeats: usage.Look(l.Rows), Below: map[int][]int{}, Tasks: make([]int, len(l.Rows))}
		agents, models, cwds := map[string]int{}, map[string]int{}, map[string]int{}
		for i := range l.Rows {
			r := &l.Rows[i]
			agents[r.Dialect.Name()]++
			if r.CWD != "" {
				cwds[r.CWD]++
			}
			if r.Known != nil {
				for _, m := range r.Known.Models {
					models[m]++
				}
			}
			if p := f.Parents[i]; p >= 0 {
				f.Below[p] = append(f.Below[p], i)
				if r.IsTask() {
					f.Folded++
				}
			}
			for p, k := f.Parents[i], i; p >= 0 && l.Rows[k].IsTask(); p, k = f.Parents[p], p {
				f.Tasks[p]++
			}
		}
		f.Agents, f.Models, f.CWDs = choices(agents), choices(models), choices(cwds)
		l.family = f
	})
	return &l.family
}

// choices lists values, the most frequent first.
func choices(count map[string]int) []page.Choice {
	const most = 40
	list := make([]page.Choice, 0, len(count))
	for _, value := range slices.Sorted(maps.Keys(count)) {
		list = append(list, page.Choice{Value: value, Count: count[value]})
	}
	sorting.By(list, func(a, b page.Choice) int { return b.Count - a.Count })
	return list[:min(len(list), most)]
}

// Placed is a row with its depth below other rows.
type Placed struct{ Row, Depth int }

// Nested puts forks below their parents, and leaves out sub-agents whose parent is in the list.
func Nested(order []int, shown map[int]bool, parents []int, task func(int) bool) []Placed {
	children := map[int][]int{}
	var roots []int
	folded := func(i int) bool { return task(i) && parents[i] >= 0 && shown[parents[i]] }
	for _, i := range order {
		switch p := parents[i]; {
		case folded(i):
		case p < 0 || !shown[p] || folded(p):
			roots = append(roots, i)
		default:
			children[p] = append(children[p], i)
		}
	}
	var list []Placed
	for _, root := range roots {
		stack := []Placed{{root, 0}}
		for len(stack) > 0 {
			at := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			list = append(list, at)
			for _, c := range slices.Backward(children[at.Row]) {
				stack = append(stack, Placed{c, at.Depth + 1})
			}
		}
	}
	return list
}
