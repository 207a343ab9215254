package view

import (
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/transcript"
)

// item is something that the cursor can be on: a block of the transcript, a file in mode changes, or the ending after the transcript.
type item struct {
	// key identifies the item in its pane, even after it was loaded again.
	key   string
	id    session.EntryID
	also  []session.EntryID
	block *transcript.Block
	file  *transcript.FileChange
	// fork is the fork before the block, or after the end of the path.
	fork  *transcript.Fork
	parts []*part
	// whole means that its texts were loaded completely.
	whole bool
}

// part is a piece of an item that is laid out at once. Its lines are cached for one width.
type part struct {
	layout func(width int) []line
	source string // the text that is laid out; "" where it is short
	width  int
	lines  []line
}

func (p *part) at(width int) []line {
	if p.width != width {
		p.lines, p.width = p.layout(width), width
	}
	return p.lines
}

// shows reports whether the item shows an entry.
func (it *item) shows(id session.EntryID) bool {
	return it.id == id || slices.Contains(it.also, id)
}

// How much of a text is laid out at once, and how much of a folded text is shown.
const (
	pieceBytes  = 16 << 10
	diffChunk   = 200 // lines of a diff in one part
	briefDiff   = 12  // lines of a diff that is folded
	briefOutput = 5   // lines of a tool's output that are shown although it is folded
	longThought = 320 // size in bytes from which thinking is folded
	longLine    = 4 << 10
)

// setting is what the layout of an item depends on in addition to the item.
type setting struct {
	cwd    string
	zone   *time.Location
	isTask bool
	mode   mode
	open   bool // nothing is folded
	last   last
}

// last is what a heading need not repeat: the model that answered last, and the time of the last heading.
type last struct {
	model string
	time  time.Time
}

// after returns the value of last after a block.
func (l last) after(b *transcript.Block) last {
	if b == nil || b.Kind != transcript.Message && b.Kind != transcript.Opaque {
		return l // it shows neither
	}
	if b.Model != "" {
		l.model = b.Model
	}
	if !b.Time.IsZero() {
		l.time = b.Time
	}
	return l
}

// relative shows paths below the working directory relative to it.
func (s setting) relative(text string) string {
	if len(s.cwd) < 2 {
		return text
	}
	return strings.ReplaceAll(text, strings.TrimSuffix(s.cwd, "/")+"/", "")
}

// clock formats the time of a block: the time of day, with the date if the day differs from that of before.
func (s setting) clock(t, before time.Time) string {
	if t.IsZero() {
		return ""
	}
	at := t.In(s.zone)
	if b := before.In(s.zone); before.IsZero() || b.YearDay() == at.YearDay() && b.Year() == at.Year() {
		return at.Format("15:04")
	}
	return at.Format("2 Jan 15:04")
}

// maker makes the parts of an item.
type maker struct {
	setting
	parts []*part
	spoke bool // there is something below the heading
}

//go:noinline // its copies took 6.6 KB
func (m *maker) add(f func(width int) []line) { m.parts = append(m.parts, &part{layout: f}) }

// addText adds a part that is laid out from a text that may be long.
func (m *maker) addText(source string, f func(width int) []line) {
	m.parts = append(m.parts, &part{layout: f, source: source})
}

// gap adds an empty line between texts.
func (m *maker) gap() {
	if m.spoke {
		m.add(func(int) []line { return []line{{}} })
	}
	m.spoke = true
}

// ends puts runs at both ends of a line. If there is too little room, the left ones are cut, and the right ones omitted.
func ends(left, right []run, w int) line {
	l, r := screen.Width(line{runs: left}.text(), false), screen.Width(line{runs: right}.text(), false)
	if r == 0 || r+8 > w {
		return newLine(cutRuns(left, w)...)
	}
	if l > w-r-1 {
		left = cutRuns(left, w-r-1)
		l = screen.Width(line{runs: left}.text(), false)
	}
	return newLine(append(append(slices.Clip(left), run{spaces(w - l - r), plain}), right...)...)
}

// cutRuns shortens runs to a number of columns.
func cutRuns(runs []run, w int) []run {
	for n, r := range runs {
		used := screen.Width(r.text, false)
		if used > w {
			return append(slices.Clip(runs[:n]), run{screen.Cut(r.text, max(w, 1)), r.role})
		}
		w -= used
	}
	return runs
}

// across puts runs into the middle of a rule.
func across(rule string, runs []run, w int) line {
	runs = cutRuns(runs, max(w-8, 1))
	rest := w - screen.Width(line{runs: runs}.text(), false) - 2
	left := max(rest/2, 0)
	out := append([]run{{strings.Repeat(rule, left) + " ", faint}}, runs...)
	return newLine(append(out, run{" " + strings.Repeat(rule, max(rest-left, 0)), faint})...)
}
