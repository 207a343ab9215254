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

// line is an entry in one line. An answer whose first record has only thoughts is told by the next one.
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

// brief says in one line what a message is about: its text, or its first call with the title that its block has. Anything else
// is told as everywhere.
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

// words is the beginning of a text without the signs of Markdown.
func (d *Document) words(text string, most int) string {
	return screen.OneLine(d.relative(markup.Words(text, 8*most)), most)
}

// relative shows paths below the working directory relative to it.
func (d *Document) relative(text string) string {
	if dir := d.s.Header().CWD; len(dir) > 1 {
		return strings.ReplaceAll(text, strings.TrimSuffix(dir, "/")+"/", "")
	}
	return text
}

// onlyThinks reports whether a record of an answer has nothing but thoughts.
func onlyThinks(v wire.View) bool {
	if v.Role != session.RoleAssistant || len(v.Parts) == 0 {
		return false
	}
	return !slices.ContainsFunc(v.Parts, func(p session.Part) bool {
		_, thought := p.(session.Thinking)
		return !thought
	})
}

// unreadable stands for the text of an entry whose record cannot be read.
const unreadable = "(cannot be read)"

// label is the label of the branch that begins with an entry: its first prompt, else its first text, else its first line.
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

// firstText is the first text that says something.
func firstText(parts []session.Part) string {
	for _, p := range parts {
		if t, ok := p.(session.Text); ok && screen.OneLine(t.Text, 1) != "" {
			return t.Text
		}
	}
	return ""
}
