package view

import (
	"strings"
	"unicode/utf8"

	"charm.land/lipgloss/v2"

	"github.com/treeline-dev/treeline/internal/markup"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/tui/look"
)

// role says what a run of text is. The palette decides how it looks.
type role uint8

const (
	plain role = iota
	strong
	emphasis
	faint
	accent
	selected
	match
	added
	removed
	hunk
	warning
	failure
	user
	assistant
	toolName
	thought
	label
	code
	keyword
	stringLiteral
	number
	comment
	link
	live
	roles // number of roles
)

// run is a piece of harmless text with one role.
type run struct {
	text string
	role role
}

// line is one line of a pane, at most as wide as the pane it was laid out for.
type line struct {
	runs []run
	// click is the action of a click on the line; nil selects the block.
	click act
}

// act is the action of a click on a line: fold, switchBranch, openChild or goOn.
type act interface{ isAct() }

// newLine returns a line of runs.
func newLine(runs ...run) line { return line{runs: runs} }

// text returns the text of the line without roles.
//
//go:noinline // its copies took 6.4 KB
func (l line) text() string {
	if len(l.runs) == 1 {
		return l.runs[0].text
	}
	var b strings.Builder
	for _, r := range l.runs {
		b.WriteString(r.text)
	}
	return b.String()
}

// paint has the escape sequences before and after the text of each role.
type paint [roles][2]string

func newPaint(p *look.Palette) *paint {
	var t paint
	for r, s := range map[role]lipgloss.Style{
		strong: p.Strong, emphasis: p.Emphasis, faint: p.Faint, accent: p.Accent, selected: p.Selected, match: p.Match,
		added: p.Added, removed: p.Removed, hunk: p.Hunk, warning: p.Warning, failure: p.Error, user: p.User,
		assistant: p.Assistant, toolName: p.Tool, thought: p.Thinking, label: p.Label, code: p.Code, keyword: p.Keyword,
		stringLiteral: p.String, number: p.Number, comment: p.Comment, link: p.Link, live: p.Live,
	} {
		t[r][0], t[r][1], _ = strings.Cut(s.Render("x"), "x")
	}
	return &t
}

// draw writes a line padded to width columns. needle, in lower case, is marked where it occurs; "" marks nothing. base is the role of plain
// text.
func (p *paint) draw(b *strings.Builder, l line, width int, needle string, base role) {
	if needle != "" {
		l.runs = mark(l.runs, needle)
	}
	var s strings.Builder
	ascii, columns := true, 0
	for n, r := range l.runs {
		role := r.role
		if role == plain {
			role = base
		}
		if r.text == "" {
			continue
		}
		if n == 0 || l.runs[n-1].role != r.role || l.runs[n-1].text == "" {
			s.WriteString(p[role][0])
		}
		s.WriteString(r.text)
		if n == len(l.runs)-1 || l.runs[n+1].role != r.role || l.runs[n+1].text == "" {
			s.WriteString(p[role][1])
		}
		columns += len(r.text)
		ascii = ascii && isASCII(r.text)
	}
	if ascii && columns <= width {
		b.WriteString(s.String())
		b.WriteString(spaces(width - columns))
		return
	}
	b.WriteString(look.Fill(s.String(), width))
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

const blanks = "                                                                                                                                "

func spaces(n int) string {
	if n <= 0 {
		return ""
	}
	if n <= len(blanks) {
		return blanks[:n]
	}
	return strings.Repeat(" ", n)
}

// mark gives the role match to the occurrences of needle, which is in lower case. An occurrence may begin in one run and end in another.
func mark(runs []run, needle string) []run {
	whole := line{runs: runs}.text()
	lower := strings.ToLower(whole)
	if len(lower) != len(whole) || !strings.Contains(lower, needle) { // if the lengths differ, a letter changed its length; that is rare
		return runs
	}
	var out []run
	at := 0 // offset in the whole line
	from := strings.Index(lower, needle)
	for _, r := range runs {
		for text := r.text; text != ""; {
			n, role := len(text), r.role
			switch {
			case from < 0 || at+n <= from: // before the next occurrence
			case at < from:
				n = from - at
			default:
				n, role = min(n, from+len(needle)-at), match
			}
			out = append(out, run{text[:n], role})
			at, text = at+n, text[n:]
			if from >= 0 && at == from+len(needle) {
				next := strings.Index(lower[at:], needle)
				if from = -1; next >= 0 {
					from = at + next
				}
			}
		}
	}
	return out
}

// mostBytes returns the largest number of bytes of a line of w columns: characters without a width, such as combining ones, take no
// columns.
func mostBytes(w int) int { return 32*w + 256 }

// wrap breaks runs into lines of at most width columns. first precedes the first line, and rest the others.
func wrap(runs []run, width int, first, rest run) []line {
	whole := line{runs: runs}.text()
	w1, w2 := screen.Width(first.text, false), screen.Width(rest.text, false)
	if width-w1 < 8 || width-w2 < 8 { // no room for both
		first, rest, w1, w2 = run{}, run{}, 0, 0
	}
	pieces := [][2]int{{0, len(whole)}}
	if len(whole) > width-max(w1, w2) {
		pieces = screen.Pieces(whole, max(width-w1, 1), max(width-w2, 1))
	}
	lines := make([]line, 0, len(pieces))
	before := first
	at, r := 0, 0 // the offset at which run r begins
	for _, p := range pieces {
		end := p[1]
		cut := end-p[0] > mostBytes(width)
		if cut {
			end = p[0] + mostBytes(width)
			for end > p[0] && !utf8.RuneStart(whole[end]) {
				end--
			}
		}
		var out []run
		if before.text != "" {
			out = append(out, before)
		}
		for r < len(runs) && at+len(runs[r].text) <= p[0] {
			at += len(runs[r].text)
			r++
		}
		for k, from := r, at; k < len(runs) && from < end; k++ {
			text := runs[k].text
			lo, hi := max(p[0]-from, 0), min(end-from, len(text))
			if lo < hi {
				out = append(out, run{text[lo:hi], runs[k].role})
			}
			from += len(text)
		}
		if cut {
			out = append(out, run{screen.Ellipsis, faint})
		}
		lines = append(lines, newLine(out...))
		before = rest
	}
	return lines
}

// plainLines lays out a text that is not Markdown, line by line.
func plainLines(text string, width int, r role, before run) (lines []line) {
	for l := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		lines = append(lines, wrap([]run{{look.Text(strings.TrimSuffix(l, "\r")), r}}, width, before, before)...)
	}
	return lines
}

