package wave

import (
	"bytes"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// LLM returns a message as the program sends it, in Wave's own blocks; nil if nothing of it is sent. A summary is sent alone, in
// the user's name. Commands that the user ran, errors, snapshots of files and calls that have not ended are not
// sent. A message that needs no change keeps its bytes.
func (*codec) LLM(m []byte) ([]byte, error) {
	list := rawjson.Get(m, "blocks")
	role := roleOf([]byte(rawjson.Str(m, "role")))
	if role == session.RoleAssistant {
		for b := range rawjson.Elements(list) {
			c, ok := decodeBlock(b).(CompactBlock)
			switch summary := sentText(c.Content); {
			case ok && summary == nil:
				return nil, nil // no provider accepts an empty message
			case ok:
				return rawjson.Set(rawjson.Set(m, "role", []byte(`"user"`)), "blocks", dialect.Array(summary)), nil
			}
		}
	}
	var blocks [][]byte
	changed, speaks := false, false
	for b := range rawjson.Elements(list) {
		block := decodeBlock(b)
		sent := sentBlock(role, block, b)
		changed = changed || len(sent) != 1 || !bytes.Equal(sent[0], b)
		blocks = append(blocks, sent...)
		_, thinks := block.(ReasoningBlock)
		speaks = speaks || len(sent) > 0 && !thinks
	}
	switch {
	case !speaks:
		return nil, nil // reasoning alone is not sent
	case changed:
		return rawjson.Set(m, "blocks", dialect.Array(blocks)), nil
	}
	return m, nil
}

// sentBlock returns what is sent of a block: the block itself, a text instead, or nothing.
func sentBlock(role session.Role, block Block, raw []byte) [][]byte {
	user := role == session.RoleUser
	itself := [][]byte{raw}
	switch b := block.(type) {
	case TextBlock:
		if strings.TrimSpace(b.Content) == "" {
			return nil
		}
		if user && b.CustomCommandContent != "" {
			return sentText(b.CustomCommandContent)
		}
		return itself
	case ReasoningBlock:
		if !user && strings.TrimSpace(b.Content) != "" {
			return itself
		}
	case ImageBlock:
		if user && len(b.URLs) > 0 {
			return itself
		}
	case ToolBlock:
		switch {
		case b.Stage != "end":
		case !user && b.ID != "":
			return itself
		case user && b.Result != "":
			return sentText("<local-command-stdout>\n" + b.Result + "\n</local-command-stdout>")
		}
	case TaskNotificationBlock:
		if user {
			return sentText(b.text())
		}
	}
	return nil
}

// sentText is a block with a text.
func sentText(text string) [][]byte {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	var b dialect.Object
	b.Str("type", "text")
	b.Str("content", text)
	return [][]byte{b.End()}
}

// text is what the program tells the model about a task that ended.
func (b TaskNotificationBlock) text() string {
	var t strings.Builder
	line := func(tag, value string) { t.WriteString("<" + tag + ">" + value + "</" + tag + ">\n") }
	t.WriteString("<task-notification>\n")
	line("task-id", b.TaskID)
	line("task-type", b.TaskType)
	if b.OutputFile != "" {
		line("output-file", b.OutputFile)
	}
	line("status", b.Status)
	line("summary", b.Summary)
	t.WriteString("</task-notification>")
	return t.String()
}

// Command parses a message that consists of one command of the user.
func (d *Dialect) Command(m []byte) (dialect.Command, bool) { return new(codec).Command(m) }

// Command parses a message that consists of one command of the user. Wave never sends it to the model.
func (*codec) Command(m []byte) (c dialect.Command, ok bool) {
	blocks := Blocks(rawjson.Get(m, "blocks"))
	if len(blocks) != 1 || rawjson.Str(m, "role") != "user" {
		return c, false
	}
	b, ok := blocks[0].(BangBlock)
	c = dialect.Command{Tool: "bash", Code: b.Command, Output: b.Output, Hidden: true}
	if dialect.IsNumber(b.ExitCode) {
		c.Exit = b.ExitCode
	}
	return c, ok
}

// bang is the block of a command that the user ran.
func bang(c *dialect.Command) []byte {
	var b dialect.Object
	b.Str("type", "bang")
	b.Str("command", c.Code)
	b.Str("output", c.Output)
	b.Str("stage", "end")
	exit := c.Exit
	if exit == nil {
		exit = session.Raw("null")
	}
	b.Add("exitCode", exit)
	return b.End()
}
