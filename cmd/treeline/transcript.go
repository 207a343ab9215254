package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
)

// transcript writes entries and messages for people. The first error of the writer stays in it.
type transcript struct {
	out *output
	// all shows what is otherwise folded or hidden.
	all bool
	// label gives the label of an entry; blobSize the size of a blob, -1 where it is not there.
	label    func(session.EntryID) string
	blobSize func(ref string) int64
	// cwd is where the session ran: paths below it are shown from there.
	cwd string

	day  string // of the last header: the date is shown where it changes
	last block
}

// block is what was written last: it decides whether a blank line comes before the next.
type block int

const (
	nothing block = iota
	speech        // somebody speaks
	result        // of a tool
	note          // a thin line
)

const (
	foldedLines = 3   // of what a tool answered
	foldedWidth = 160 // columns of such a line where there is no terminal
	widest      = 120 // columns of text: longer lines are hard to read
	indent      = "  "
)

// begin puts a blank line between blocks, but none before a result: it belongs to the call above.
func (t *transcript) begin(b block) {
	if t.last != nothing && (b != t.last || b == speech) && b != result {
		io.WriteString(t.out, "\n")
	}
	t.last = b
}

func (t *transcript) line(s string) {
	t.out.WriteString(strings.TrimRight(s, " "))
	t.out.WriteByte('\n')
}

// text writes a text that may have many lines, each behind a margin and marked.
func (t *transcript) text(s, margin string, mark func(string) string) {
	for _, line := range lines(s) {
		width := 0
		if t.out.width > 0 {
			width = max(min(t.out.width, widest)-displayWidth(margin), 8)
		}
		for _, piece := range screen.Wrap(line, width) {
			t.line(margin + mark(piece))
		}
	}
}

// lines gives the clean lines of a text, without the blank ones at its ends.
func lines(s string) []string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.Split(strings.Trim(screen.Clean(s), "\n"), "\n")
}

func same(s string) string { return s }

// header writes who speaks, with what is known of it.
func (t *transcript) header(b block, who string, details ...string) {
	t.begin(b)
	words := []string{who}
	for _, d := range details {
		if d != "" {
			words = append(words, d)
		}
	}
	t.line(strings.Join(words, " "))
}

// details are the dim words behind a name: time, model and id, and the label.
func (t *transcript) details(v view, more ...string) []string {
	st := t.out.style
	words := []string{t.when(v.time)}
	words = append(words, more...)
	words = append(words, screen.Clean(string(v.ID)))
	var list []string
	for _, w := range words {
		if w != "" {
			list = append(list, st.dim("· "+w))
		}
	}
	return append(list, t.flag(v.ID))
}

// flag is the label of an entry.
func (t *transcript) flag(id session.EntryID) string {
	if l := t.label(id); l != "" {
		return t.out.style.yellow("⚑ " + screen.OneLine(l, 60))
	}
	return ""
}

// when is the time of an entry: with the date where that is another than before.
func (t *transcript) when(at session.Time) string {
	moment, ok := at.Time()
	if !ok {
		return ""
	}
	moment = moment.In(time.Local)
	day := moment.Format("2006-01-02")
	if day == t.day {
		return moment.Format("15:04")
	}
	t.day = day
	return moment.Format("2006-01-02 15:04")
}

// speaker marks who speaks. The sign in front makes turns easy to find without colours too.
func (t *transcript) speaker(role string) string {
	st := t.out.style
	role = screen.OneLine(role, 40)
	switch role {
	case "user":
		return st.mark("1;36", "❯ user")
	case "assistant":
		return st.mark("1;32", "● assistant")
	}
	return st.bold("○ " + orElse(role, "message"))
}

