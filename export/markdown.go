package export

import (
	"bufio"
	"context"
	"fmt"
	"html"
	"strconv"
	"strings"

	"github.com/treeline-dev/treeline/internal/diff"
	"github.com/treeline-dev/treeline/internal/markup"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/transcript"
	"github.com/treeline-dev/treeline/wire"
)

// Limits on texts in Markdown. An issue of GitHub has at most 65,536 characters.
const (
	mostProse  = 32 << 10
	mostOutput = 4 << 10
)

// GitHubMost is the largest number of characters of an issue or a comment on GitHub.
const GitHubMost = 65536

// markdown writes prompts and answers as prose, followed by what tools did, folded.
func (x *exporter) markdown(ctx context.Context, out *bufio.Writer) error {
	title := screen.OneLine(x.title(ctx), 120)
	if title == "" {
		title = "Session"
	}
	fmt.Fprintf(out, "# %s\n\n%s\n", line(title), line(x.about()))
	for s := range x.stretches() {
		if s.First != "" {
			fmt.Fprintf(out, "\n---\n\n*%s*\n", line(heading(s)))
		}
		err := x.blocks(ctx, s, func(list []transcript.Block) error {
			for i := range list {
				x.markdownBlock(out, &list[i])
			}
			_, err := out.Write(nil)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// line returns a text as one line of Markdown, escaped so that nothing in it has a special meaning.
func line(s string) string {
	var b strings.Builder
	for _, r := range screen.OneLine(s, 0) {
		switch r {
		case '\\', '`', '*', '_', '[', ']', '#', '|', '~', '!':
			b.WriteByte('\\')
		case '<', '>', '&':
			b.WriteString(html.EscapeString(string(r)))
			continue
		}
		b.WriteRune(r)
		if r == '@' {
			b.WriteRune('\u200b') // so that nobody is notified
		}
	}
	return b.String()
}

func (x *exporter) markdownBlock(out *bufio.Writer, b *transcript.Block) {
	switch b.Kind {
	case transcript.Note:
		text := b.Line
		if b.Speaker != "" {
			text = b.Speaker + ": " + text
		}
		fmt.Fprintf(out, "\n*%s*\n", line(text))
		return
	case transcript.Compaction:
		fmt.Fprintf(out, "\n---\n\n*Compaction: from here on the model sees a summary%s*\n", tokens(b))
	case transcript.Summary:
		out.WriteString("\n---\n\n*Summary of an abandoned branch*\n")
	default:
		words := []string{"**" + line(speaker(b)) + "**"}
		if b.Model != "" {
			words = append(words, line(b.Model))
		}
		if at := x.when(b.Time); at != "" {
			words = append(words, at)
		}
		if b.Label != "" {
			words = append(words, "⚑ "+line(b.Label))
		}
		fmt.Fprintf(out, "\n### %s\n", strings.Join(words, " · "))
	}
	for _, p := range b.Pieces {
		x.markdownPiece(out, p)
	}
	if b.Error != "" {
		fmt.Fprintf(out, "\n**Error:** %s\n", line(b.Error))
	}
	for _, p := range b.Problems {
		fmt.Fprintf(out, "\n*Problem: %s*\n", line(p.Message))
	}
}

func tokens(b *transcript.Block) string {
	for _, p := range b.Pieces {
		if c, ok := p.(transcript.Compacted); ok && c.Before > 0 {
			return ", " + wire.Number(c.Before) + " tokens before"
		}
	}
	return ""
}

func speaker(b *transcript.Block) string {
	switch {
	case b.Role == session.RoleUser && b.Meta:
		return "Agent, as the user"
	case b.Role == session.RoleUser:
		return "User"
	case b.Role == session.RoleAssistant:
		return "Assistant"
	case b.Speaker != "":
		return b.Speaker
	}
	return b.Native
}

func (x *exporter) markdownPiece(out *bufio.Writer, p transcript.Piece) {
	switch p := p.(type) {
	case transcript.Text:
		text, left := cut(p.Text, mostProse)
		fmt.Fprintf(out, "\n%s%s", markup.Quote(text), leftOut(left))
	case transcript.Thinking:
		if strings.TrimSpace(p.Text) != "" {
			details(out, "Thinking", fenced(p.Text, ""))
		}
	case transcript.Image:
		fmt.Fprintf(out, "\n*%s*\n", line(picture(p)))
	case transcript.Tools:
		for i := range p.Calls {
			x.markdownTool(out, &p.Calls[i])
		}
	case transcript.Compacted:
		text, left := cut(p.Summary.Text, mostProse)
		details(out, "Summary", markup.Quote(text)+leftOut(left))
	case transcript.Raw:
		details(out, p.Type, fenced(string(p.JSON), "json"))
	}
}

func picture(p transcript.Image) string {
	text := "Image"
	if p.MIME != "" {
		text += ", " + p.MIME
	}
	if p.Size >= 0 {
		text += ", " + wire.Size(p.Size)
	}
	return text
}

// markdownTool writes a call with its edits or its input, and its output, folded.
func (x *exporter) markdownTool(out *bufio.Writer, t *transcript.Tool) {
	title := t.Name
	if t.Title != "" {
		title += " " + t.Title
	}
	switch {
	case t.Failed:
		title += " (failed)"
	case !t.Answered:
		title += " (no result)"
	}
	var body strings.Builder
	switch {
	case len(t.Edits) > 0:
		for _, e := range t.Edits {
			fmt.Fprintf(&body, "%s\n\n%s\n", line(e.Path), fenced(string(diff.Append(nil, e.Hunks)), "diff"))
		}
	case t.Input != nil:
		body.WriteString(input(t.Input) + "\n")
	}
	for _, p := range t.Output {
		switch p := p.(type) {
		case transcript.Text:
			if len(t.Edits) > 0 && !t.Failed && len(p.Text) < 300 {
				continue // "edited" says no more than the difference
			}
			body.WriteString("Output:\n\n" + fenced(p.Text, "") + "\n")
		case transcript.Image:
			body.WriteString("*" + line(picture(p)) + "*\n\n")
		case transcript.Raw:
			body.WriteString(fenced(string(p.JSON), "json") + "\n")
		}
	}
	details(out, title, body.String())
}

// input returns a command as it is typed, and any other input as JSON.
func input(arguments session.Raw) string {
	for _, name := range []string{"command", "cmd"} {
		if s := rawjson.Str(arguments, name); s != "" {
			return fenced(s, "sh")
		}
	}
	return fenced(string(arguments), "json")
}

// details writes a folded block. Because of the blank lines, GitHub reads its content as Markdown.
func details(out *bufio.Writer, title, body string) {
	summary := strings.ReplaceAll(html.EscapeString(screen.OneLine(title, 120)), "@", "@\u200b")
	fmt.Fprintf(out, "\n<details><summary>%s</summary>\n\n%s\n</details>\n", summary, strings.TrimRight(body, "\n")+"\n")
}

func fenced(text, language string) string {
	text, left := cut(text, mostOutput)
	return markup.Fence(text, language) + leftOut(left)
}

// cut shortens a text, after a line if possible and otherwise between two characters.
func cut(text string, most int) (string, int) {
	if len(text) <= most {
		return text, 0
	}
	end := strings.LastIndexByte(text[:most], '\n') + 1
	if end < most/2 {
		end = most
		for end > 0 && text[end]&0xc0 == 0x80 {
			end--
		}
	}
	return text[:end], len(text) - end
}

func leftOut(n int) string {
	if n == 0 {
		return ""
	}
	return "\n*… " + strconv.Itoa(n) + " more bytes*\n"
}
