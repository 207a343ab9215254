package view

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/internal/diff"
	"github.com/treeline-dev/treeline/internal/markup"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/transcript"
	"github.com/treeline-dev/treeline/tui/look"
	"github.com/treeline-dev/treeline/wire"
)

// inTool precedes the lines below the head of a call.
var inTool = run{"  ", plain}

// tool adds a call with its result: one line and, below it, what is unfolded, what failed, what was changed, and short output.
func (m *maker) tool(t transcript.Tool) {
	lines := 0
	for _, p := range t.Output {
		if text, ok := p.(transcript.Text); ok {
			lines += text.Lines()
		}
	}
	shown := m.open || t.Failed || len(t.Edits) > 0 || lines > 0 && lines <= briefOutput && t.Child == nil
	m.add(func(w int) []line { return []line{m.toolHead(t, lines, shown, w)} })
	if t.Child != nil {
		m.child(t.Child)
	}
	if !shown {
		return
	}
	if m.open && len(t.Edits) == 0 {
		before := len(m.parts)
		if m.input(t); len(m.parts) > before && len(t.Output) > 0 {
			m.add(func(int) []line { return []line{newLine(inTool, run{"result:", faint})} })
		}
	}
	for _, e := range t.Edits {
		m.edit(e, len(t.Edits) > 1, inTool)
	}
	if len(t.Edits) > 0 && !t.Failed && !m.open {
		return // "edited successfully" beside the diff
	}
	for _, p := range t.Output {
		m.output(p, t)
	}
}

// toolHead returns the head line of a call.
func (m *maker) toolHead(t transcript.Tool, lines int, shown bool, w int) line {
	sign := "▸ "
	if shown {
		sign = "▾ "
	}
	title := m.relative(t.Title)
	if t.Input == nil && t.Answered && t.Call == "" && title == "" {
		title = "result" // a message of its own, after the one with the call
	}
	left := []run{{sign, faint}, {look.Line(t.Name, 40), toolName}, {" ", plain}, {look.Line(title, w), plain}}
	var right []run
	word := func(s string, r role) {
		if len(right) > 0 {
			right = append(right, run{" · ", faint})
		}
		right = append(right, run{s, r})
	}
	more, less := 0, 0
	for _, e := range t.Edits {
		more, less = more+e.Added, less+e.Removed
	}
	switch {
	case t.Failed:
		word("failed", failure)
	case !t.Answered:
		word("no result", warning)
	case more+less > 0:
		right = append(right, sums(more, less)...)
	case lines > 0:
		word(wire.Count(lines, "line", "lines"), faint)
	}
	if t.Took >= 50*time.Millisecond { // a shorter time is not interesting
		word(wire.Took(t.Took), faint)
	}
	l := ends(left, right, w)
	l.click = fold{}
	return l
}

// sums shows the numbers of lines that edits add and remove.
func sums(more, less int) []run {
	return []run{{"+" + wire.Number(int64(more)), added}, {" ", plain}, {"−" + wire.Number(int64(less)), removed}}
}

// child shows the sub-agent that a call started.
func (m *maker) child(c *transcript.Child) {
	m.add(func(w int) []line {
		text := "sub-agent"
		if c.Title != "" {
			text += ": " + look.Line(c.Title, w)
		}
		if c.Entries > 0 {
			text += " · " + wire.Count(c.Entries, "entry", "entries")
		}
		if c.Tokens > 0 {
			text += " · " + wire.Short(c.Tokens) + " tokens"
		}
		if c.Cost > 0 {
			text += " · " + wire.Dollars(c.Cost)
		}
		l := ends([]run{{"  ↳ ", faint}, {text, link}}, nil, w)
		l.click = openChild{c}
		return []line{l}
	})
}

// languageOf returns the language of a member of a call's input, or "".
func languageOf(member string) string {
	switch member {
	case "command", "cmd", "script":
		return "shell"
	case "sql":
		return "sql"
	}
	return ""
}

// input shows the arguments of a call, member by member.
func (m *maker) input(t transcript.Tool) {
	if !rawjson.IsObject(t.Input) {
		text := string(t.Input)
		if s, ok := rawjson.Unquote(t.Input); ok {
			text = s
		}
		if len(t.Input) > 0 && text != "null" {
			m.code(text, "", inTool)
		}
	}
	for name, member := range rawjson.Fields(t.Input) {
		text, isText := rawjson.Unquote(member)
		if isText && text == t.Title {
			continue // the head shows it
		}
		if !isText {
			text = string(member)
		}
		name = look.Line(name, 40)
		if !strings.Contains(text, "\n") && len(text) < longLine {
			m.add(func(w int) []line {
				return wrap([]run{{name + ": ", faint}, {look.Text(text), plain}}, w, inTool, run{"    ", plain})
			})
			continue
		}
		m.add(func(int) []line { return []line{newLine(inTool, run{name + ":", faint})} })
		m.code(text, languageOf(name), run{"    ", plain})
	}
	m.cut(t.InputCut, inTool)
}

// output shows a piece of a result.
func (m *maker) output(p transcript.Piece, t transcript.Tool) {
	switch p := p.(type) {
	case transcript.Text:
		text := strings.Trim(p.Text, "\n")
		if text == "" {
			return
		}
		more := 0
		if !m.open {
			if n := nthLine(text, briefOutput+1); n > 0 {
				more = 1 + strings.Count(text[n:], "\n")
				text = text[:n-1]
			}
		}
		if c := text[0]; (c == '{' || c == '[') && m.open && p.Cut == 0 && json.Valid([]byte(text)) {
			m.code(wire.Indent([]byte(text)), "json", inTool)
		} else {
			m.code(text, outputLanguage(t), inTool)
		}
		if more > 0 {
			m.add(func(int) []line {
				l := newLine(inTool, run{screen.Ellipsis + " " + wire.Count(more, "more line", "more lines"), faint})
				l.click = fold{}
				return []line{l}
			})
		}
		m.cut(p.Cut, inTool)
	case transcript.Image:
		m.image(p, inTool)
	case transcript.Raw:
		m.raw(p, inTool)
	case transcript.Thinking:
		m.text(transcript.Text{Text: p.Text, Cut: p.Cut}, thought)
	}
}

