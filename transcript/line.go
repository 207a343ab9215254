package transcript

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/internal/markup"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/wire"
)

// line describes an entry on one line. If the first record of an answer has only thinking, the line is that of the next record.
func (d *Document) line(ctx context.Context, r *wire.Reader, i int32) (string, error) {
	if s, ok := recall(d, &d.lines, i); ok {
		return s, nil
	}
	v, err := r.Look(d.k.t.At(int(i)))
	if err != nil {
		return unreadable, context.Cause(ctx)
	}
	for at, n := i, 0; n < labelDepth && onlyThinks(v) && !d.k.forks(at); n++ {
		if at = d.k.first[at]; at < 0 || d.k.t.At(int(at)).Role != session.RoleAssistant {
			break
		}
		next, err := r.Look(d.k.t.At(int(at)))
		if err != nil {
			break
		}
		v = next
	}
	s := d.brief(v, lineWidth)
	remember(d, &d.lines, i, s)
	return s, nil
}

// brief describes a message on one line: its text, or the title of its first call. Any other entry gets the line that it has everywhere.
func (d *Document) brief(v wire.View, most int) string {
	if _, ok := v.Body.(session.Message); !ok {
		return v.Line(most)
	}
	if text := d.words(firstText(v.Parts), most); text != "" {
		return text
	}
	line, more := "", 0
	for _, p := range v.Parts {
		switch c, ok := p.(session.ToolCall); {
		case ok && line == "":
			line = strings.TrimSpace(screen.OneLine(c.Name, titleWidth) + " " + d.relative(title(c.Arguments, Edits(c.Arguments))))
		case ok:
			more++
		}
	}
	if line == "" {
		return v.Line(most)
	}
	if more > 0 {
		line = fmt.Sprintf("%s +%d", screen.OneLine(line, most-4), more)
	}
	return screen.OneLine(line, most)
}

// words returns the beginning of a text without Markdown syntax.
func (d *Document) words(text string, most int) string {
	return screen.OneLine(d.relative(markup.Words(text, 8*most)), most)
}

// relative makes paths below the working directory relative to it.
func (d *Document) relative(text string) string {
	if dir := d.s.Header().CWD; len(dir) > 1 {
		return strings.ReplaceAll(text, strings.TrimSuffix(dir, "/")+"/", "")
	}
	return text
}

// onlyThinks reports whether a record of an answer has nothing but thinking.
func onlyThinks(v wire.View) bool {
	if v.Role != session.RoleAssistant || len(v.Parts) == 0 {
		return false
	}
	return !slices.ContainsFunc(v.Parts, func(p session.Part) bool {
		_, thought := p.(session.Thinking)
		return !thought
	})
}

// unreadable replaces the text of an entry whose record cannot be read.
const unreadable = "(cannot be read)"

// label returns the label of the branch that begins with an entry: its first prompt, else its first text, else its first line.
func (d *Document) label(ctx context.Context, r *wire.Reader, first int32) (string, error) {
	if s, ok := recall(d, &d.labels, first); ok {
		return s, nil
	}
	label, line := "", ""
	for i, n := first, 0; i >= 0 && n < labelDepth; i, n = d.k.first[i], n+1 {
		v, err := r.Look(d.k.t.At(int(i)))
		if err != nil {
			return unreadable, context.Cause(ctx)
		}
		if line == "" {
			line = d.brief(v, labelWidth)
		}
		text := d.words(firstText(v.Parts), labelWidth)
		if m, ok := v.Body.(session.Message); ok && m.Role == session.RoleUser && !m.Meta && text != "" {
			label = text
			break
		}
		if label == "" && v.Role == session.RoleAssistant {
			label = text
		}
		if d.k.forks(i) {
			break
		}
	}
	if label == "" {
		label = line
	}
	remember(d, &d.labels, first, label)
	return label, nil
}

// firstText returns the first text that is not blank.
func firstText(parts []session.Part) string {
	for _, p := range parts {
		if t, ok := p.(session.Text); ok && screen.OneLine(t.Text, 1) != "" {
			return t.Text
		}
	}
	return ""
}
