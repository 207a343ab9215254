package wire

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
)

// Entry is an entry of a session, with the same members for every dialect. parentId, role and time are null where the
// entry has none.
type Entry struct {
	ID     session.EntryID  `json:"id"`
	Parent *session.EntryID `json:"parentId"`
	Kind   string           `json:"kind"`
	// Type is the agent's own name of the kind.
	Type string  `json:"type"`
	Role *string `json:"role"`
	Time *string `json:"time"`
	// Label is absent for an entry without one, and while a session is followed.
	Label string `json:"label,omitempty"`
	// Leaf and OnPath are set in a tree: the entry is the session's leaf, or on the path to the leaf that is looked at.
	Leaf   bool `json:"leaf,omitempty"`
	OnPath bool `json:"onPath,omitempty"`
	// Here marks the entry that the caller named.
	Here bool `json:"here,omitempty"`
	// Display is present for messages of extensions: whether people see them.
	Display *bool `json:"display,omitempty"`
	// Text is the entry on one line. It is present in a tree, and for entries without parts.
	Text  *string `json:"text,omitempty"`
	Parts *[]Part `json:"parts,omitempty"`
}

// Part is a piece of an entry. The type decides which members are present: text and thinking have text; a toolCall has id, name
// and arguments; a toolResult has callId, name, isError and parts, and session if the call started a sub-agent; an image has
// mime, size and blob or url; opaque has name and json. data is the bytes of an image in base64, only in a context by parts.
type Part struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	CallID    string          `json:"callId,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	IsError   bool            `json:"isError,omitempty"`
	Session   session.ID      `json:"session,omitempty"`
	Parts     *[]Part         `json:"parts,omitempty"`
	MIME      string          `json:"mime,omitempty"`
	Size      *int64          `json:"size,omitempty"`
	Blob      string          `json:"blob,omitempty"`
	URL       string          `json:"url,omitempty"`
	Data      string          `json:"data,omitempty"`
	JSON      json.RawMessage `json:"json,omitempty"`
}

// newEntry sets the members that do not depend on where the entry is shown.
func newEntry(v View, label string) Entry {
	e := Entry{
		ID: v.ID, Parent: optional(v.Parent), Kind: v.Kind.String(), Type: v.Type, Role: optional(v.Speaker()), Time: utc(v.Time), Label: label,
	}
	if m, ok := v.Body.(session.CustomMessage); ok {
		e.Display = &m.Display
	}
	return e
}

// NewEntry returns an entry with its parts. blobSize returns the size of a blob, or -1 if it cannot be read.
func NewEntry(v View, label string, blobSize func(ref string) int64) Entry {
	e := newEntry(v, label)
	e.Parts = newParts(v.Parts, partOptions{blobSize: blobSize})
	if len(v.Parts) == 0 {
		text := v.Line(0)
		e.Text = &text
	}
	return e
}

// partOptions say how much of a part is shown.
type partOptions struct {
	blobSize func(ref string) int64
	data     bool // the bytes of images
}

// newParts returns a pointer, so that an empty list is printed as [] and a missing one is absent.
func newParts(parts []session.Part, opt partOptions) *[]Part {
	list := make([]Part, 0, len(parts))
	for _, p := range parts {
		var j Part
		switch p := p.(type) {
		case session.Text:
			j = Part{Type: "text", Text: &p.Text}
		case session.Thinking:
			j = Part{Type: "thinking", Text: &p.Text}
		case session.ToolCall:
			j = Part{Type: "toolCall", ID: p.ID, Name: p.Name, Arguments: Verbatim(p.Arguments)}
		case session.ToolResult:
			j = Part{Type: "toolResult", CallID: p.CallID, Name: p.Name, IsError: p.IsError, Parts: newParts(p.Parts, opt), Session: p.Session}
		case session.Image:
			j = newImage(p, opt)
		case session.OpaquePart:
			j = Part{Type: "opaque", Name: p.Type, JSON: Verbatim(p.JSON)}
		}
		list = append(list, j)
	}
	return &list
}

// NewImage describes an image. blobSize returns the size of a blob, or -1 if it cannot be read.
func NewImage(p session.Image, blobSize func(ref string) int64) Part {
	return newImage(p, partOptions{blobSize: blobSize})
}

// newImage describes an image. It computes the size from the length of the base64 text: four characters are three bytes.
func newImage(p session.Image, opt partOptions) Part {
	j, size := Part{Type: "image", MIME: p.MIME}, int64(-1)
	data := p.Data
	switch {
	case strings.HasPrefix(data, blob.Prefix):
		j.Blob, size = data, opt.blobSize(data)
	case !strings.HasPrefix(data, "data:") && strings.Contains(data, "://"):
		j.URL = data
	default:
		if head, ok := strings.CutPrefix(data, "data:"); ok {
			head, data, _ = strings.Cut(head, ",")
			head, _, _ = strings.Cut(head, ";")
			j.MIME = cmp.Or(j.MIME, head)
		}
		size = int64(len(strings.TrimRight(data, "="))) * 3 / 4
		if opt.data {
			j.Data = data
		}
	}
	if size >= 0 {
		j.Size = &size
	}
	return j
}

// imageText describes an image in a transcript.
func imageText(p Part) string {
	words := []string{"image " + cmp.Or(p.MIME, "of unknown type")}
	if p.Size != nil {
		words = append(words, Size(*p.Size))
	}
	if name, ok := strings.CutPrefix(p.Blob, blob.Prefix); ok {
		name = "blob " + name[:min(len(name), 8)]
		if p.Size == nil {
			name += " cannot be read"
		}
		words = append(words, name)
	}
	return "[" + screen.OneLine(join(append(words, p.URL), ", "), 120) + "]"
}
