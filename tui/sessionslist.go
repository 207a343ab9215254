package tui

import (
	"cmp"
	"slices"

	"github.com/treeline-dev/treeline/place"
)

// count computes what concerns all sessions, once for each list.
func (s *sessions) count() {
	s.tasks, s.parents = 0, s.all.Parents()
	for i, p := range s.parents {
		if p >= 0 && s.all.IsTask(i) {
			s.tasks++
		}
	}
}

// narrow makes the list of the sessions that pass the filter.
func (s *sessions) narrow() {
	q := s.filter.read(s.now())
	s.wrong = q.wrong
	s.shown = s.shown[:0]
	if s.paged {
		for i := range s.all.Len() {
			s.shown = append(s.shown, item{row: i})
		}
		return
	}
	if len(q.words) > 0 && s.texts == nil {
		s.texts = make([]string, s.all.Len())
		for i := range s.texts {
			s.texts[i] = haystack(s.all.Row(i))
		}
	}
	order := make([]int, 0, s.all.Len())
	for i := range s.all.Len() {
		if (len(q.words) == 0 || q.inText(s.texts[i])) && (!q.looks() || q.fits(s.all.Row(i))) {
			order = append(order, i)
		}
	}
	s.sort(order)
	s.nest(order)
}

// sort orders sessions as ls does.
func (s *sessions) sort(order []int) {
	by := place.Orders[s.filter.order]
	if by == place.OrderWhen {
		return // already in order
	}
	keys := make([]place.Key, s.all.Len())
	for _, i := range order {
		keys[i] = s.all.Row(i).Key(by)
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(keys[a].Compare(&keys[b]), cmp.Compare(a, b)) })
}

// nest puts forks below their parents. Sub-agents whose session is in the list are only counted in its row.
func (s *sessions) nest(order []int) {
	parents := s.parents
	in := make([]bool, len(parents))
	for _, i := range order {
		in[i] = true
	}
	folded := func(i int) bool { return parents[i] >= 0 && in[parents[i]] && s.all.IsTask(i) }
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

// selected returns the path of the session under the cursor.
func (s *sessions) selected() string {
	if s.at < len(s.shown) {
		return s.all.Row(s.shown[s.at].row).Path
	}
	return ""
}

// reselect puts the cursor on a session again. A cursor on the first row stays there, which is the newest session.
func (s *sessions) reselect(path string) {
	if s.at == 0 {
		return
	}
	if i := slices.IndexFunc(s.shown, func(x item) bool { return s.all.Row(x.row).Path == path }); i >= 0 {
		s.top += i - s.at
		s.at = i
	}
}
