package convert

// openCalls are the calls of an entry that have no result yet. They are a value: each branch has its own. A branch that answers a call shares
// the rest with the others, because one answer may have very many calls.
type openCalls struct {
	at    int // the entry
	calls *calls
	taken *counts // by the number of the id
	left  int
}

// calls are the calls of one entry.
type calls struct {
	ids    []string       // in order
	number map[string]int // of each id
	times  []int32        // how often each id occurs, by its number
	width  int            // of the counts
}

// openOf returns the calls with some ids, all of them open.
func openOf(at int, ids []string) openCalls {
	c := &calls{ids: ids, number: map[string]int{}, width: fan}
	for _, id := range ids {
		n, ok := c.number[id]
		if !ok {
			n = len(c.times)
			c.number[id] = n
			c.times = append(c.times, 0)
		}
		c.times[n]++
	}
	for c.width < len(c.times) {
		c.width *= fan
	}
	return openCalls{at: at, calls: c, left: len(ids)}
}

// take returns the calls without one that has an id; ok is false if there is none.
func (o openCalls) take(id string) (rest openCalls, ok bool) {
	if o.left == 0 {
		return o, false
	}
	n, ok := o.calls.number[id]
	if !ok || o.taken.at(n, o.calls.width) == o.calls.times[n] {
		return o, false
	}
	o.taken = o.taken.with(n, o.calls.width)
	o.left--
	return o, true
}

// ids returns the ids of the open calls, in their order.
func (o openCalls) ids() (list []string) {
	if o.left == 0 {
		return nil
	}
	seen := make([]int32, len(o.calls.times))
	for _, id := range o.calls.ids {
		n := o.calls.number[id]
		if seen[n]++; seen[n] > o.taken.at(n, o.calls.width) {
			list = append(list, id)
		}
	}
	return list
}

// fan is how many children a node of counts has.
const fan = 16

// counts are numbers that do not change: with returns others, and shares all nodes but those on the way to the changed number.
type counts struct {
	below [fan]*counts
	here  [fan]int32 // of a node that has no children
}

// at returns the number at i. width is how many numbers there are room for, a power of fan.
func (c *counts) at(i, width int) int32 {
	for c != nil {
		if width /= fan; width == 1 {
			return c.here[i]
		}
		c, i = c.below[i/width], i%width
	}
	return 0
}

// with returns the counts with one more at i.
func (c *counts) with(i, width int) *counts {
	next := &counts{}
	if c != nil {
		*next = *c
	}
	if width /= fan; width == 1 {
		next.here[i]++
	} else {
		next.below[i/width] = next.below[i/width].with(i%width, width)
	}
	return next
}
