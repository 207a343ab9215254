package wire

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/internal/shortid"
	"github.com/treeline-dev/treeline/session"
)

// Transcript writes entries, messages and records of runs as a conversation.
type Transcript struct {
	Page
	// All shows what is otherwise folded or hidden.
	All bool
	// Label returns the label of an entry; nil means that no entry has one.
	Label func(session.EntryID) string
	// BlobSize returns the size of a blob, or -1 if it cannot be read; nil means that no blob can be read.
	BlobSize func(ref string) int64
	// Dir is the session's directory: paths below it are shown relative to it.
	Dir string
	// MessageParts splits the messages of a run or a context into parts.
	MessageParts func(message []byte) []session.Part

	day   string // day of the last header: a date is shown only when it changes
	last  block
	piece int           // number, from 1, of the first record of the answer that the last header belongs to; 0 for none
	tree  *session.Tree // the tree whose ids are shortened
	ids   []string      // shortened ids by index of the entry
}

// Shorten makes the ids of a tree's entries as short as they can be while they differ. Without a width, as in a pipe, they stay whole.
func (t *Transcript) Shorten(tree *session.Tree) {
	if t.Width == 0 {
		return
	}
	t.tree, t.ids = tree, make([]string, tree.Len())
	for i := range t.ids {
		t.ids[i] = string(tree.At(i).ID)
	}
	t.ids = shortid.All(t.ids)
}

// id returns the id of an entry as it is shown.
func (t *Transcript) id(id session.EntryID) string {
	if t.ids != nil {
		if e, ok := t.tree.Lookup(id); ok {
			return screen.Clean(t.ids[e.Index])
		}
	}
	return screen.Clean(string(id))
}

// block is the kind of the last output. It decides whether a blank line comes before the next.
type block int

const (
	nothing block = iota
	speech        // a message or a summary
	result        // the result of a tool
	note          // a line of its own, in faint style
)

const (
	foldedLines = 3   // of a tool's result
	foldedWidth = 160 // columns of such a line if the page has no width
	widest      = 120 // columns of text: longer lines are hard to read
	indent      = "  "
)

// Section separates what was written before, such as a heading, from the next entry.
func (t *Transcript) Section() { t.last = note }

// begin puts a blank line between blocks. A result follows its call without one.
func (t *Transcript) begin(b block) {
	if t.last != nothing && (b != t.last || b == speech) && b != result {
		t.WriteByte('\n')
	}
	t.last = b
}

// text writes a text of any number of lines, each after a margin.
func (t *Transcript) text(s, margin string, style Style) {
	for _, line := range lines(s) {
		width := 0
		if t.Width > 0 {
			width = max(min(t.Width, widest)-columnsOf(margin), 8)
		}
		for _, piece := range screen.Wrap(line, width) {
			t.line(margin + t.paint(style, piece))
		}
	}
}

// header begins a block with the speaker and details. Details that do not fit go on in the next line.
func (t *Transcript) header(b block, speaker string, details ...string) {
	t.begin(b)
	t.piece = 0
	line := speaker
	for _, d := range details {
		if t.Width > 0 && d != "" && columnsOf(line+" "+d) > t.Width {
			t.line(line)
			line = indent[1:]
		}
		line = join([]string{line, d}, " ")
	}
	t.line(line)
}

// details returns the time, the id and the label of an entry.
func (t *Transcript) details(v View, more ...string) []string {
	words := append([]string{t.when(v.Time)}, more...)
	words = append(words, t.id(v.ID))
	var list []string
	for _, w := range words {
		if w != "" {
			list = append(list, t.paint(StyleFaint, "· "+w))
		}
	}
	return append(list, t.flag(v.ID))
}

func (t *Transcript) flag(id session.EntryID) string {
	if t.Label == nil {
		return ""
	}
	if l := t.Label(id); l != "" {
		return t.paint(StyleLabel, "⚑ "+screen.OneLine(l, 60))
	}
	return ""
}

// when returns the time of an entry, with the date if it differs from the last one.
func (t *Transcript) when(at session.Time) string {
	moment, ok := t.clock(at)
	if !ok {
		return ""
	}
	day := moment.Format("2006-01-02")
	if day == t.day {
		return moment.Format("15:04")
	}
	t.day = day
	return moment.Format("2006-01-02 15:04")
}

// speaker puts a sign before the role, so that turns are easy to find even without colours.
func (t *Transcript) speaker(role string) string {
	role = screen.OneLine(role, 40)
	switch role {
	case "user":
		return t.paint(StyleUser, "❯ user")
	case "assistant":
		return t.paint(StyleAssistant, "● assistant")
	}
	return t.paint(StyleStrong, "○ "+cmp.Or(role, "message"))
}

