package main

import (
	"github.com/clipperhouse/displaywidth"
	"github.com/treeline-dev/treeline/internal/screen"
)

// column is one column of a table.
// mark is applied after cutting and filling, so that escape sequences are never cut and never counted.
type column struct {
	name  string
	right bool // aligned to the right: numbers
	path  bool // of a path the end matters
	mark  func(string) string
	// least is what its texts can be cut to, drop when it is left out of a line that is too short; see box.
	least, drop int

	cells []cell
	width int
}

// cell is a text and the columns that it takes on a terminal.
type cell struct {
	text  string
	width int
}

// table is text in columns, aligned by what the text takes on a terminal.
type table []column

// grow makes room for n rows.
func (t table) grow(n int) {
	for i := range t {
		t[i].cells = make([]cell, 0, n)
	}
}

// add takes a cell for each column. Widths are measured once, here.
func (t table) add(texts ...string) {
	for i := range t {
		c := &t[i]
		w := displaywidth.String(texts[i])
		c.cells = append(c.cells, cell{texts[i], w})
		c.width = max(c.width, w, len(c.name))
	}
}

// fit gives the table that is as wide as the terminal: columns are left out, and texts cut, where they say that they can.
// Columns of numbers and ids are never cut: half an id is no id.
func (t table) fit(columns int) table {
	list := make([]box, len(t))
	for i := range t {
		list[i] = box{t[i].width, t[i].least, t[i].drop}
	}
	squeeze(list, columns)
	var kept table
	spare := 0 // what a path does not need because it is cut between two names
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
	for i := range c.cells {
		c.cells[i].shorten(width, cut)
		c.width = max(c.width, c.cells[i].width)
	}
}

func (c *cell) shorten(width int, cut func(string, int) string) {
	if c.width > width {
		c.text = cut(c.text, width)
		c.width = displaywidth.String(c.text)
	}
}

// write prints the names of columns and the rows. Nothing is put behind the last column, so lines do not end in
// blanks.
func (t table) write(out *output) {
	for i := range t {
		t.cell(out, i, cell{t[i].name, len(t[i].name)}, out.style.dim)
	}
	for row := range t[0].cells {
		for i := range t {
			t.cell(out, i, t[i].cells[row], t[i].mark)
		}
	}
}

// cell writes one cell and what stands behind it.
func (t table) cell(out *output, i int, c cell, mark func(string) string) {
	last := i == len(t)-1
	fill := t[i].width - c.width
	if t[i].right {
		spaces(out, fill)
	}
	out.WriteString(mark(c.text))
	if !t[i].right && !last {
		spaces(out, fill)
	}
	if last {
		out.WriteByte('\n')
	} else {
		out.WriteString(gap)
	}
}

// spaces writes from a constant: a table of ten thousand rows would otherwise make as many strings.
func spaces(out *output, n int) {
	const some = "                                                                "
	for ; n > 0; n -= len(some) {
		out.WriteString(some[:min(n, len(some))])
	}
}
