package page

import (
	"bytes"
	"fmt"
	"html/template"

	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/transcript"
	"github.com/treeline-dev/treeline/wire"
)

// The dimensions of the rail. The style sheet has the same row height and column width.
const (
	railRow     = 26
	railStep    = 16
	railLeft    = 10
	railColumns = 7 // deeper columns are drawn in the last one
)

// railView is the tree next to the transcript: a drawing of nodes and edges, and a list of links on top of it.
type railView struct {
	*transcript.Rail
	v *sessionView
}

// RailView returns the rail, or nil if there is nothing to draw.
func (v *sessionView) RailView() *railView {
	if v.Rail == nil || len(v.Rail.Rows) == 0 {
		return nil
	}
	return &railView{v.Rail, v}
}

// railRowView is a row of the list.
type railRowView struct {
	transcript.Row
	Href, Class string
}

// Links returns the rows of the list.
func (r *railView) Links() []*railRowView {
	list := make([]*railRowView, len(r.Rows))
	for i, row := range r.Rows {
		view := &railRowView{Row: row, Href: r.v.EntryLink(row.Link, row.Entry), Class: fmt.Sprintf("c%d", min(row.Column, railColumns))}
		if row.Kind == transcript.RowRun || row.Block != transcript.Message {
			view.Class += " dim"
		} else if row.Role == session.RoleUser {
			view.Class += " you"
		}
		if !row.Active {
			view.Class += " off"
		}
		list[i] = view
	}
	return list
}

// What returns the text of a row.
func (r *railRowView) What() string {
	if r.Kind == transcript.RowRun {
		text := wire.Count(r.Count, "entry", "entries")
		if r.Branches > 0 {
			text += ", " + wire.Count(r.Branches, "branch", "branches")
		}
		return "⋯ " + text
	}
	if r.Block == transcript.Compaction {
		return "compaction"
	}
	if text := screen.OneLine(r.Text, 90); text != "" {
		return text
	}
	return "(no text)"
}

func railX(column int) int { return railLeft + min(column, railColumns)*railStep }
func railY(row int) int    { return row*railRow + railRow/2 }

// Drawing draws the tree. It consists only of numbers and fixed words.
func (r *railView) Drawing() template.HTML {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg width="%d" height="%d" aria-hidden="true">`, railX(r.Columns-1)+railStep, len(r.Rows)*railRow)
	for pass := range 2 { // the active path is drawn last, on top of the others
		for i, row := range r.Rows {
			if row.Above < 0 || row.Above >= i || row.Active != (pass == 1) {
				continue
			}
			edge(&b, railX(r.Rows[row.Above].Column), railY(row.Above), railX(row.Column), railY(i), row.Active)
		}
	}
	for i, row := range r.Rows {
		node(&b, row, railX(row.Column), railY(i))
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// edge draws an edge down from a node. It changes the column at once and then goes straight down.
func edge(b *bytes.Buffer, x1, y1, x2, y2 int, active bool) {
	class := ""
	if active {
		class = ` class="on"`
	}
	if x1 == x2 {
		fmt.Fprintf(b, `<path%s d="M%d %dV%d"/>`, class, x1, y1, y2)
		return
	}
	bend := y1 + railRow
	fmt.Fprintf(b, `<path%s d="M%d %dC%d %d %d %d %d %dV%d"/>`, class, x1, y1, x1, y1+16, x2, bend-14, x2, bend, y2)
}

func node(b *bytes.Buffer, row transcript.Row, x, y int) {
	class := ""
	if row.Active {
		class = "on"
	}
	if row.Leaf {
		class += " leaf"
	}
	switch {
	case row.Kind == transcript.RowRun:
		fmt.Fprintf(b, `<rect class="gap" x="%d" y="%d" width="8" height="14"/>`, x-4, y-7)
		for _, dy := range []int{-4, 0, 4} {
			fmt.Fprintf(b, `<circle class="dots %s" cx="%d" cy="%d" r=".8"/>`, class, x, y+dy)
		}
	case row.Block == transcript.Compaction:
		fmt.Fprintf(b, `<rect class="bar" x="%d" y="%d" width="12" height="5" rx="2"/>`, x-6, y-2)
	case row.Leaf:
		fmt.Fprintf(b, `<circle class="%s" cx="%d" cy="%d" r="5"/>`, class, x, y)
	case row.Role == session.RoleUser:
		fmt.Fprintf(b, `<circle class="%s" cx="%d" cy="%d" r="4.2"/>`, class, x, y)
	default:
		fmt.Fprintf(b, `<circle class="%s" cx="%d" cy="%d" r="3"/>`, class, x, y)
	}
}
