package wire

import (
	"cmp"
	"strings"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
)

// parts writes the parts of a message after a margin. Text is whole if spoken is set, otherwise folded.
func (t *Transcript) parts(parts []session.Part, margin string, spoken bool) {
	for _, p := range parts {
		switch p := p.(type) {
		case session.Text:
			switch {
			case strings.TrimSpace(p.Text) == "": // models send empty texts between tool calls
			case spoken:
				t.text(p.Text, margin, plain)
			default:
				t.folded(p.Text, margin)
			}
		case session.Thinking:
			if p.Text != "" {
				t.text(p.Text, margin+t.paint(StyleFaint, "┊")+" ", StyleThinking)
			} else if p.Signature != "" { // encrypted by the provider
				t.line(margin + t.paint(StyleFaint, "┊ (thinking that only the provider can read)"))
			}
		case session.ToolCall:
			t.call(p, margin)
		case session.ToolResult:
			t.result(p, margin)
		case session.Image:
			t.line(margin + imageText(newImage(p, partOptions{blobSize: t.blobSize})))
		case session.OpaquePart:
			t.opaque(p, margin)
		}
	}
}

func (t *Transcript) blobSize(ref string) int64 {
	if t.BlobSize == nil {
		return -1
	}
	return t.BlobSize(ref)
}

// opaque writes a part of unknown type. A part of type "error", in which dialects return the error of a response, is always shown in full.
func (t *Transcript) opaque(p session.OpaquePart, margin string) {
	if s, ok := rawjson.Unquote(p.JSON); ok && p.Type == "error" {
		t.text("✗ "+s, margin, StyleError)
		return
	}
	t.line(margin + t.paint(StyleFaint, "["+screen.OneLine(cmp.Or(p.Type, "?"), 60)+"]"))
	if t.All {
		t.text(string(p.JSON), margin+indent, StyleFaint)
	}
}

// call writes a tool call on one line, or with all its arguments. The line is cut only after paths were made relative, which shortens it by
// at most twice the length of the directory.
func (t *Transcript) call(c session.ToolCall, margin string) {
	name := screen.OneLine(cmp.Or(c.Name, "?"), 60)
	head := margin + t.paint(StyleTool, "▸ ") + t.paint(StyleStrong, name)
	if t.All {
		t.line(head)
		t.arguments(c.Arguments, margin+indent+indent)
		return
	}
	most := 100
	if t.Width > 0 {
		most = max(t.Width-columnsOf(margin)-columnsOf(name)-4, 8)
	}
	about := relative(Brief(c.Arguments, most+2*len(t.Dir)), t.Dir)
	t.line(head + " " + screen.Cut(about, most))
}

// arguments writes all arguments of a tool call. A text of several lines, such as one side of an edit, is written below its name.
func (t *Transcript) arguments(raw session.Raw, margin string) {
	if !rawjson.IsObject(raw) {
		if len(raw) > 0 {
			t.text(string(raw), margin, plain)
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
			t.text(key+": "+s, margin, plain)
			continue
		}
		t.line(margin + key + ":")
		t.text(s, margin+t.paint(StyleFaint, "│")+" ", plain)
	}
}

// result writes the result of a tool. The number of lines comes first, since the text is folded.
func (t *Transcript) result(r session.ToolResult, margin string) {
	name := resultName(r)
	head := t.paint(StyleFaint, "↳ "+name)
	if r.IsError {
		head = t.paint(StyleError, "✗ "+name)
	}
	count, texts := 0, 0
	for _, p := range r.Parts {
		if text, ok := p.(session.Text); ok {
			texts++
			if text.Text != "" {
				count += len(lines(text.Text))
			}
		}
	}
	switch {
	case len(r.Parts) == 0 || count == 0 && len(r.Parts) == 1 && texts == 1:
		t.line(margin + head + t.paint(StyleFaint, " (empty)"))
		return
	case count > 1:
		t.line(margin + head + t.paint(StyleFaint, " · "+Count(count, "line", "lines")))
	default:
		t.line(margin + head)
	}
	t.parts(r.Parts, margin+t.paint(StyleFaint, "│")+" ", t.All)
}

// folded writes the first lines of a text and the number of the others. A text that is only one line too long is shown whole: the number
// would take a line, too.
func (t *Transcript) folded(s, margin string) {
	list := lines(s)
	if t.All || len(list) <= foldedLines+1 && len(s) < foldedWidth {
		t.text(s, margin, plain)
		return
	}
	most := foldedWidth
	if t.Width > 0 {
		most = max(t.Width-columnsOf(margin), 8)
	}
	shown := min(len(list), foldedLines)
	for _, line := range list[:shown] {
		t.line(margin + screen.Cut(strings.ReplaceAll(line, "\t", "    "), most))
	}
	if more := len(list) - shown; more > 0 {
		t.line(margin + t.paint(StyleFaint, "… "+Count(more, "more line", "more lines")))
	}
}