// entry writes one entry of a path.
// Labels and states of extensions are no part of the conversation, so they are shown with --all only.
func (t *transcript) entry(v view) {
	st := t.out.style
	switch b := v.body.(type) {
	case session.Message:
		t.message(v, b)
	case session.Compaction:
		words := []string{"compaction"}
		if n, err := strconv.ParseInt(string(b.TokensBefore), 10, 64); err == nil {
			words = append(words, counted(int(n), "token", "tokens")+" before")
		}
		if b.FirstKept != "" && b.FirstKept != v.ID {
			words = append(words, "keeps from "+screen.Clean(string(b.FirstKept)))
		}
		t.summary(v, strings.Join(words, " · "), b.Summary)
	case session.BranchSummary:
		t.summary(v, "back from a branch · "+screen.Clean(orElse(string(b.From), "?")), b.Summary)
	case session.CustomMessage:
		if !b.Display && !t.all {
			return
		}
		hidden := ""
		if !b.Display {
			hidden = "hidden"
		}
		t.header(speech, st.yellow("┃ "+screen.OneLine(b.Type, 60)), t.details(v, hidden)...)
		t.parts(v.parts, st.yellow("┃")+" ", true)
	case session.Label, session.Custom:
		if t.all {
			t.note(v)
		}
	case session.SessionInit:
		t.note(v)
		if t.all {
			t.parts(v.parts, indent, true)
		}
	case session.Opaque:
		t.note(v)
		if t.all {
			t.text(string(b.JSON), indent, st.dim)
		}
	default:
		t.note(v)
	}
}

// note writes a thin line: something changed.
func (t *transcript) note(v view) {
	st := t.out.style
	most := 100
	if t.out.width > 0 {
		most = min(most, t.out.width-4)
	}
	t.header(note, st.dim("┄ "+screen.OneLine(v.word()+" "+v.line(most), most)), t.flag(v.ID))
}

// summary writes what stands for entries that are not on the path, or that the model no longer sees.
func (t *transcript) summary(v view, title, text string) {
	st := t.out.style
	t.header(speech, st.mark("1;35", "━━ "+title), t.details(v)...)
	if strings.TrimSpace(text) != "" {
		t.text(text, indent, same)
	}
}

// message folds what tools answered and shows what people and models said in full.
func (t *transcript) message(v view, m session.Message) {
	if v.Role == session.RoleTool {
		t.begin(result)
		t.parts(v.parts, indent, false)
		if f := t.flag(v.ID); f != "" {
			t.line(indent + indent + f)
		}
		return
	}
	if hidden(m) && !t.all {
		return
	}
	model := ""
	if m.Model != "" {
		model = screen.OneLine(m.Model, 60)
	}
	t.header(speech, t.speaker(v.role()), t.details(v, model)...)
	spoken := v.Role == session.RoleUser || v.Role == session.RoleAssistant
	t.parts(v.parts, indent, spoken)
	t.ending(m)
}

// hidden says that an extension does not want people to see its message.
func hidden(m session.Message) bool {
	display := rawjson.Get(m.JSON, "display")
	return m.Role == session.RoleOther && display != nil && !rawjson.Truthy(display)
}

// contextMessage writes a message as the model would see it.
// A message without an entry is one that the agent says when a session goes on; see session.Context.
func (t *transcript) contextMessage(role string, e session.Entry, parts []session.Part) {
	if len(parts) == 1 {
		if r, ok := parts[0].(session.ToolResult); ok {
			t.begin(result)
			t.result(r, indent)
			return
		}
	}
	from := "· " + screen.Clean(string(e.ID))
	if e.ID == "" {
		from = "· said when it goes on here"
	}
	t.header(speech, t.speaker(role), t.out.style.dim(from))
	t.parts(parts, indent, true)
}

// ending says how an answer ended where that is worth a word.
func (t *transcript) ending(m session.Message) {
	st := t.out.style
	switch {
	case m.Stop == "", m.Stop == "stop", m.Stop == "toolUse", m.Stop == "tool_calls":
	case m.Error != "": // said already
	default:
		t.line(indent + st.red("✗ ended: "+screen.OneLine(m.Stop, 40)))
	}
	if t.all && m.Usage != nil {
		u := m.Usage
		words := []string{grouped(u.Input) + " in", grouped(u.Output) + " out"}
		if u.CacheRead > 0 {
			words = append(words, grouped(u.CacheRead)+" cached")
		}
		if u.Cost > 0 {
			words = append(words, fmt.Sprintf("$%.4f", u.Cost))
		}
		t.line(indent + st.dim("tokens: "+strings.Join(words, " · ")))
	}
}