// classRole returns the role of a token of code.
func classRole(class string) role {
	switch class {
	case "k", "t":
		return keyword
	case "s":
		return stringLiteral
	case "c":
		return comment
	case "n":
		return number
	case "m":
		return faint
	case "a":
		return added
	case "d":
		return removed
	}
	return plain
}

// spanRole returns the role of a span in a text of role around.
func spanRole(s markup.Span, around role) role {
	switch {
	case s.Class != "":
		return classRole(s.Class)
	case s.Style&markup.Literal != 0:
		return code
	case s.Style&markup.Link != 0:
		return link
	case s.Style&(markup.Destination|markup.Deleted) != 0:
		return faint
	case s.Style&markup.Strong != 0 && around == plain:
		return strong
	case s.Style&markup.Emphasis != 0 && around == plain:
		return emphasis
	}
	return around
}

func runsOf(spans []markup.Span, around role) []run {
	list := make([]run, 0, len(spans))
	for _, s := range spans {
		if text := look.Text(strings.ReplaceAll(s.Text, "\n", " ")); text != "" {
			if s.Style&markup.Deleted != 0 {
				text = "~" + text + "~"
			}
			list = append(list, run{text, spanRole(s, around)})
		}
	}
	return list
}

// prose lays out a text in Markdown.
func prose(text string, width int, around role) (lines []line) {
	for _, b := range markup.Blocks(text) {
		if b.Gap && len(lines) > 0 {
			lines = append(lines, newLine(run{b.Between, faint}))
		}
		first, rest := run{b.First, faint}, run{b.Rest, faint}
		switch b.Kind {
		case markup.ThematicBreak:
			lines = append(lines, newLine(first, run{look.Rule(min(width, 24)), faint}))
		case markup.Table:
			lines = append(lines, table(b, width, around)...)
		case markup.Heading:
			for _, l := range b.Lines {
				lines = append(lines, wrap(runsOf(l, strong), width, first, rest)...)
				first = rest
			}
		case markup.CodeBlock:
			first.text, rest.text = first.text+"  ", rest.text+"  "
			for _, l := range b.Lines {
				lines = append(lines, wrap(runsOf(l, around), width, first, rest)...)
				first = rest
			}
		default:
			for _, l := range b.Lines {
				lines = append(lines, wrap(runsOf(l, around), width, first, rest)...)
				first = rest
			}
		}
	}
	return lines
}
