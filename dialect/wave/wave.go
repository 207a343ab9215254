// Package wave reads and writes the sessions of Wave.
//
// # The format
//
// A log is JSON Lines, one message per line, each a child of the one before:
//
//	{"timestamp":ISO,"id":"msg-…","role":"user"|"assistant","blocks":[…],"usage"?,"additionalFields"?,"isMeta"?}
//
// Today's program writes a metadata line before them, and loses it when it rewinds a session:
//
//	{"type":"metadata","workdir":…,"createdAt":ISO,"gitBranch"?}
//
// The context begins at the last message with a "compact" block. After it the program repeats the messages that it keeps, with
// the same ids.
//
// Logs are in projects/<name>/<id>.jsonl; those of subagents are named subagent-<id>.jsonl. The session's id is only in the name
// of the file. The name of the folder is made from the working directory and cannot be reversed; see Project.
//
// # The values
//
// Wave writes like today's program. Doc writes as the format's document says: no metadata line, no message ids, session ids
// that are UUIDs of version 6 with the time at which the session began, folders with a leading hyphen, the file created at once,
// lists from names alone. The member metadata.treeline of Doc's first message holds what the metadata line would hold; the document
// allows that. Legacy reads the older sessions, one JSON document each, and writes none.
package wave

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// Dialect is one value of the family.
type Dialect struct {
	dialect.Base
	dialect.NoBlobs
	// metadata: a log begins with a metadata line. Otherwise the first message holds its content.
	metadata bool
	// ids: messages have ids.
	ids  bool
	wait dialect.Defer
}

// The values that are written.
var (
	Wave = &Dialect{
		Base:     dialect.Base{Called: "wave", Format: "wave", Where: layout{rule: programName, order: dialect.OrderActive}},
		metadata: true, ids: true, wait: dialect.DeferMessage,
	}
	Doc = &Dialect{
		Base: dialect.Base{Called: "wave-doc", Format: "wave", Where: layout{rule: documentName, document: true, order: dialect.OrderNames}},
		wait: dialect.DeferNever,
	}
)

var (
	_ dialect.Dialect      = (*Dialect)(nil)
	_ session.EntryCodec   = &codec{}
	_ session.MessageCodec = &codec{}
)

// Codec looks inside messages.
func (d *Dialect) Codec() session.Codec {
	return session.Codec{EntryCodec: &codec{}, MessageCodec: &codec{}}
}

// MessageParts returns what is inside a message of a context in neutral form.
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
