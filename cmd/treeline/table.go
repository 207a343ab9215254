package main

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/wire"
)

// column is one column of a table.
type column struct {
	name  string
	right bool                // aligned to the right: numbers
	path  bool                // cut at the front: the end of a path matters
	mark  func(string) string // applied after cutting and filling, so that escape sequences are never cut or counted
	// least is the width that texts can be cut to, drop when the column is left out of a narrow line; see box.
	least, drop int

	cells cells
	width int
}

// cell is a text and its width on a terminal.
type cell struct {
	text  string
	width int
}

// cells are those of a column, as bytes: a list may have a hundred thousand rows, and their strings would be most of its memory. They are
// added at one end and taken at the other.
type cells struct {
	pages []string // of each cell its width, its length and its text
	last  []byte   // the page that is being filled
	first string   // the rest of the one that is being taken
}

// pageOfCells is the size of a page.
const pageOfCells = 16 << 10

func (c *cells) add(one cell) {
	c.last = binary.AppendUvarint(binary.AppendUvarint(c.last, uint64(one.width)), uint64(len(one.text)))
	if c.last = append(c.last, one.text...); len(c.last) >= pageOfCells {
		c.flush()
	}
}

func (c *cells) flush() { c.pages, c.last = append(c.pages, string(c.last)), c.last[:0] }

// take removes and returns the first cell. ok is false if no cell is left.
func (c *cells) take() (one cell, ok bool) {
	if c.first == "" && len(c.pages) == 0 && len(c.last) > 0 {
		c.flush()
	}
	if c.first == "" && len(c.pages) > 0 {
		c.first, c.pages[0], c.pages = c.pages[0], "", c.pages[1:]
	}
	if c.first == "" {
		return one, false
	}
	one.width = c.number()
	size := c.number()
	one.text, c.first = c.first[:size], c.first[size:]
	return one, true
}

func (c *cells) number() int {
	for i, v := 0, 0; ; i++ {
		if v |= int(c.first[i]&0x7f) << (7 * i); c.first[i] < 0x80 {
			c.first = c.first[i+1:]
			return v
		}
	}
}

// table is text in aligned columns.
type table []column

// add takes one cell for each column and measures it.
func (t table) add(texts ...string) {
	for i := range t {
		c := &t[i]
		w := displaywidth.String(texts[i])
		c.cells.add(cell{texts[i], w})
		c.width = max(c.width, w, len(c.name))
	}
}

// fit leaves out columns and cuts texts until the table has the width of the terminal. Numbers and ids are never cut.
func (t table) fit(columns int) table {
	list := make([]box, len(t))
	for i := range t {
		list[i] = box{t[i].width, t[i].least, t[i].drop}
	}
	squeeze(list, columns)
	var kept table
	spare := 0 // gained where a path was cut between two names
	for i, c := range t {
		if list[i].width == 0 {
			continue
		}
		if width := min(c.width, list[i].width+spare); width < c.width {
			c.shorten(width)
			spare += list[i].width - c.width
		}
		kept = append(kept, c)
	}
	return kept
}

// shorten cuts the texts of a column to a width.
func (c *column) shorten(width int) {
	cut := screen.Cut
	if c.path {
		cut = screen.CutPath
	}
	c.width = len(c.name)
	var short cells
	for one, ok := c.cells.take(); ok; one, ok = c.cells.take() {
		if one.width > width {
			one.text = cut(one.text, width)
			one.width = displaywidth.String(one.text)
		}
		c.width = max(c.width, one.width)
		short.add(one)
	}
	c.cells = short
}

// write prints the names of the columns and the rows, as wide as the terminal. Lines do not end in blanks.
func (t table) write(out *output) {
	if out.width > 0 {
		t = t.fit(out.width)
	}
	for i := range t {
		t[i].width = max(t[i].width, len(t[i].name)) // there may be no rows
		t.cell(out, i, cell{t[i].name, len(t[i].name)}, out.style.dim)
	}
	for more := true; more; {
		for i := range t {
			var one cell
			if one, more = t[i].cells.take(); more {
				t.cell(out, i, one, t[i].mark)
			}
		}
	}
}

// cell prints one cell and the gap or newline after it.
func (t table) cell(out *output, i int, c cell, mark func(string) string) {
	fill := strings.Repeat(" ", t[i].width-c.width)
	if t[i].right {
		out.WriteString(fill)
	}
	out.WriteString(mark(c.text))
	if i == len(t)-1 {
		out.WriteByte('\n')
		return
	}
	if !t[i].right {
		out.WriteString(fill)
	}
	out.WriteString(gap)
}

// dash stands for an empty cell.
func dash(s string) string { return cmp.Or(s, "-") }

// folder is a path in a cell.
func folder(path, home string) string { return dash(wire.Tilde(screen.OneLine(path, 0), home)) }

// when is a time as people say it on a terminal. In a pipe it is absolute and sorts.
func (o *output) when(t time.Time) string {
	if o.width > 0 {
		return wire.Ago(t.Local(), o.now)
	}
	// RFC3339 is written four times as fast as another layout.
	if text := t.Local().AppendFormat(make([]byte, 0, len(time.RFC3339)), time.RFC3339); text[4] == '-' {
		text[10] = ' '
		return string(text[:16])
	}
	return t.Local().Format("2006-01-02 15:04") // a year of five digits
}

// On a narrow terminal the least important boxes of a line are left out first, then texts are cut. An id is never cut:
// if nothing else is left, the line is too long.

// box is something on a line.
type box struct {
	width int // what it would take and, after squeeze, what it gets: 0 if it is left out
	least int // what it can be cut to, 0 if it cannot be cut
	drop  int // when it is left out: 1 goes first, 0 stays
}

const (
	gap = "  "
	// leastProject and leastTitle are the least widths that are worth a column, fewest is what can still be read.
	leastProject = 12
	leastTitle   = 16
	fewest       = 8
)

// squeeze makes boxes fit into so many columns. Those that can be cut share what the others leave. The last of them
// gets the most, since titles say more than projects.
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
	room, after, last := -over, 0, 0 // after: the least that later boxes need
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

// need is the width of boxes with their gaps, whole or cut as far as possible.
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

// line writes one row without names and alignment, as wide as the terminal. Empty texts are left out.
func (t table) line(out *output, indent string, texts ...string) {
	t.add(texts...)
	if out.width > 0 {
		t = t.fit(out.width - len(indent))
	}
	var words []string
	for _, c := range t {
		if one, _ := c.cells.take(); one.text != "" {
			words = append(words, c.mark(one.text))
		}
	}
	fmt.Fprintln(out, indent+strings.Join(words, gap))
}

// align joins the cells of each row so that columns begin at the same place.
func align(rows [][]string) []string {
	var widths []int
	for _, row := range rows {
		widths = append(widths, make([]int, max(0, len(row)-len(widths)))...)
		for i, text := range row {
			widths[i] = max(widths[i], screen.Width(text, false))
		}
	}
	lines := make([]string, 0, len(rows))
	for _, row := range rows {
		last := len(row) - 1
		for i, text := range row[:last] {
			row[i] = screen.Pad(text, widths[i], false)
		}
		lines = append(lines, strings.Join(row, gap))
	}
	return lines
}
