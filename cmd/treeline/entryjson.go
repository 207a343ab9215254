package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
)

// entryJSON is an entry as 'show' and 'tree' print it for programs: the same members for every dialect.
// It is a stable format. parentId, role and time are null where the entry has none; the optional members are
// absent where they do not apply.
type entryJSON struct {
	ID     session.EntryID  `json:"id"`
	Parent *session.EntryID `json:"parentId"`
	Kind   string           `json:"kind"`
	// Type is the agent's own name of the kind.
	Type string  `json:"type"`
	Role *string `json:"role"`
	// Time is in UTC with milliseconds, whatever the agent writes; null where it is not known.
	Time   *string `json:"time"`
	Label  string  `json:"label,omitempty"`
	Leaf   bool    `json:"leaf,omitempty"`
	Active bool    `json:"active,omitempty"`
	// Here: it is the entry that 'tree' was asked to look from.
	Here bool `json:"here,omitempty"`
	// Display is there for messages of extensions: whether people see them.
	Display *bool       `json:"display,omitempty"`
	Text    *string     `json:"text,omitempty"`
	Parts   *[]partJSON `json:"parts,omitempty"`
}

// partJSON is a part of an entry. Pictures are named, not shown: 'context' has their bytes.
// Which members there are depends on type: text and thinking have text, a toolCall id, name and arguments, a
// toolResult callId, name, isError and parts, an image mime, size, blob or url, and opaque name and json.
type partJSON struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	CallID    string          `json:"callId,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	IsError   bool            `json:"isError,omitempty"`
	Parts     *[]partJSON     `json:"parts,omitempty"`
	MIME      string          `json:"mime,omitempty"`
	Size      *int64          `json:"size,omitempty"`
	Blob      string          `json:"blob,omitempty"`
	URL       string          `json:"url,omitempty"`
	JSON      json.RawMessage `json:"json,omitempty"`
}

// newEntryJSON leaves leaf, active, text and parts to the command, which knows what was asked.
func newEntryJSON(t *session.Tree, v view) entryJSON {
	j := entryJSON{ID: v.ID, Kind: v.Kind.String(), Type: v.Type, Label: t.Label(v.ID), Time: utc(v.time)}
	if v.Parent != "" {
		j.Parent = &v.Parent
	}
	if role := v.role(); role != "" {
		j.Role = &role
	}
	if m, ok := v.body.(session.CustomMessage); ok {
		j.Display = &m.Display
	}
	return j
}

// utc spells a time for programs.
func utc(t session.Time) *string {
	at, ok := t.Time()
	if !ok {
		return nil
	}
	s := at.UTC().Format("2006-01-02T15:04:05.000Z")
	return &s
}

// partsJSON gives the parts of an entry. blobSize tells the size of a blob, -1 where it is not known.
func partsJSON(parts []session.Part, blobSize func(ref string) int64) *[]partJSON {
	list := make([]partJSON, 0, len(parts))
	for _, p := range parts {
		var j partJSON
		switch p := p.(type) {
		case session.Text:
			j = partJSON{Type: "text", Text: &p.Text}
		case session.Thinking:
			j = partJSON{Type: "thinking", Text: &p.Text}
		case session.ToolCall:
			j = partJSON{Type: "toolCall", ID: p.ID, Name: p.Name, Arguments: verbatim(p.Arguments)}
		case session.ToolResult:
			j = partJSON{Type: "toolResult", CallID: p.CallID, Name: p.Name, IsError: p.IsError, Parts: partsJSON(p.Parts, blobSize)}
		case session.Image:
			j = imageJSON(p, blobSize)
		case session.OpaquePart:
			j = partJSON{Type: "opaque", Name: p.Type, JSON: verbatim(p.JSON)}
		}
		list = append(list, j)
	}
	return &list
}

// verbatim passes a piece of a log on. One that nests too deep for encoding/json, which no agent writes, is passed on as
// a string.
func verbatim(raw session.Raw) json.RawMessage {
	if len(raw) > 0 && !json.Valid(raw) {
		return rawjson.Quote(string(raw))
	}
	return json.RawMessage(raw)
}

func imageJSON(p session.Image, blobSize func(ref string) int64) partJSON {
	i := lookAtImage(p, blobSize)
	j := partJSON{Type: "image", MIME: i.mime, Blob: i.blob, URL: i.url}
	if i.size >= 0 {
		j.Size = &i.size
	}
	return j
}

// writeJSON prints a value on one line. What a terminal could take for a command is escaped also where JSON does not ask
// for it.
func writeJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(harmless(b.Bytes()))
	return err
}

// harmless escapes characters that clean would too. In JSON they can stand in strings only.
func harmless(b []byte) []byte {
	if bytes.IndexFunc(b, screen.Dangerous) < 0 {
		return b
	}
	var out []byte
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if screen.Dangerous(r) {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = append(out, b[:n]...)
		}
		b = b[n:]
	}
	return out
}

// arrayWriter prints an array with one element per line, without holding it.
type arrayWriter struct {
	w io.Writer
	n int
}

// add writes the comma before an element, so that nothing needs to be known about the next one.
func (a *arrayWriter) add(v any) error {
	var b bytes.Buffer
	b.WriteString("[\n")
	if a.n > 0 {
		b.Reset()
		b.WriteString(",\n")
	}
	a.n++
	if err := writeJSON(&b, v); err != nil {
		return err
	}
	_, err := a.w.Write(b.Bytes()[:b.Len()-1]) // without the newline: a comma may follow
	return err
}

func (a *arrayWriter) end() error {
	last := "\n]\n"
	if a.n == 0 {
		last = "[]\n"
	}
	_, err := io.WriteString(a.w, last)
	return err
}
