package wire

import (
	"context"
	"encoding/json"
	"io"
	"strings"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
)

// WriteContext prints a context as one JSON object: the messages byte for byte, the members of the agent's own context
// and, if there are any, "problems". Messages are not collected first, since a context may be as large as the session.
// The problems are looked at last: reading messages may add to them.
func WriteContext(w io.Writer, c *session.Context, problems *[]session.Problem) error {
	separator := `{"messages":[`
	for m, err := range c.Messages() {
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, separator); err != nil {
			return err
		}
		separator = ","
		if _, err := w.Write(m.JSON); err != nil {
			return err
		}
	}
	rest := []byte("],")
	if separator != "," {
		rest = append([]byte(separator), rest...)
	}
	rest = c.AppendState(rest)
	if len(*problems) > 0 {
		list, err := json.Marshal(*problems)
		if err != nil {
			return err
		}
		rest = append(append(rest, `,"problems":`...), list...)
	}
	_, err := w.Write(append(rest, '}', '\n'))
	return err
}

// Context writes a context: thinking level, models and mode, then the messages, then their number and the size of
// their JSON. r is a reader of the same session.
func (t *Transcript) Context(ctx context.Context, r *Reader, c *session.Context) error {
	t.BlobSize, t.MessageParts = r.BlobSize, r.s.MessageParts
	t.state(c)
	t.Section()
	count, size := 0, 0
	for m, err := range c.Messages() {
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		count++
		size += len(m.JSON)
		r.entry = m.Entry
		from := "· " + screen.Clean(string(m.Entry.ID))
		if m.Entry.ID == "" { // made by the agent when it resumes a session
			from = "· added when the session resumes here"
		}
		t.plainMessage(rawjson.Str(m.JSON, "role"), from, t.MessageParts(m.JSON))
	}
	t.begin(speech)
	t.line(t.paint(StyleFaint, Count(count, "message", "messages")+", "+Size(int64(size))))
	return nil
}

// state writes what holds at the leaf besides the messages.
func (t *Transcript) state(c *session.Context) {
	add := func(name, value string) {
		t.line(t.paint(StyleFaint, screen.Pad(name, 9, false)) + " " + screen.OneLine(value, 0))
	}
	add("thinking", orElse(c.ThinkingLevel, "off"))
	if len(c.Models) == 0 {
		add("model", "none")
	}
	for _, m := range c.Models {
		value := orElse(m.Name, shortJSON(m.JSON, 80))
		if m.Role != "default" {
			value += " for " + m.Role
		}
		add("model", value)
	}
	add("mode", strings.TrimSpace(orElse(c.Mode, "none")+" "+shortJSON(c.ModeData, 80)))
	if len(c.TTSRRules) > 0 {
		add("rules", strings.Join(c.TTSRRules, ", "))
	}
}
