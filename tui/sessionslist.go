package tui

import (
	"slices"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/place"
)

// count finds out what the rows have in common, once for each list.
func (s *sessions) count() {
	s.agents, s.tasks, s.parents = s.agents[:0], 0, place.Parents(s.rows)
	for i := range s.rows {
		if name := s.rows[i].Dialect.Name(); !slices.Contains(s.agents, name) {
			s.agents = append(s.agents, name)
		}
		if s.parents[i] >= 0 && s.rows[i].IsTask() {
			s.tasks++
		}
	}
	slices.Sort(s.agents)
}

// narrow makes the list of what the filter lets through.
func (s *sessions) narrow() {
	q := s.filter.read(s.now())
	s.wrong = q.wrong
	s.shown = s.shown[:0]
	if s.paged {
		for i := range s.rows {
			s.shown = append(s.shown, item{row: i})
		}
		return
	}
	if len(q.words) > 0 && s.texts == nil {
		s.texts = make([]string, len(s.rows))
		for i := range s.rows {
			s.texts[i] = haystack(&s.rows[i])
		}
	}
	order := make([]int, 0, len(s.rows))
	for i := range s.rows {
		text := ""
		if s.texts != nil {
			text = s.texts[i]
		}
		if q.fits(&s.rows[i], text) {
			order = append(order, i)
		}
	}
	s.nest(s.sorted(order))
}

// sorted orders rows as ls does.
func (s *sessions) sorted(order []int) []int {
	by := place.Orders[s.filter.order]
	if by == place.OrderWhen {
		return order // as they are
	}
	rows := make([]treeline.Row, len(order))
	at := make(map[string]int, len(order))
	for i, k := range order {
		rows[i] = s.rows[k]
		at[s.rows[k].Path] = k
	}
	for i, r := range place.Sort(rows, by) {
		order[i] = at[r.Path]
	}
	return order
}

// nest puts forks below their parents. Sub-agents whose session is in the list are counted there.
func (s *sessions) nest(order []int) {
	parents := s.parents
	in := make([]bool, len(s.rows))
	for _, i := range order {
		in[i] = true
	}
	folded := func(i int) bool { return parents[i] >= 0 && in[parents[i]] && s.rows[i].IsTask() }
	children, tasks := map[int][]int{}, map[int]int{}
	var roots []int
	for _, i := range order {
		switch p := parents[i]; {
		case folded(i):
			tasks[p]++
		case p >= 0 && in[p] && !folded(p):
			children[p] = append(children[p], i)
		default:
			roots = append(roots, i)
		}
	}
	var stack []item
	for _, root := range roots {
		stack = append(stack[:0], item{row: root})
		for len(stack) > 0 {
			at := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			at.tasks = tasks[at.row]
			s.shown = append(s.shown, at)
			for _, c := range slices.Backward(children[at.row]) {
				stack = append(stack, item{row: c, depth: at.depth + 1})
			}
		}
	}
}

// selected is the path under the cursor.
func (s *sessions) selected() string {
	if s.at < len(s.shown) {
		return s.rows[s.shown[s.at].row].Path
	}
	return ""
}

// reselect puts the cursor on a session again. At the first row it stays there: that is the newest.
func (s *sessions) reselect(path string) {
	if s.at == 0 {
		return
	}
	if i := slices.IndexFunc(s.shown, func(x item) bool { return s.rows[x.row].Path == path }); i >= 0 {
		s.top += i - s.at
		s.at = i
	}
}
