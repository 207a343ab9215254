package dialect

import (
	"time"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Composer is a Writer that sessions of other dialects can be converted to. It makes its own messages of neutral parts,
// and has a place in its records for what it cannot express.
// The store composes, decomposes what came out and compares: a Composer may lose something, but must never invent.
type Composer interface {
	// Compose gives the message in the dialect's own JSON. It may take several: some agents keep the answers of tools
	// in messages of their own. It fails for what the dialect has no message for; parts that have no place in the
	// message are left out.
	Compose(m NewMessage) ([][]byte, error)
	// Content gives text and images as they stand in a custom message.
	Content(parts []session.Part) []byte
	// MessageParts takes a message of the dialect apart.
	MessageParts(message []byte) []session.Part
	// SetOrigin gives the record with origin, a JSON object, in a member that the agent passes over.
	SetOrigin(record, origin []byte) []byte
	// Origin gives what SetOrigin put there, nil where nothing is, and the record without it and without what the agent
	// changes with every save.
	Origin(record []byte) (origin, bare []byte)
}

// NewMessage is a message to be composed.
// Time and the model are known also where the source has none for the message: they are inherited from the path.
type NewMessage struct {
	// ID is unique to the message, for agents whose messages have ids beside those of their entries.
	ID    string
	Role  session.Role
	Parts []session.Part
	Time  time.Time
	// Meta: the agent put it in, in the user's name.
	Meta bool
	// The rest is for answers. Model may be inherited from what the path says.
	Provider, Model string
	Stop            Stop
	Error           string
	Usage           *session.Usage
}

// Stop says why an answer ended.
type Stop string

// The reasons that more than one agent knows.
const (
	StopEnd     Stop = "stop"
	StopLength  Stop = "length"
	StopTools   Stop = "tools"
	StopAborted Stop = "aborted"
	StopError   Stop = "error"
	StopFilter  Stop = "filter"
)

// StopOf reads the words that agents have for it; "" for one that is not known.
// Each dialect spells them its own way, and converting must not make a failed turn a good one.
func StopOf(word string) Stop {
	switch word {
	case "stop", "end_turn":
		return StopEnd
	case "length", "max_tokens":
		return StopLength
	case "toolUse", "tool_calls", "tool_use":
		return StopTools
	case "aborted", "abort":
		return StopAborted
	case "error":
		return StopError
	case "content_filter":
		return StopFilter
	}
	return ""
}

// Results splits the answers of tools from all other parts.
func Results(parts []session.Part) (others []session.Part, results []session.ToolResult) {
	for _, p := range parts {
		if r, ok := p.(session.ToolResult); ok {
			results = append(results, r)
		} else {
			others = append(others, p)
		}
	}
	return others, results
}

// Prose gives parts as text and images alone, for messages that cannot hold anything else: a command that somebody ran
// becomes the text of it.
// What is Opaque has no text that a model could use, so it is left out; a conversion carries the record along.
func Prose(parts []session.Part) []session.Part {
	var out []session.Part
	for _, p := range parts {
		switch p := p.(type) {
		case session.Text, session.Image:
			out = append(out, p)
		case session.Thinking:
			out = append(out, session.Text{Text: p.Text})
		case session.ToolCall:
			out = append(out, session.Text{Text: p.Name + " " + string(p.Arguments)})
		case session.ToolResult:
			out = append(out, Prose(p.Parts)...)
		}
	}
	return out
}

// TextOf joins the texts among parts.
// Newlines stand between them, as a reader would see them.
func TextOf(parts []session.Part) string {
	var out []byte
	for _, p := range parts {
		if t, ok := p.(session.Text); ok {
			if len(out) > 0 {
				out = append(out, '\n')
			}
			out = append(out, t.Text...)
		}
	}
	return string(out)
}

// OriginMember is where most dialects keep an origin.
const OriginMember = "treelineOrigin"

// SetOrigin is Composer.SetOrigin for records that may have members of any name.
func SetOrigin(record, origin []byte) []byte { return rawjson.Set(record, OriginMember, origin) }

// Origin is Composer.Origin for the same records.
func Origin(record []byte) (origin, bare []byte) {
	if origin = rawjson.Get(record, OriginMember); origin == nil {
		return nil, record
	}
	return origin, rawjson.Delete(record, OriginMember)
}

// ComposingDialect is a WritingDialect that is a Composer.
type ComposingDialect struct {
	WritingDialect
	Composer
}

// AsComposer gives d as a ComposingDialect; ok is false where no session can be converted to it.
func AsComposer(d Dialect) (c ComposingDialect, ok bool) {
	if c.WritingDialect, ok = AsWriter(d); ok {
		c.Composer, ok = d.(Composer)
	}
	return c, ok
}
