// Package qwen reads and writes the sessions of Qwen Code.
//
// # The format
//
// A log is JSON Lines without a header. The name of the file is the session's id. Every line is an entry of a tree:
//
//	{"uuid":…,"parentUuid":uuid|null,"sessionId":…,"timestamp":ISO,"type":"user"|"assistant"|"tool_result"|"system","cwd":…,
//	 "version":…,"message":{"role":"user"|"model","parts":[…]},"model":…,"usageMetadata":{…},"subtype":…,"systemPayload":{…}}
//
// The leaf is the last line that is not about artifacts. Lines with the same uuid are one record, whose parts are joined. Messages
// are contents of Google's API.
//
// The model does not see lines of type "system". Two of them change the context: the last "chat_compression" on the path replaces
// what came before it, and a "rewind" is a child of the entry that the conversation goes back to.
//
// The rules of the program, version 0.24.4, are in replay.go (from a path to messages) and sent.go (from messages to a request).
package qwen

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/contents"
	"github.com/treeline-dev/treeline/session"
)

// Dialect is the type of the only value of the family.
type Dialect struct {
	dialect.Base
	dialect.NoBlobs
	entries
	contents.Wire
	dialect.MemberOrigin
	dialect.RandomIDs
}

// Qwen is the format of Qwen Code.
var Qwen = &Dialect{Base: dialect.Base{Called: "qwen", Format: "qwen", Where: layout{}}}

var (
	_ dialect.Dialect      = (*Dialect)(nil)
	_ dialect.Continuer    = (*Dialect)(nil)
	_ session.EntryCodec   = (*Dialect)(nil)
	_ session.MessageCodec = (*Dialect)(nil)
	_ session.Noter        = (*Dialect)(nil)
	_ session.Replayer     = (*reader)(nil)
	_ session.Omitter      = (*reader)(nil)
	_ session.Navigator    = (*joining)(nil)
)

// entries looks inside entries.
type entries struct {
	dialect.OneModel
	dialect.Stamped
}

// reader is the codec of one log.
type reader struct {
	entries
	lost map[int]string // positions of entries that the program does not read, and why
	// pieces are the further lines of records that have several, by the position of the first line.
	pieces map[int][]int
	// refused says why the program does not resume the log; "" if it does.
	refused string
}

// version is our number for the format, which itself has none.
const version = 1

// Types of lines.
const (
	typeUser      = "user"
	typeAssistant = "assistant"
	typeResult    = "tool_result"
	typeSystem    = "system"
)

// The subtypes that have a meaning here.
const (
	subCompression = "chat_compression"
	subTitle       = "custom_title"
	subCommand     = "slash_command"
	subRealtime    = "realtime_message"
	subRewind      = "rewind"
	// Subtypes of our own, which the program ignores.
	subHeader  = "treeline_session"
	subCustom  = "treeline_custom"
	subBranch  = "treeline_branch_summary"
	subMessage = "treeline_message"
)

// Codec looks inside entries and messages. The codec of a tree also knows what the program skips: see reader.
func (d *Dialect) Codec() session.Codec { return session.Codec{EntryCodec: d, MessageCodec: d} }
