// Package codelia reads and writes codelia's run logs, and the states from which its sessions are resumed.
//
// # The format of run logs
//
// Each run has a log, sessions/YYYY/MM/DD/<run_id>.jsonl, by the day in UTC on which it began. Package run describes its
// records. As a session the log is linear: each record is an entry below the one before. Prompts, answers and results of tools
// are messages; everything else (status, events, the end) is shown as it is. A request to the model holds the whole context that
// was sent. So the context of a run is its last request and the response to it.
//
// Codelia and CodeliaDoc read and write the same run logs in different places: only the program has a second place
// (CODELIA_LAYOUT=xdg).
//
// # The format of states
//
// See StateDialect. Package backend/rows/codelia stores states.
package codelia

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/session"
)

// Dialect is one value of the family.
type Dialect struct {
	dialect.Base
	dialect.NoBlobs
}

// The values of the family.
var (
	Codelia    = &Dialect{Base: dialect.Base{Called: "codelia", Format: "codelia", Where: layout{xdg: true}}}
	CodeliaDoc = &Dialect{Base: dialect.Base{Called: "codelia-doc", Format: "codelia", Where: layout{}}}
)

var (
	_ dialect.Dialect      = (*Dialect)(nil)
	_ dialect.Runs         = (*Dialect)(nil)
	_ session.EntryCodec   = (*Dialect)(nil)
	_ session.MessageCodec = (*Dialect)(nil)
	_ session.Replayer     = (*Dialect)(nil)
)

// Codec is the dialect itself, which has no state.
func (d *Dialect) Codec() session.Codec { return session.Codec{EntryCodec: d, MessageCodec: d} }

// Rules are the default: Replay makes the context of a run.
func (d *Dialect) Rules() session.Rules { return session.Rules{} }

// Sessions returns the dialect of states, as the program keeps them or as the document describes them.
func (d *Dialect) Sessions() dialect.Dialect {
	if d == Codelia {
		return State
	}
	return StateDoc
}

// kindOf returns the kind and the role of the records of a type.
func kindOf(typ []byte) (session.Kind, session.Role) {
	switch run.Type(typ) {
	case run.TypeRunStart:
		return session.KindMessage, session.RoleUser
	case run.TypeLLMResponse:
		return session.KindMessage, session.RoleAssistant
	case run.TypeToolOutput:
		return session.KindMessage, session.RoleTool
	case run.TypeLLMRequest, run.TypeRunError:
		return session.KindCustomMessage, session.RoleNone
	case run.TypeRunContext, run.TypeAgentEvent, run.TypeRunStatus, run.TypeRunEnd:
		return session.KindCustom, session.RoleNone
	}
	return session.KindOpaque, session.RoleNone
}