// outputLanguage returns the language of the file in a call's output, or "".
func outputLanguage(t transcript.Tool) string {
	name, _, _ := strings.Cut(t.Title, " ")
	if t.Failed || t.Child != nil {
		return ""
	}
	return markup.Language(name)
}

// nthLine returns the offset of the nth line of a text, from 1, or 0 if there are fewer.
func nthLine(text string, n int) int {
	at := 0
	for ; n > 1; n-- {
		next := strings.IndexByte(text[at:], '\n')
		if next < 0 {
			return 0
		}
		at += next + 1
	}
	return at
}

// diffLine is a line of a diff with its number, or 0 if that is not known.
type diffLine struct {
	diff.Line
	number int
	head   string // set instead of a line: the position of a hunk
	isHead bool
}

// edit adds the change of a file. named adds a line with its path.
func (m *maker) edit(e transcript.Edit, named bool, before run) {
	if named {
		m.add(func(w int) []line {
			return []line{ends([]run{before, {look.Line(m.path(e), w), strong}}, sums(e.Added, e.Removed), w)}
		})
	}
	list, digits := diffLines(e)
	more := 0
	if !m.open && len(list) > briefDiff+2 {
		more = len(list) - briefDiff
		list = list[:briefDiff]
	}
	for len(list) > 0 {
		chunk := list[:min(diffChunk, len(list))]
		list = list[len(chunk):]
		m.add(func(w int) (lines []line) {
			for _, l := range chunk {
				lines = append(lines, l.lines(w, digits, before)...)
			}
			return lines
		})
	}
	if more > 0 {
		m.add(func(int) []line {
			l := newLine(before, run{screen.Ellipsis + " " + wire.Count(more, "more line", "more lines"), faint})
			l.click = fold{}
			return []line{l}
		})
	}
	if e.Partial != "" {
		m.add(func(w int) []line { return wrap([]run{{look.Line(e.Partial, longLine), faint}}, w, before, before) })
	}
}

// path returns the path of a change and, if the file was renamed, the old one.
func (m *maker) path(e transcript.Edit) string {
	path := m.relative(e.Path)
	if e.From != "" {
		path = m.relative(e.From) + " → " + path
	}
	return path
}

// diffLines returns the lines of all hunks, and the number of digits of their largest number.
func diffLines(e transcript.Edit) (list []diffLine, digits int) {
	for n, h := range e.Hunks {
		if n > 0 || h.Section != "" {
			list = append(list, diffLine{isHead: true, head: h.Section})
		}
		old, now := h.OldLine, h.NewLine
		for _, l := range h.Lines {
			d := diffLine{Line: l}
			if l.Op == diff.Removed {
				d.number = old
			} else {
				d.number = now
			}
			if h.OldLine > 0 && l.Op != diff.Added {
				old++
			}
			if h.NewLine > 0 && l.Op != diff.Removed {
				now++
			}
			digits = max(digits, d.number)
			list = append(list, d)
		}
	}
	if digits > 0 {
		digits = len(strconv.Itoa(digits))
	}
	return list, digits
}

func (l diffLine) lines(w, digits int, before run) []line {
	if l.isHead {
		return []line{ends([]run{before, {"@@ " + look.Line(l.head, w), hunk}}, nil, w)}
	}
	sign, r := "  ", plain
	switch l.Op {
	case diff.Added:
		sign, r = "+ ", added
	case diff.Removed:
		sign, r = "− ", removed
	}
	text := l.Text
	if len(text) > longLine {
		text = screen.Cut(look.Text(text[:longLine]), longLine-1) + screen.Ellipsis
	}
	first := before.text
	if digits > 0 {
		n := ""
		if l.number > 0 {
			n = strconv.Itoa(l.number)
		}
		first += spaces(digits-len(n)) + n + " "
	}
	rest := run{spaces(screen.Width(first, false) + 2), plain}
	lines := wrap([]run{{sign, r}, {look.Text(strings.TrimSuffix(text, "\r")), r}}, w, run{first, faint}, rest)
	return lines
}

// fileItem makes the item of a file that was changed.
func fileItem(c *transcript.FileChange, s setting) *item {
	m := &maker{setting: s}
	m.add(func(w int) []line {
		sign := "▾ "
		if !s.open {
			sign = "▸ "
		}
		left := []run{{sign, faint}, {look.Line(m.path(c.Edit), w), strong}}
		switch {
		case c.New:
			left = append(left, run{" new", added})
		case c.Deleted:
			left = append(left, run{" deleted", removed})
		}
		right := sums(c.Added, c.Removed)
		right = append(right, run{" · " + wire.Count(c.Edits, "edit", "edits"), faint})
		l := ends(left, right, w)
		l.click = fold{}
		return []line{{}, l}
	})
	if s.open {
		m.edit(c.Edit, false, inTool)
	}
	it := &item{key: "file " + c.Path, file: c, parts: m.parts}
	if len(c.Entries) > 0 {
		it.id = c.Entries[len(c.Entries)-1]
	}
	return it
}
