// Package claude reads and writes the sessions of Claude Code.
//
// # The format
//
// A log is JSON Lines without a header. The session's id is the name of the file. Lines of four types are entries, a tree
// by uuid and parentUuid:
//
//	{"parentUuid":uuid|null,"isSidechain":bool,"type":"user"|"assistant"|"system"|"attachment","uuid":…,"timestamp":ISO,
//	 "message":{"role":…,"content":…},"sessionId":…,"cwd":…,"version":…,"gitBranch":…}
//
// A line of type "progress" (old versions) is only a link between two entries. All other lines are metadata without a
// place in the tree: titles, modes, queue operations, costs, and "last-prompt", which names the leaf.
//
// An answer of the model is spread over several lines, one content block each, that share message.id. Parallel calls form a
// chain, each result hangs on its own call, and the next entry hangs on the last result. So the path from the leaf to the
// root misses calls and results; they are put back where they belong.
//
// A compaction is a line of type "system" and subtype "compact_boundary" with no parent. What the model sees begins after
// the last one on the path. Its metadata may name messages that are kept.
//
// # Leaf, path and messages
//
// The program's rules for them are in navigate.go, path.go and replay.go. They are those of version 2.1.325.
package claude

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/claude/files"
	"github.com/treeline-dev/treeline/dialect/claude/request"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Dialect is the one value of the family.
type Dialect struct {
	dialect.NoBlobs
	layout files.Layout
}

// Claude is the format of Claude Code.
var Claude = &Dialect{}

var (
	_ dialect.Dialect      = (*Dialect)(nil)
	_ session.EntryCodec   = (*Dialect)(nil)
	_ session.MessageCodec = (*Dialect)(nil)
	_ session.Noter        = (*Dialect)(nil)
	_ session.Navigator    = (*reader)(nil)
	_ session.Replayer     = (*reader)(nil)
	_ session.Omitter      = (*reader)(nil)
)

// version is our number for the format, which has none.
const version = 1

// Name is the name that people use.
func (d *Dialect) Name() string { return "claude" }

// Family is the name of the format.
func (d *Dialect) Family() string { return "claude" }

// Layout says where the sessions are.
func (d *Dialect) Layout() dialect.Layout { return d.layout }

// Codec looks inside entries and messages. The codec of a tree also knows leaf and path: see reader.
func (d *Dialect) Codec() session.Codec { return session.Codec{EntryCodec: d, MessageCodec: d} }

// Encode gives the record of an entry: its own bytes.
func (d *Dialect) Encode(e session.Entry) ([]byte, error) { return e.Raw() }

// Rules: the program has one model, and each answer names its own.
func (d *Dialect) Rules() session.Rules { return session.Rules{SingleModel: true} }

// Time gives when an entry was made.
func (d *Dialect) Time(raw []byte) session.Time {
	return session.Time{Text: string(rawjson.Get(raw, "timestamp"))}
}

// Types of the entries.
const (
	typeUser       = request.TypeUser
	typeAssistant  = request.TypeAssistant
	typeSystem     = request.TypeSystem
	typeAttachment = request.TypeAttachment
	typeProgress   = "progress"
	typeLastPrompt = "last-prompt"
)

// Subtypes of "system" that matter.
const (
	subtypeBoundary = "compact_boundary"
	subtypeCommand  = request.Command
)
