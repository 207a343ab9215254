// Package wave reads and writes the sessions of Wave.
//
// # The format
//
// A log is JSON Lines, one message a line, each behind the one before:
//
//	{"timestamp":ISO,"id":"msg-…","role":"user"|"assistant","blocks":[…],"usage"?,"additionalFields"?,"isMeta"?}
//
// Today's program puts a line before them,
//
//	{"type":"metadata","workdir":…,"createdAt":ISO,"gitBranch"?}
//
// and loses it when it rewinds a session; the format's document knows neither that line nor ids of messages. The
// session's id is the name of the file and nowhere else, and in it, in the document's form (UUID version 6), the time at
// which the session began. What the model sees begins at the last message with a "compact" block; the program repeats
// behind it the messages that it keeps, ids included.
//
// Logs lie in projects/<name>/<id>.jsonl, where the name is made from the working directory and cannot be turned back
// (see Project). Those of subagents are called subagent-<id>.jsonl.
//
// # The values
//
// Wave writes as the program of today does, Doc as the document says: no metadata line, no ids, folders with a leading
// hyphen, the file created at once, lists from names alone. What the metadata line would say stands in the member
// metadata.treeline of Doc's first message, where the document leaves room for it. Legacy reads the sessions from
// before, one JSON document each, and writes none.
package wave

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// Dialect is one value of the family.
type Dialect struct {
	name   string
	layout layout
	// metadata: a log begins with a metadata line. Otherwise the first message tells.
	metadata bool
	// ids: messages carry ids.
	ids  bool
	wait dialect.Defer
}

// The values that are written.
var (
	Wave = &Dialect{
		name: "wave", metadata: true, ids: true, wait: dialect.DeferMessage,
		layout: layout{rule: programName, order: dialect.OrderActive},
	}
	Doc = &Dialect{
		name: "wave-doc", wait: dialect.DeferNever,
		layout: layout{rule: documentName, document: true, order: dialect.OrderNames},
	}
)

var (
	_ dialect.Dialect      = (*Dialect)(nil)
	_ session.EntryCodec   = codec{}
	_ session.MessageCodec = codec{}
)

// Name is how people call the value.
func (d *Dialect) Name() string { return d.name }

// Family is what the two values share.
func (d *Dialect) Family() string { return "wave" }

// Layout says where the sessions are kept.
func (d *Dialect) Layout() dialect.Layout { return d.layout }

// Codec looks inside messages.
func (d *Dialect) Codec() session.Codec {
	return session.Codec{EntryCodec: codec{}, MessageCodec: codec{}}
}

// Encode gives the record of an entry: its own bytes. There is one version of the format.
func (d *Dialect) Encode(e session.Entry) ([]byte, error) { return e.Raw() }

// MessageParts gives what is inside a message of a context in neutral form.
func (d *Dialect) MessageParts(m []byte) []session.Part { return messageParts(m) }

func roleOf(name []byte) session.Role {
	switch string(name) {
	case "user":
		return session.RoleUser
	case "assistant":
		return session.RoleAssistant
	case "":
		return session.RoleNone
	}
	return session.RoleOther
}
