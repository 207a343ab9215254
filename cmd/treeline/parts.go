package main

import (
	"strings"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
)

// parts writes what is inside a message. Text is whole where somebody speaks; what programs wrote is folded.
// It calls itself for the parts of a tool's result, behind a deeper margin.
func (t *transcript) parts(parts []session.Part, margin string, spoken bool) {
	st := t.out.style
	for _, p := range parts {
		switch p := p.(type) {
		case session.Text:
			switch {
			// models send empty texts between tool calls
			case strings.TrimSpace(p.Text) == "":
			case spoken:
				t.text(p.Text, margin, same)
			default:
				t.folded(p.Text, margin)
			}
		case session.Thinking:
			if p.Text != "" {
				t.text(p.Text, margin+st.dim("┊")+" ", st.thought)
				// Providers encrypt some thinking: there is only a signature, and that something was thought is still
				// worth a line.
			} else if p.Signature != "" {
				t.line(margin + st.dim("┊ (thinking that only the provider can read)"))
			}
		case session.ToolCall:
			t.call(p, margin)
		case session.ToolResult:
			t.result(p, margin)
		case session.Image:
			t.line(margin + lookAtImage(p, t.blobSize).String())
		case session.OpaquePart:
			t.opaque(p, margin)
		}
	}
}

// opaque writes a part of a type that we do not know, or what went wrong.
// An "error" is how the dialects give what an answer failed with: it must be seen, folded or not.
func (t *transcript) opaque(p session.OpaquePart, margin string) {
	st := t.out.style
	if s, ok := rawjson.Unquote(p.JSON); ok && p.Type == "error" {
		t.text("✗ "+s, margin, st.red)
		return
	}
	t.line(margin + st.dim("["+screen.OneLine(orElse(p.Type, "?"), 60)+"]"))
	if t.all {
		t.text(string(p.JSON), margin+indent, st.dim)
	}
}

// call writes a tool call: its name and what it is about on one line.
// Paths below the session's directory are shown from there, so the text is cut after that was done: twice the
// directory's length is the most that can be gained.
func (t *transcript) call(c session.ToolCall, margin string) {
	st := t.out.style
	name := screen.OneLine(orElse(c.Name, "?"), 60)
	if t.all {
		t.line(margin + st.cyan("▸ ") + st.bold(name))
		t.arguments(c.Arguments, margin+indent+indent)
		return
	}
	most := 100
	if t.out.width > 0 {
		most = max(t.out.width-displayWidth(margin)-displayWidth(name)-4, 8)
	}
	about := fromHere(shortJSON(c.Arguments, most+2*len(t.cwd)), t.cwd)
	t.line(margin + st.cyan("▸ ") + st.bold(name) + " " + screen.Cut(about, most))
}

// arguments writes all that a tool was told.
// Texts of several lines, such as the two sides of an edit, stand below their name as they are.
func (t *transcript) arguments(raw session.Raw, margin string) {
	st := t.out.style
	if !rawjson.IsObject(raw) {
		if len(raw) > 0 {
			t.text(string(raw), margin, same)
		}
		return
	}
	for key, value := range rawjson.Fields(raw) {
		s, isString := rawjson.Unquote(value)
		if !isString {
			s = string(value)
		}
		key = screen.OneLine(key, 60)
		if !strings.Contains(strings.TrimRight(s, "\n"), "\n") {
			t.text(key+": "+s, margin, same)
			continue
		}
		t.line(margin + key + ":")
		t.text(s, margin+st.dim("│")+" ", same)
	}
}

// result writes what a tool answered.
// The number of lines is said first, since what follows is folded.
func (t *transcript) result(r session.ToolResult, margin string) {
	st := t.out.style
	name := screen.OneLine(orElse(r.Name, "result"), 60)
	head := st.dim("↳ " + name)
	if r.IsError {
		head = st.red("✗ " + name)
	}
	count := 0
	for _, p := range r.Parts {
		if text, ok := p.(session.Text); ok && text.Text != "" {
			count += len(lines(text.Text))
		}
	}
	switch {
	case len(r.Parts) == 0 || count == 0 && len(r.Parts) == 1 && isText(r.Parts[0]):
		t.line(margin + head + st.dim(" (empty)"))
		return
	case count > 1:
		t.line(margin + head + st.dim(" · "+counted(count, "line", "lines")))
	default:
		t.line(margin + head)
	}
	t.parts(r.Parts, margin+st.dim("│")+" ", t.all)
}

func isText(p session.Part) bool { _, ok := p.(session.Text); return ok }

// folded writes the first lines of a text and says how many more there are.
// A text that is only one line longer than the fold is shown whole: the line that says so would take as much room.
func (t *transcript) folded(s, margin string) {
	st := t.out.style
	list := lines(s)
	if t.all || len(list) <= foldedLines+1 && len(s) < foldedWidth {
		t.text(s, margin, same)
		return
	}
	most := foldedWidth
	if t.out.width > 0 {
		most = max(t.out.width-displayWidth(margin), 8)
	}
	shown := min(len(list), foldedLines)
	for _, line := range list[:shown] {
		t.line(margin + screen.Cut(strings.ReplaceAll(line, "\t", "    "), most))
	}
	if more := len(list) - shown; more > 0 {
		t.line(margin + st.dim("… "+counted(more, "more line", "more lines")))
	}
}
