// Package claude reads and writes the sessions of Claude Code.
//
// # The format
//
// A log is JSON Lines without a header. The name of the file is the session's id. Lines of four types are entries, a tree by
// uuid and parentUuid:
//
//	{"parentUuid":uuid|null,"isSidechain":bool,"type":"user"|"assistant"|"system"|"attachment","uuid":…,"timestamp":ISO,
//	 "message":{"role":…,"content":…},"sessionId":…,"cwd":…,"version":…,"gitBranch":…}
//
// A line of type "progress" (old versions) only links two entries. All other lines are metadata beside the tree: titles, modes,
// queue operations, costs, and "last-prompt", which names the leaf.
//
// An answer of the model has one line for each content block; these lines share message.id. Parallel calls form a chain. Each
// result is a child of its own call, and the next entry is a child of the last result. So the path from the leaf to the root
// lacks some calls and results. They are put back in their places.
//
// A compaction is a line of type "system" and subtype "compact_boundary" without a parent. The context begins after the last
// compaction on the path. The line's metadata may name messages that are kept.
//
// # Leaf, path and messages
//
// The rules of the program, version 2.1.325, are in navigate.go (leaf), path.go (path) and replay.go (messages).
package claude

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/claude/files"
	"github.com/treeline-dev/treeline/dialect/claude/request"
	"github.com/treeline-dev/treeline/session"
)

// Dialect is the type of the only value of the family.
type Dialect struct {
	dialect.Base
	dialect.NoBlobs
	entries
	dialect.MemberOrigin // the program never rewrites a line
	dialect.RandomIDs
}

// Claude is the format of Claude Code.
var Claude = &Dialect{Base: dialect.Base{Called: "claude", Format: "claude", Where: files.Layout{}}}

var (
	_ dialect.Dialect      = (*Dialect)(nil)
	_ session.EntryCodec   = (*Dialect)(nil)
	_ session.MessageCodec = (*Dialect)(nil)
	_ session.Noter        = (*Dialect)(nil)
	_ session.Navigator    = (*reader)(nil)
	_ session.Replayer     = (*reader)(nil)
	_ session.Omitter      = (*reader)(nil)
)

// entries looks inside entries.
type entries struct {
	dialect.OneModel
	dialect.Stamped
}

// version is our number for the format, which itself has none.
const version = 1

// Codec looks inside entries and messages. The codec of a tree also knows leaf and path: see reader.
func (d *Dialect) Codec() session.Codec { return session.Codec{EntryCodec: d, MessageCodec: d} }

// Types of the entries.
const (
	typeUser       = request.TypeUser
	typeAssistant  = request.TypeAssistant
	typeSystem     = request.TypeSystem
	typeAttachment = request.TypeAttachment
	typeProgress   = "progress"
	typeLastPrompt = "last-prompt"
)

// The subtypes of "system" that have a meaning here.
const (
	subtypeBoundary = "compact_boundary"
	subtypeCommand  = request.Command
)
