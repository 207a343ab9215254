package view

import (
	"slices"

	"github.com/treeline-dev/treeline/session"
)

// pane is a list of items that is scrolled line by line. It holds a part of a list that may be much longer, and lays out only what is
// visible: the height of everything before and after is unknown.
type pane struct {
	items []*item
	// earlier and later report whether the list has more items before and after.
	earlier, later bool
	top            spot
	cur            int // the item under the cursor
	width, height  int
}

// spot is a line of a pane.
type spot struct{ item, part, line int }

func (a spot) before(b spot) bool {
	if a.item != b.item {
		return a.item < b.item
	}
	if a.part != b.part {
		return a.part < b.part
	}
	return a.line < b.line
}

// lines returns the lines of a spot's part.
func (p *pane) lines(at spot) []line { return p.items[at.item].parts[at.part].at(p.width) }

// valid reports whether a spot is a line.
func (p *pane) valid(at spot) bool {
	return at.item >= 0 && at.item < len(p.items) && at.part >= 0 && at.part < len(p.items[at.item].parts) &&
		at.line >= 0 && at.line < len(p.lines(at))
}

// next returns the line after a spot.
func (p *pane) next(at spot) (spot, bool) {
	if at.line++; p.valid(at) {
		return at, true
	}
	for at.line = 0; at.item < len(p.items); at.item, at.part = at.item+1, -1 {
		for at.part++; at.part < len(p.items[at.item].parts); at.part++ {
			if len(p.lines(at)) > 0 {
				return at, true
			}
		}
	}
	return at, false
}

// previous returns the line before a spot.
func (p *pane) previous(at spot) (spot, bool) {
	if at.line > 0 {
		at.line--
		return at, true
	}
	for {
		for at.part--; at.part >= 0; at.part-- {
			if n := len(p.lines(at)); n > 0 {
				at.line = n - 1
				return at, true
			}
		}
		if at.item--; at.item < 0 {
			return at, false
		}
		at.part = len(p.items[at.item].parts)
	}
}

// begin returns the first line of an item.
func (p *pane) begin(n int) spot {
	at := spot{item: n}
	if len(p.items[n].parts) == 0 || len(p.lines(at)) == 0 {
		at, _ = p.next(at)
	}
	return at
}

// end returns the last line.
func (p *pane) end() (spot, bool) { return p.previous(spot{item: len(p.items)}) }

// visible returns the visible lines from the top.
func (p *pane) visible() []spot {
	if len(p.items) == 0 || !p.valid(p.top) {
		return nil
	}
	list := make([]spot, 0, p.height)
	at, ok := p.top, true
	for ok && len(list) < p.height {
		list = append(list, at)
		at, ok = p.next(at)
	}
	return list
}

// scroll scrolls by n lines, down if n is positive. It returns by how many it did.
func (p *pane) scroll(n int) (moved int) {
	if len(p.items) == 0 {
		return 0
	}
	last, any := p.lastTop()
	for ; n > 0 && any && p.top.before(last); n-- {
		at, ok := p.next(p.top)
		if !ok {
			break
		}
		p.top = at
		moved++
	}
	for ; n < 0; n++ {
		at, ok := p.previous(p.top)
		if !ok {
			break
		}
		p.top = at
		moved--
	}
	return moved
}

// lastTop returns the top at which the last line is at the bottom.
func (p *pane) lastTop() (spot, bool) {
	at, ok := p.end()
	if !ok {
		return spot{}, false
	}
	for range p.height - 1 {
		before, ok := p.previous(at)
		if !ok {
			break
		}
		at = before
	}
	return at, true
}

// atEnd reports whether the last line of the whole list is visible.
func (p *pane) atEnd() bool {
	if p.later || len(p.items) == 0 {
		return !p.later
	}
	last, ok := p.lastTop()
	return !ok || !p.top.before(last)
}

// toEnd shows the last line; toBegin shows the first one.
func (p *pane) toEnd() {
	p.top, _ = p.lastTop()
	p.cur = max(len(p.items)-1, 0)
}

func (p *pane) toBegin() { p.top, p.cur = spot{}, 0; p.settle() }

// settle makes sure that the top is a line, and not too far down.
func (p *pane) settle() {
	if len(p.items) == 0 {
		p.top, p.cur = spot{}, 0
		return
	}
	p.cur = min(max(p.cur, 0), len(p.items)-1)
	if !p.valid(p.top) {
		p.top.item = min(max(p.top.item, 0), len(p.items)-1)
		if n := len(p.items[p.top.item].parts); p.top.part < n && p.top.part >= 0 && len(p.lines(spot{p.top.item, p.top.part, 0})) > 0 {
			p.top.line = max(min(p.top.line, len(p.lines(p.top))-1), 0)
		} else {
			p.top = p.begin(p.top.item)
		}
	}
	if last, ok := p.lastTop(); ok && last.before(p.top) && !p.later {
		p.top = last
	}
}

// resize sets the size. The top line stays in place if possible.
func (p *pane) resize(width, height int) {
	width, height = max(width, 8), max(height, 1)
	if width == p.width && height == p.height {
		return
	}
	end := p.width > 0 && p.atEnd()
	if len(p.items) > 0 && width != p.width && p.width > 0 && p.valid(p.top) {
		// The same fraction of the part remains above the top.
		was := len(p.lines(p.top))
		p.width = width
		if now := len(p.lines(spot{p.top.item, p.top.part, 0})); now > 0 {
			p.top.line = p.top.line * now / was
		}
	}
	p.width, p.height = width, height
	if end && len(p.items) > 0 {
		cur := p.cur
		p.toEnd()
		p.cur = cur
	}
	p.settle()
	if from, _, _, _ := p.rows(p.cur); from < 0 {
		p.reveal()
	}
}

