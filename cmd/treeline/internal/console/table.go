package console

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/clipperhouse/displaywidth"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/wire"
)

// A Column is one column of a table.
type Column struct {
	Name  string
	Right bool                // aligned to the right, for numbers
	Path  bool                // cut at the front, since the end of a path matters
	Mark  func(string) string // may be nil; applied after cutting and filling, so that escape sequences are never cut or counted
	// Least is the least width to which texts are cut. Drop says when the column is dropped from a narrow line; see box.
	Least, Drop int

	cells cells
	width int
}

// cell is a text and its width on a terminal.
type cell struct {
	text  string
	width int
}

// cells is a queue of a column's cells, stored as bytes: a list may have a hundred thousand rows, whose strings would take most of its
// memory.
type cells struct {
	pages []string // for each cell its width, its length and its text
	last  []byte   // the page that is being filled
	first string   // the rest of the page that is being read
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

// A Table is text in aligned columns.
type Table []Column

// Add adds a row, one cell for each column, and measures it.
func (t Table) Add(texts ...string) {
	for i := range t {
		c := &t[i]
		w := displaywidth.String(texts[i])
		c.cells.add(cell{texts[i], w})
		c.width = max(c.width, w, len(c.Name))
	}
}

// fit drops columns and cuts texts until the table is as wide as the terminal. It never cuts numbers and ids.
func (t Table) fit(columns int) Table {
	list := make([]box, len(t))
	for i := range t {
		list[i] = box{t[i].width, t[i].Least, t[i].Drop}
	}
	squeeze(list, columns)
	var kept Table
	spare := 0 // columns gained because a path was cut between two names
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
func (c *Column) shorten(width int) {
	cut := screen.Cut
	if c.Path {
		cut = screen.CutPath
	}
	c.width = len(c.Name)
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

// Write prints the names of the columns and the rows, at most as wide as the terminal. Lines have no trailing blanks.
func (t Table) Write(out *Output) {
	if out.Width > 0 {
		t = t.fit(out.Width)
	}
	for i := range t {
		t[i].width = max(t[i].width, len(t[i].Name)) // there may be no rows
		t.cell(out, i, cell{t[i].Name, len(t[i].Name)}, out.Style.Dim)
	}
	for more := true; more; {
		for i := range t {
			var one cell
			if one, more = t[i].cells.take(); more {
				t.cell(out, i, one, t[i].Mark)
			}
		}
	}
}

// cell prints one cell and the gap or newline after it.
func (t Table) cell(out *Output, i int, c cell, mark func(string) string) {
	fill := strings.Repeat(" ", t[i].width-c.width)
	if t[i].Right {
		out.WriteString(fill)
	}
	if mark != nil {
		c.text = mark(c.text)
	}
	out.WriteString(c.text)
	if i == len(t)-1 {
		out.WriteByte('\n')
		return
	}
	if !t[i].Right {
		out.WriteString(fill)
	}
	out.WriteString(gap)
}

// Dash returns "-" for an empty cell.
func Dash(s string) string { return cmp.Or(s, "-") }

// Folder formats a path for a cell.
func Folder(path, home string) string { return Dash(wire.Tilde(screen.OneLine(path, 0), home)) }

// Line writes one row without names and alignment, at most as wide as the terminal. It omits empty texts.
func (t Table) Line(out *Output, indent string, texts ...string) {
	t.Add(texts...)
	if out.Width > 0 {
		t = t.fit(out.Width - len(indent))
	}
	var words []string
	for _, c := range t {
		one, _ := c.cells.take()
		if one.text != "" && c.Mark != nil {
			one.text = c.Mark(one.text)
		}
		if one.text != "" {
			words = append(words, one.text)
		}
	}
	fmt.Fprintln(out, indent+strings.Join(words, gap))
}

// Align joins the cells of each row with aligned columns.
func Align(rows [][]string) []string {
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
