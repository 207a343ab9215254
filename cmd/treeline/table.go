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
	mark  func(string) string

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

const gap = "  "

// The columns that give way where a line is too short: of a project the end matters, of a title the beginning.
const (
	projectColumn = 1
	titleColumn   = 2
	leastProject  = 12
	leastTitle    = 16
)

// fit makes the table as wide as the terminal: first the project gives way, then the title.
// Columns of numbers and ids are never cut: half an id is no id.
func (t table) fit(columns int) {
	total := len(gap) * (len(t) - 1)
	for i := range t {
		total += t[i].width
	}
	over := total - columns
	if over <= 0 {
		return
	}
	project, title := &t[projectColumn], &t[titleColumn]
	both := project.width + title.width - over
	if most := max(both/3, leastProject); project.width > most {
		project.width = len(project.name)
		for i := range project.cells {
			c := &project.cells[i]
			c.shorten(most, screen.CutPath)
			project.width = max(project.width, c.width)
		}
	}
	title.width = max(min(title.width, both-project.width), leastTitle)
	for i := range title.cells {
		title.cells[i].shorten(title.width, screen.Cut)
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
