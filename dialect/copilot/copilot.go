// Package copilot reads and writes the sessions of GitHub Copilot CLI.
//
// # The format
//
// A session is a folder, session-state/<id>. Its log is events.jsonl, one event per line:
//
//	{"type":…,"data":{…},"id":uuid,"timestamp":ISO,"parentId":uuid|null,"agentId"?:…}
//
// The first event is session.start, which names the session and its working directory. The conversation is in the order of the
// lines: the program ignores parentId and repeated ids. An event with an agentId belongs to a sub-agent. The events of a
// sub-agent are a side branch, which begins at the event before the first of them.
//
// A message of this dialect is an event without id, time and parent: {"type":…,"data":…}. The rules by which the program,
// version 1.0.102, makes messages from a log are in replay.go.
package copilot

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// Dialect is the type of the only value of the family.
type Dialect struct {
	dialect.Base
	dialect.NoBlobs
	entries
	dialect.MemberOrigin
	dialect.RandomIDs
}

// Copilot is the format of GitHub Copilot CLI.
var Copilot = &Dialect{Base: dialect.Base{Called: "copilot", Format: "copilot", Where: layout{}}}

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
type entries struct {
	dialect.OneModel
	dialect.Stamped
}

// reader is the codec of one log.
type reader struct {
	entries
	// refused says why the program does not resume the session; nil if it does.
	refused *session.Problem
	// lost are the positions of entries that the program removes, in order.
	lost []int
}

// newest is the highest version of a log that is written to. The program writes version 1 and also resumes version 3.
const newest = 2

// The types of events that have a meaning here.
const (
	typeStart        = "session.start"
	typeUser         = "user.message"
	typeAnswer       = "assistant.message"
	typeResult       = "tool.execution_complete"
	typeNotification = "system.notification"
	typeCompaction   = "session.compaction_complete"
	typeCleared      = "session.context_cleared"
	typeResume       = "session.resume"
	typeUsage        = "session.usage_record"
	typeModel        = "session.model_change"
	typeTitle        = "session.title_changed"
	// Our own type. The program skips events of unknown types.
	typeCustom = "treeline.custom"
)

// Members that only treeline uses.
const (
	insertedMember = "treelineInserted" // of a user.message: the kind of a message of an extension or of a branch summary
	parentMember   = "treelineParent"   // of session.start: the session that this one was forked from
	providerMember = "treelineProvider" // of an answer: the provider of the model, if the model's name does not show it
	usageMember    = "treelineUsage"    // of an answer: its usage, as in a session.usage_record
)

// Codec looks inside entries and messages. The codec of a tree also knows whether the program reads the log: see reader.
func (d *Dialect) Codec() session.Codec { return session.Codec{EntryCodec: d, MessageCodec: d} }

// IsNote reports whether an entry is an event for the program's own use.
func (d *entries) IsNote(e session.Entry) bool {
	return e.Kind == session.KindCustom && e.Type != typeCustom
}
