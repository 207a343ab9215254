package main

import (
	"fmt"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"github.com/treeline-dev/treeline/internal/screen"
)

// What stands beside each other on a line gives way where the terminal is narrow, so that lines stay lines: first the least
// important are left out, then texts are cut. What must be whole to be of use (an id) is never cut: where nothing else is
// left, the line is too long.

// box is something on a line.
type box struct {
	// width is what it would take and, behind squeeze, what it gets: 0 where it is left out.
	width int
	// least is what it can be cut to, 0 for what cannot be cut.
	least int
	// drop says when it is left out: 1 is the first to go. 0 stays.
	drop int
}

const (
	gap = "  "
	// leastProject and leastTitle are what is still worth a column, fewest is what can still be read.
	leastProject = 12
	leastTitle   = 16
	fewest       = 8
)

// squeeze makes boxes fit into so many columns. Those that can be cut share what the others leave: the last one takes most of
// it, since titles say more than projects.
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
	room, after, last := -over, 0, 0 // after is what those behind need at the least
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
			b.width = min(b.width, max(room, fewest))
		} else {
			b.width = min(b.width, max(min(room/3, room-after), b.least))
		}
		room -= b.width
	}
}

// need is how many columns boxes take, whole or cut as far as they can be.
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

// word is a text on a line that is no table's.
type word struct {
	text        string // clean, and one line; what is empty is left out
	mark        func(string) string
	path        bool // its end matters
	least, drop int  // see box
}

// writeWords writes a line of words that fits the terminal.
func writeWords(out *output, indent string, words []word) {
	list := make([]box, len(words))
	for i, w := range words {
		list[i] = box{width: displaywidth.String(w.text), least: w.least, drop: w.drop}
	}
	if out.width > 0 {
		squeeze(list, out.width-len(indent))
	}
	var texts []string
	for i, w := range words {
		cut := screen.Cut
		if w.path {
			cut = screen.CutPath
		}
		if list[i].width > 0 {
			texts = append(texts, w.mark(cut(w.text, list[i].width)))
		}
	}
	fmt.Fprintln(out, indent+strings.Join(texts, gap))
}
