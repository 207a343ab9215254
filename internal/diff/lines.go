package diff

import (
	"slices"
	"sort"
)

// change replaces removed lines at a by added lines at b. same is the number of equal lines that follow.
type change struct{ a, removed, b, added, same int }

// match is a stretch of equal lines.
type match struct{ a, b, n int }

// changes compares two lists of lines. Lines that occur once in each list, and in the same order, are fixed points; between two of these it
// looks for the shortest change.
func changes(a, b []string) []change {
	x, y := intern(a, b)
	c := comparison{a: x, b: y}
	head := prefix(x, y)
	tail := suffix(x[head:], y[head:])
	c.match(0, 0, head)
	at, bt := head, head
	for _, m := range unique(x[head:len(x)-tail], y[head:len(y)-tail]) {
		i, k := head+m.a, head+m.b
		if i < at || k < bt { // the stretch before it has extended over it
			continue
		}
		c.between(at, i, bt, k)
		n := prefix(x[i:len(x)-tail], y[k:len(y)-tail])
		c.match(i, k, n)
		at, bt = i+n, k+n
	}
	c.between(at, len(x)-tail, bt, len(y)-tail)
	c.match(len(x)-tail, len(y)-tail, tail)
	return c.changes()
}

// comparison collects stretches of equal lines, in order.
type comparison struct {
	a, b    []int32
	matches []match
}

func (c *comparison) match(a, b, n int) {
	if n == 0 {
		return
	}
	if k := len(c.matches) - 1; k >= 0 {
		if m := &c.matches[k]; m.a+m.n == a && m.b+m.n == b {
			m.n += n
			return
		}
	}
	c.matches = append(c.matches, match{a, b, n})
}

// changes returns the differences between the stretches of equal lines.
func (c *comparison) changes() (list []change) {
	at, bt := 0, 0
	add := func(a, b int) {
		if a > at || b > bt {
			list = append(list, change{a: at, removed: a - at, b: bt, added: b - bt})
		}
	}
	for _, m := range c.matches {
		add(m.a, m.b)
		if len(list) > 0 {
			list[len(list)-1].same = m.n
		}
		at, bt = m.a+m.n, m.b+m.n
	}
	add(len(c.a), len(c.b))
	return list
}

// intern assigns a number to each different line.
func intern(a, b []string) (x, y []int32) {
	ids := make(map[string]int32, len(a))
	number := func(lines []string) []int32 {
		out := make([]int32, len(lines))
		for i, l := range lines {
			id, ok := ids[l]
			if !ok {
				id = int32(len(ids))
				ids[l] = id
			}
			out[i] = id
		}
		return out
	}
	return number(a), number(b)
}

func prefix(a, b []int32) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func suffix(a, b []int32) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// unique returns the longest list of lines that occur once in a and once in b, and in the same order in both.
func unique(a, b []int32) []match {
	type seen struct{ a, b, countA, countB int }
	lines := map[int32]*seen{}
	for i, l := range a {
		s := lines[l]
		if s == nil {
			s = &seen{}
			lines[l] = s
		}
		s.a = i
		s.countA++
	}
	for i, l := range b {
		if s := lines[l]; s != nil {
			s.b = i
			s.countB++
		}
	}
	// The longest increasing sequence: heaps[k] is the match that ends the best sequence of k+1 lines.
	var list []match
	var heaps []int
	var before []int
	for i, l := range a {
		s := lines[l]
		if s.countA != 1 || s.countB != 1 {
			continue
		}
		list = append(list, match{a: i, b: s.b, n: 1})
		n := len(list) - 1
		k := sort.Search(len(heaps), func(k int) bool { return list[heaps[k]].b > s.b })
		previous := -1
		if k > 0 {
			previous = heaps[k-1]
		}
		before = append(before, previous)
		if k == len(heaps) {
			heaps = append(heaps, n)
		} else {
			heaps[k] = n
		}
	}
	if len(heaps) == 0 {
		return nil
	}
	var out []match
	for n := heaps[len(heaps)-1]; n >= 0; n = before[n] {
		out = append(out, list[n])
	}
	slices.Reverse(out)
	return out
}

// mostEdits bounds the search for the shortest change. Larger differences are replaced as a whole: the search takes time and memory with
// the square of the number of edits.
const mostEdits = 400

// between finds equal lines of a[a0:a1] and b[b0:b1] by the algorithm of Myers: the furthest points that are reached with d
// edits, for each d, until the end is reached.
func (c *comparison) between(a0, a1, b0, b1 int) {
	a, b := c.a[a0:a1], c.b[b0:b1]
	if len(a) == 0 || len(b) == 0 {
		return
	}
	n, m := len(a), len(b)
	most := min(n+m, mostEdits)
	v := make([]int32, 2*most+3) // furthest x on each diagonal
	var trace [][]int32
	zero := most + 1
	for d := 0; d <= most; d++ {
		trace = append(trace, slices.Clone(v[zero-d-1:zero+d+2]))
		for k := -d; k <= d; k += 2 {
			var x int
			if k == -d || k != d && v[zero+k-1] < v[zero+k+1] {
				x = int(v[zero+k+1])
			} else {
				x = int(v[zero+k-1]) + 1
			}
			y := x - k
			for x < n && y < m && y >= 0 && a[x] == b[y] {
				x, y = x+1, y+1
			}
			v[zero+k] = int32(x)
			if x >= n && y >= m {
				c.walkBack(trace, n, m, a0, b0)
				return
			}
		}
	}
}

// walkBack follows the trace from its end and records the equal lines.
func (c *comparison) walkBack(trace [][]int32, x, y, a0, b0 int) {
	var found []match
	for d := len(trace) - 1; d >= 0; d-- {
		v, zero := trace[d], d+1 // v[zero+k] is diagonal k
		k := x - y
		var from int
		if k == -d || k != d && v[zero+k-1] < v[zero+k+1] {
			from = k + 1
		} else {
			from = k - 1
		}
		px := int(v[zero+from])
		py := px - from
		if d == 0 {
			px, py = 0, 0
		}
		n := min(x-px, y-py)
		if d > 0 { // one step down or right comes before the equal lines
			if from == k+1 {
				n = y - py - 1
			} else {
				n = x - px - 1
			}
		}
		if n > 0 {
			found = append(found, match{x - n, y - n, n})
		}
		x, y = px, py
	}
	for _, m := range slices.Backward(found) {
		c.match(a0+m.a, b0+m.b, m.n)
	}
}
