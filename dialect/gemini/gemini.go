// Package gemini reads and writes the sessions of Gemini CLI.
//
// # The format
//
// A log is JSON Lines. The first line is the header,
//
//	{"sessionId":UUID,"projectHash":sha256 of the working directory,"startTime":ISO,"lastUpdated":ISO,"kind":"main"|"subagent"}
//
// and every other line changes what came before it:
//
//	{"id":…,"timestamp":ISO,"type":"user"|"gemini"|"info"|"error"|"warning","content":…}
//	                          a message; it replaces an earlier one with the same id
//	{"$rewindTo":id}          removes the message and all after it; an unknown id removes all
//	{"$set":{"messages":[…]}} replaces all messages
//	{"$set":{…}}              sets other members of the header; so does a second header
//
// An answer (type "gemini") has its texts in "content", and beside it thoughts, tokens, model and toolCalls, each call with its
// result. The next message of the user repeats the results. Old files are one document, ".json": a header that contains the
// messages.
//
// # The tree
//
// Each line is an entry, a child of the line before. After a $rewindTo the next entry follows what is left, and the removed turns
// stay as a branch. When the program resumes a session, it repeats the whole history in a $set of messages. A
// $set of known messages is a child of the last of them. Any other $set of messages is a compaction.
//
// The program's rules for making a context of the lines up to an entry are in fold.go and sent.go.
package gemini

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/contents"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Dialect is the type of the only value of the family.
type Dialect struct {
	dialect.Base
	dialect.NoBlobs
	entries
	contents.Wire
	dialect.MemberOrigin
	dialect.RandomIDs // file names have only the first eight digits, which must differ between sessions of one minute
}

// Gemini is the format of Gemini CLI.
var Gemini = &Dialect{Base: dialect.Base{Called: "gemini", Format: "gemini", Where: layout{}}}

var (
	_ dialect.Dialect      = (*Dialect)(nil)
	_ dialect.Continuer    = (*Dialect)(nil)
	_ session.EntryCodec   = (*Dialect)(nil)
	_ session.MessageCodec = (*Dialect)(nil)
	_ session.Noter        = (*Dialect)(nil)
	_ session.Replayer     = (*reader)(nil)
	_ session.Omitter      = (*reader)(nil)
)

// entries looks inside entries.
type entries struct{ dialect.OneModel }

// reader is the codec of one log.
type reader struct {
	entries
	lost map[int]bool // positions of entries that the program does not read
	// leaves are the entries that the leaf moves to, by the positions of the lines that move it.
	leaves map[int]session.EntryID
	// echoes says which entries repeat an earlier one, and what they repeat.
	echoes map[int]echo
	// kind is the kind of the session. refused says why the program does not resume it; "" if it does.
	kind, refused string
}

// echo says what an entry repeats.
type echo uint8

const (
	echoTexts   echo = 1 << iota // texts and thoughts of the same answer
	echoCalls                    // calls without their results
	echoResults                  // results that the answer has beside its calls
)

// version is our number for the format, which itself has none.
const version = 1

// Types of entries. A message has the type that its record names.
const (
	typeUser   = "user"
	typeAnswer = "gemini"
	typeHeader = "header"
	typeSet    = "$set"
	typeRewind = "$rewindTo"
	typeCustom = "treelineCustom"
)

// kindTask is the kind of a sub-agent's session.
const kindTask = "subagent"

// Codec looks inside entries and messages. The codec of a tree also knows what the program skips: see reader.
func (d *Dialect) Codec() session.Codec { return session.Codec{EntryCodec: d, MessageCodec: d} }

// Time returns the time of an entry. Most other lines have the time when the session was last changed.
func (d *entries) Time(raw []byte) session.Time {
	at := rawjson.Get(raw, "timestamp")
	if at == nil {
		at = rawjson.Get(rawjson.Get(raw, typeSet), "lastUpdated")
	}
	return session.Time{Text: string(at)}
}
