// Package operator reads and writes the sessions of Operator.
//
// # The format
//
// A log is JSON Lines, with names in snake_case and times in seconds since 1970 with a fraction. The first record is the header,
//
//	{"type":"session","version":3,"id":UUIDv7,"timestamp":1794705154.29,"cwd":…,"parent_session"?:path}
//
// and every other one is an entry:
//
//	{"id":8 characters,"timestamp":…,"parent_id"?:id,"type":KIND,…}
//
// A member without a value is left out; forks of the program write null instead. A message has its blocks under "contents", and
// each block has its text under "content".
//
// The leaf is the last entry, unless that is of type "leaf". Such an entry is a child of the old leaf and makes its target the
// new leaf, so that going back survives a restart.
//
// The program splits its files at every Unicode line break and loses entries that contain one in a text. Therefore U+0085, U+2028 and
// U+2029 are written as escapes.
//
// # The values
//
// Operator writes what today's program reads, OperatorDoc what the format's document describes; both read both. In the document the
// header is called "session_header" and has no version, the parent of a root is null, two kinds are called "branch" and
// "custom_info", and compactions have neither time nor token count.
package operator

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// version is the version that the program writes today.
const version = 3

// Types of the header.
const (
	typeHeader    = "session"
	typeDocHeader = "session_header"
)

// Dialect is one value of the family.
type Dialect struct {
	dialect.Base
	dialect.FileIDs
	dialect.NoBlobs
	dialect.MemberOrigin
	dialect.Stamped
	header string // type of the header that is written
	// branch and custom are the types of a branch summary and of an extension's state.
	branch, custom string
	// typeFirst: records begin with their type, and a root has the parent null. Otherwise the type comes last, and a root
	// has no parent.
	typeFirst bool
	// strict: values that the program would ignore when it loads the log are refused.
	strict bool
	wait   dialect.Defer
}

// The values of the family.
var (
	Operator = &Dialect{
		Base:   dialect.Base{Called: "operator", Format: "operator", Where: layout{order: dialect.OrderActive}},
		header: typeHeader, branch: "branch_summary", custom: "custom",
		strict: true, wait: dialect.DeferMessage,
	}
	OperatorDoc = &Dialect{
		Base:   dialect.Base{Called: "operator-doc", Format: "operator", Where: layout{profile: "default"}},
		header: typeDocHeader, branch: "branch", custom: "custom_info", typeFirst: true,
		wait: dialect.DeferAssistant,
	}
)

var (
	_ dialect.Dialect      = (*Dialect)(nil)
	_ session.EntryCodec   = (*Dialect)(nil)
	_ session.MessageCodec = (*Dialect)(nil)
)

// Codec is the dialect itself, which has no state.
func (d *Dialect) Codec() session.Codec { return session.Codec{EntryCodec: d, MessageCodec: d} }

// Rules describes a program that has one model, which only model changes set, and that keeps system messages after a compaction.
func (d *Dialect) Rules() session.Rules {
	return session.Rules{SingleModel: true, ModelByEntry: true, KeepSystem: true}
}

// kindOf maps a type of the program or the document to a kind.
func kindOf(name []byte) session.Kind {
	switch k := session.KindNamed(name); k {
	case session.KindOpaque:
		switch string(name) {
		case OperatorDoc.branch:
			return session.KindBranchSummary
		case OperatorDoc.custom:
			return session.KindCustom
		}
		return k
	case session.KindTTSRInjection, session.KindSessionInit, session.KindModeChange, session.KindContextEdit,
		session.KindTierChange, session.KindToolSelection, session.KindReset:
		return session.KindOpaque // types that this family does not have
	default:
		return k
	}
}

func roleOf(name []byte) session.Role { return dialect.RoleOf(name, "tool") }