// Entry writes one entry. Labels and the state of extensions are not part of the conversation: only All shows them.
func (t *Transcript) Entry(v View) {
	switch b := v.Body.(type) {
	case session.Message:
		t.message(v, b)
	case session.Compaction:
		words := []string{"compaction"}
		if n, err := strconv.ParseInt(string(b.TokensJSON), 10, 64); err == nil {
			words = append(words, Count(int(n), "token", "tokens")+" before")
		}
		if b.FirstKept != "" && b.FirstKept != v.ID {
			words = append(words, "keeps from "+t.id(b.FirstKept))
		}
		t.summary(v, b.Summary, words...)
	case session.BranchSummary:
		t.summary(v, b.Summary, "back from a branch", cmp.Or(t.id(b.From), "?"))
	case session.CustomMessage:
		if v.Hidden() && !t.All {
			return
		}
		hidden := ""
		if !b.Display {
			hidden = "hidden"
		}
		t.header(speech, t.paint(StyleLabel, "┃ "+screen.OneLine(b.Type, 60)), t.details(v, hidden)...)
		t.parts(v.Parts, t.paint(StyleLabel, "┃")+" ", true)
	case session.Label, session.Custom:
		if t.All {
			t.note(v)
		}
	case session.SessionInit:
		t.note(v)
		if t.All {
			t.parts(v.Parts, indent, true)
		}
	case session.Opaque:
		t.note(v)
		if t.All {
			t.text(string(b.JSON), indent, StyleFaint)
		}
	default:
		t.note(v)
	}
}

// note writes an entry on a faint line.
func (t *Transcript) note(v View) {
	most := 100
	if t.Width > 0 {
		most = min(most, t.Width-4)
	}
	t.header(note, t.paint(StyleFaint, "┄ "+screen.OneLine(v.Word()+" "+v.Line(most), most)), t.flag(v.ID))
}

// summary writes an entry that replaces others in the context.
func (t *Transcript) summary(v View, text string, title ...string) {
	words := []string{t.paint(StyleSummary, "━━ "+title[0])}
	for _, w := range title[1:] {
		words = append(words, t.paint(StyleSummary, "· "+w))
	}
	t.header(speech, words[0], append(words[1:], t.details(v)...)...)
	if strings.TrimSpace(text) != "" {
		t.text(text, indent, plain)
	}
}

// message folds the results of tools and shows messages in full.
func (t *Transcript) message(v View, m session.Message) {
	if v.Role == session.RoleTool {
		t.begin(result)
		t.parts(v.Parts, indent, false)
		if f := t.flag(v.ID); f != "" {
			t.line(indent + indent + f)
		}
		return
	}
	if v.Hidden() && !t.All {
		return
	}
	speaker, spoken := v.Speaker(), v.Role == session.RoleUser || v.Role == session.RoleAssistant
	if v.Role == session.RoleUser && m.Meta { // texts of the agent itself are folded like those of its tools
		speaker, spoken = "agent, as the user", false
	}
	// Further records of an answer are written below its header.
	if first := v.FirstPiece() + 1; t.All || first != t.piece || first == v.Index+1 || t.flag(v.ID) != "" {
		t.header(speech, t.speaker(speaker), t.details(v, screen.OneLine(m.Model, 60))...)
		t.piece = first
	}
	t.last = speech
	t.parts(v.Parts, indent, spoken)
	t.ending(m)
}

// plainMessage writes a message of a context or a run. A single tool result follows its call without a header.
func (t *Transcript) plainMessage(role, detail string, parts []session.Part) {
	if len(parts) == 1 {
		if r, ok := parts[0].(session.ToolResult); ok {
			t.begin(result)
			t.result(r, indent)
			return
		}
	}
	t.header(speech, t.speaker(role), t.paint(StyleFaint, detail))
	t.parts(parts, indent, true)
}

// ending writes how a response ended, unless it ended normally.
func (t *Transcript) ending(m session.Message) {
	switch {
	case m.Stop == "", m.Stop == "stop", m.Stop == "toolUse", m.Stop == "tool_calls", m.Stop == "tool_use", m.Stop == "end_turn":
	case m.Error != "": // the parts show the error
	default:
		t.line(indent + t.paint(StyleError, "✗ ended: "+screen.OneLine(m.Stop, 40)))
	}
	if t.All && m.Usage != nil {
		u := m.Usage
		words := []string{Number(u.Input) + " in", Number(u.Output) + " out"}
		if u.CacheRead > 0 {
			words = append(words, Number(u.CacheRead)+" cached")
		}
		if u.Cost > 0 {
			words = append(words, fmt.Sprintf("$%.4f", u.Cost))
		}
		t.line(indent + t.paint(StyleFaint, "tokens: "+strings.Join(words, " · ")))
	}
}
