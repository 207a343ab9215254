package main

import (
	"cmp"
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

	cells []cell
	width int
}

// cell is a text and its width on a terminal.
type cell struct {
	text  string
	width int
}

// table is text in aligned columns.
type table []column

// grow makes room for n rows.
func (t table) grow(n int) {
	for i := range t {
		t[i].cells = make([]cell, 0, n)
	}
}

// add takes one cell for each column and measures it.
func (t table) add(texts ...string) {
	for i := range t {
		c := &t[i]
		w := displaywidth.String(texts[i])
		c.cells = append(c.cells, cell{texts[i], w})
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
	for i := range c.cells {
		cell := &c.cells[i]
		if cell.width > width {
			cell.text = cut(cell.text, width)
			cell.width = displaywidth.String(cell.text)
		}
		c.width = max(c.width, cell.width)
	}
}

// write prints the names of the columns and the rows, as wide as the terminal. Lines do not end in blanks.
func (t table) write(out *output) {
	if out.width > 0 {
		t = t.fit(out.width)
	}
	for i := range t {
		t.cell(out, i, cell{t[i].name, len(t[i].name)}, out.style.dim)
	}
	for row := range t[0].cells {
		for i := range t {
			t.cell(out, i, t[i].cells[row], t[i].mark)
		}
	}
}

// cell prints one cell and the gap or newline after it.
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

// spaces writes from a constant, so that a long table allocates no strings.
func spaces(out *output, n int) {
	const some = "                                                                "
	for ; n > 0; n -= len(some) {
		out.WriteString(some[:min(n, len(some))])
	}
}

// dash stands for an empty cell.
func dash(s string) string { return cmp.Or(s, "-") }

// when is a time as people say it on a terminal. In a pipe it is absolute and sorts.
func (o *output) when(t time.Time) string {
	if o.width > 0 {
		return wire.Ago(t.Local(), time.Now())
	}
	return t.Local().Format("2006-01-02 15:04")
}
