// Package codex reads and writes the sessions (threads) of Codex CLI.
//
// # The format
//
// A log, called a rollout, is JSON Lines. The first line is the header,
//
//	{"timestamp":ISO,"type":"session_meta","payload":{"id":UUID,"timestamp":…,"cwd":…,"originator":…,"cli_version":…,…}}
//
// and every other line has the same outer members. Lines of type "response_item" hold items of the Responses API: what the
// model sees. Lines of type "event_msg" hold what the user interface shows; they never become messages. "compacted" replaces the
// history, "turn_context" names the model.
//
// The log is linear. The event "thread_rolled_back" abandons turns: the next entry follows the entry before them, and they stay
// as a branch. A fork or a revert is a separate file. Its header names a base (history_base), whose first bytes come before its
// own lines; the base may itself have a base. Files of that kind have an "ordinal" in each line.
//
// Entries have no ids. The id of an entry is made from its ordinal, or else from its place: the line number in a log without damage.
package codex

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
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

// Codex is the format of Codex CLI.
var Codex = &Dialect{Base: dialect.Base{Called: "codex", Format: "codex", Where: layout{}}}

var (
	_ dialect.Dialect      = (*Dialect)(nil)
	_ dialect.Continuer    = (*Dialect)(nil)
	_ session.EntryCodec   = (*Dialect)(nil)
	_ session.MessageCodec = (*Dialect)(nil)
	_ session.Noter        = (*Dialect)(nil)
	_ session.Echoer       = (*Dialect)(nil)
	_ session.Replayer     = (*reader)(nil)
	_ session.Omitter      = (*reader)(nil)
	_ dialect.Needer       = (*decoder)(nil)
	_ dialect.LogNeeder    = (*decoder)(nil)
)

// entries looks inside entries.
type entries struct{}

// Rules implements session.EntryCodec.
func (*entries) Rules() session.Rules { return session.Rules{SingleModel: true, ModelByEntry: true} }

// reader is the codec of one log: it knows which lines the program does not read.
type reader struct {
	entries
	outline
	// refused says why the program does not resume the file; "" if it does.
	refused string
	// baseless: the header names a base that the program does not read.
	baseless bool
	last     lasts
	called   called
	own      int // position of the first entry after those of the base
	from     int // position of the first own entry that the program reads: in files with ordinals, the one after the last header
}

// lasts are the last entries of certain kinds, as positions from 1; 0 if there is none.
type lasts struct {
	prompt int // a message of the user, or of another agent
	bound  int // an event that begins or ends a turn
	leaf   int // a rollback that moves the leaf
}

// version is our number for the format, which itself has none.
const version = 1

// Types of lines.
const (
	typeMeta        = "session_meta"
	typeItem        = "response_item"
	typeEvent       = "event_msg"
	typeCompacted   = "compacted"
	typeTurnContext = "turn_context"
	typeAgents      = "inter_agent_communication"
)

// Types of the events that begin and end turns.
const (
	eventStarted  = "task_started"
	eventComplete = "task_complete"
	eventAborted  = "turn_aborted"
)

// Codec is the dialect itself, which has no state.
func (d *Dialect) Codec() session.Codec { return session.Codec{EntryCodec: d, MessageCodec: d} }

// Time returns the time of an entry. Of a repeated member the first counts: the program does not read such a line.
func (d *entries) Time(raw []byte) session.Time {
	return session.Time{Text: string(rawjson.First(raw, "timestamp"))}
}