// rows returns the first and the last row of an item on the screen, and whether its first and last lines are visible. from is -1 if it is
// not visible.
func (p *pane) rows(n int) (from, to int, begins, ends bool) {
	from = -1
	for row, at := range p.visible() {
		if at.item != n {
			continue
		}
		if from < 0 {
			from = row
			begins = at == p.begin(n)
		}
		to = row
		next, ok := p.next(at)
		ends = !ok || next.item != n
	}
	return from, to, begins, ends
}

// down goes to the next item, or scrolls within one that does not fit.
func (p *pane) down() {
	if from, _, _, ends := p.rows(p.cur); from >= 0 && !ends && p.scroll(1) != 0 {
		return
	}
	if p.cur+1 < len(p.items) {
		p.cur++
		p.reveal()
	}
}

// up goes to the previous item, or scrolls within one that does not fit.
func (p *pane) up() {
	if from, _, begins, _ := p.rows(p.cur); from >= 0 && !begins && p.scroll(-1) != 0 {
		return
	}
	if p.cur > 0 {
		p.cur--
		p.reveal()
	}
}

// reveal scrolls until the item under the cursor is visible; if it does not fit, from its first line on.
func (p *pane) reveal() {
	if len(p.items) == 0 {
		return
	}
	from, _, begins, ends := p.rows(p.cur)
	switch {
	case from < 0 && p.top.item > p.cur: // above the screen
		p.top = p.begin(p.cur)
		if below, ok := p.stretch(p.cur); !ok { // moving up, its end is reached first
			p.top = below
		}
	case from < 0:
		p.top = p.begin(p.cur)
		if last, ok := p.stretch(p.cur); ok {
			p.top = last
			p.scrollBack(p.cur)
		}
	case begins && !ends:
		for range p.height {
			if at, _, _, ends := p.rows(p.cur); ends || at <= 0 || p.scroll(1) == 0 {
				break
			}
		}
	case !begins && from == 0:
		if below, ok := p.stretch(p.cur); ok {
			p.top = below
		}
	}
	p.settle()
}

// stretch returns the first line of an item if it fits on the screen, and otherwise the line at which its end is at the bottom.
func (p *pane) stretch(n int) (spot, bool) {
	at := p.begin(n)
	for range p.height {
		next, ok := p.next(at)
		if !ok || next.item != n {
			return p.begin(n), true
		}
		at = next
	}
	last, _ := p.previous(spot{item: n + 1})
	for range p.height - 1 {
		last, _ = p.previous(last)
	}
	return last, false
}

// scrollBack moves the top up until the end of an item is at the bottom.
func (p *pane) scrollBack(n int) {
	for range p.height {
		at, ok := p.previous(p.top)
		if !ok {
			return
		}
		was := p.top
		p.top = at
		if _, _, _, ends := p.rows(n); !ends {
			p.top = was
			return
		}
	}
}

// follow puts the cursor on a visible item after scrolling.
func (p *pane) follow() {
	list := p.visible()
	if len(list) == 0 {
		return
	}
	first, last := list[0].item, list[len(list)-1].item
	if p.cur >= first && p.cur <= last {
		return
	}
	if p.cur > last {
		p.cur = last
		return
	}
	p.cur = first
	if first < last && list[0] != p.begin(first) { // an item that begins on the screen is the one being read
		p.cur = first + 1
	}
}

// find returns the index of the item with a key, or else of one that shows an entry; -1 if there is none.
func (p *pane) find(key string, id session.EntryID) int {
	if n := slices.IndexFunc(p.items, func(it *item) bool { return it.key == key && key != "" }); n >= 0 {
		return n
	}
	return slices.IndexFunc(p.items, func(it *item) bool { return id != "" && it.shows(id) })
}

// replace replaces the items. The top and the cursor stay in place if their items are still there.
func (p *pane) replace(items []*item, earlier, later bool) {
	var top, cur *item
	if p.top.item < len(p.items) {
		top = p.items[p.top.item]
	}
	if p.cur < len(p.items) {
		cur = p.items[p.cur]
	}
	p.items, p.earlier, p.later = items, earlier, later
	if cur != nil {
		if n := p.find(cur.key, cur.id); n >= 0 {
			p.cur = n
		}
	}
	n := -1
	if top != nil {
		n = p.find(top.key, top.id)
	}
	if n < 0 {
		p.cur = min(p.cur, max(len(items)-1, 0))
		p.top = spot{item: p.cur}
	} else {
		p.top.item = n
	}
	p.settle()
}

// mostItems is the largest number of items of a pane.
const mostItems = 400

// extend adds items at one end. If there are too many, it drops items at the other end, far from the cursor.
func (p *pane) extend(items []*item, atEnd, more bool) {
	if atEnd {
		p.items, p.later = append(p.items, items...), more
		if n := min(len(p.items)-mostItems, p.top.item-mostItems/4); n > 0 {
			p.items, p.earlier = slices.Delete(p.items, 0, n), true
			p.top.item, p.cur = p.top.item-n, max(p.cur-n, 0)
		}
	} else {
		p.items, p.earlier = append(slices.Clip(items), p.items...), more
		p.top.item, p.cur = p.top.item+len(items), p.cur+len(items)
		if n := max(mostItems, p.top.item+mostItems/4); len(p.items) > n {
			p.items, p.later = p.items[:n], true
		}
	}
	p.settle()
}

// near reports whether the screen is near an end of the loaded items.
func (p *pane) near(atEnd bool) bool {
	margin := max(30, p.height)
	if atEnd {
		return p.later && p.top.item > len(p.items)-margin
	}
	return p.earlier && p.top.item < margin
}
