package console

// On a narrow terminal, the least important boxes of a line are dropped first, then texts are cut. An id is never cut: if nothing else is
// left, the line is too long.

// box is a piece of a line.
type box struct {
	width int // preferred width; squeeze changes it to the width it gets, 0 if it is dropped
	least int // least width to which it can be cut; 0 if it cannot be cut
	drop  int // when it is dropped: 1 first, 0 never
}

// The least widths of texts.
const (
	LeastProject = 12 // of a column that is worth having
	LeastTitle   = 16 // of a column that is worth having
	Fewest       = 8  // of a text that is still readable
)

// gap is the space between two columns.
const gap = "  "

// squeeze makes boxes fit into a number of columns. Boxes that can be cut share the space that the others leave. The last of them gets the
// most, since titles say more than projects.
func squeeze(list []box, columns int) {
	for need(list, false) > columns {
		drop := -1
		for i, b := range list {
			if b.width > 0 && b.drop > 0 && (drop < 0 || b.drop < list[drop].drop) {
				drop = i
			}
		}
		if drop < 0 {
			break
		}
		list[drop].width = 0
	}
	over := need(list, true) - columns
	if over <= 0 {
		return
	}
	room, after, last := -over, 0, 0 // after is the least width of the later boxes
	for i, b := range list {
		if b.width > 0 && b.least > 0 {
			room, after, last = room+b.width, after+min(b.width, b.least), i
		}
	}
	for i := range list {
		b := &list[i]
		if b.width == 0 || b.least == 0 {
			continue
		}
		after -= min(b.width, b.least)
		if i == last {
			b.width = min(b.width, max(room, Fewest))
		} else {
			b.width = min(b.width, max(min(room/3, room-after), b.least))
		}
		room -= b.width
	}
}

// need returns the width of boxes with their gaps, either whole or cut as far as possible.
func need(list []box, whole bool) (n int) {
	for _, b := range list {
		switch {
		case b.width == 0:
			continue
		case b.least > 0 && !whole:
			n += min(b.width, b.least)
		default:
			n += b.width
		}
		n += len(gap)
	}
	return max(0, n-len(gap))
}
