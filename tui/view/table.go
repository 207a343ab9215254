package view

import (
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/internal/markup"
	"github.com/treeline-dev/treeline/internal/screen"
)

// leastColumn is the width that a column of a table keeps while wider ones are narrowed.
const leastColumn = 8

// table lays out a table. If it is wider than the pane, its widest columns are narrowed and their cells wrapped; if even that is too wide,
// each cell is on a line of its own.
func table(b markup.Block, width int, around role) (lines []line) {
	columns := 0
	for _, row := range b.Rows {
		columns = max(columns, len(row))
	}
	cells := make([][][]run, len(b.Rows))
	widths := make([]int, columns)
	for r, row := range b.Rows {
		cells[r] = make([][]run, columns)
		for c, cell := range row {
			role := around
			if r == 0 && around == plain {
				role = strong
			}
			cells[r][c] = runsOf(cell.Spans, role)
			widths[c] = max(widths[c], screen.Width(line{runs: cells[r][c]}.text(), false))
		}
	}
	first, rest := run{b.First, faint}, run{b.Rest, faint}
	room := width - screen.Width(b.Rest, false) - 3*(columns-1)
	if !narrow(widths, room) {
		for _, row := range cells {
			for c, cell := range row {
				before := rest
				before.text += "• "
				if c > 0 {
					before.text = rest.text + "  "
				}
				lines = append(lines, wrap(cell, width, before, run{rest.text + "  ", faint})...)
			}
		}
		return lines
	}
	for r, row := range cells {
		for _, l := range tableRow(row, b.Rows[r], widths) {
			l.runs = append([]run{first}, l.runs...)
			lines = append(lines, l)
			first = rest
		}
		if r == 0 {
			rule := []run{rest}
			for c, w := range widths {
				if c > 0 {
					rule = append(rule, run{"─┼─", faint})
				}
				rule = append(rule, run{strings.Repeat("─", w), faint})
			}
			lines = append(lines, newLine(rule...))
		}
	}
	return lines
}

// narrow makes the widest columns narrower until all fit. It reports whether they do.
func narrow(widths []int, room int) bool {
	sum := 0
	for _, w := range widths {
		sum += w
	}
	for sum > room {
		at := slices.Index(widths, slices.Max(widths))
		if widths[at] <= leastColumn {
			return false
		}
		less := min(sum-room, max(widths[at]/8, 1), widths[at]-leastColumn)
		widths[at] -= less
		sum -= less
	}
	return true
}

// tableRow lays out one row, which has as many lines as its highest cell.
func tableRow(row [][]run, cells []markup.Cell, widths []int) []line {
	broken := make([][]line, len(row))
	height := 1
	for c := range row {
		broken[c] = wrap(row[c], max(widths[c], 1), run{}, run{})
		height = max(height, len(broken[c]))
	}
	lines := make([]line, height)
	for h := range lines {
		for c := range row {
			var cell line
			if h < len(broken[c]) {
				cell = broken[c][h]
			}
			left, right := 0, widths[c]-screen.Width(cell.text(), false)
			if c < len(cells) && right > 0 {
				switch cells[c].Align {
				case "right":
					left, right = right, 0
				case "center":
					left, right = right/2, right-right/2
				}
			}
			runs := append([]run{{spaces(left), plain}}, cell.runs...)
			if runs = append(runs, run{spaces(right), plain}); c > 0 {
				runs = append([]run{{" │ ", faint}}, runs...)
			}
			lines[h].runs = append(lines[h].runs, runs...)
		}
	}
	return lines
}
