// Package pi reads and writes the sessions of the pi family: pi and oh-my-pi (omp).
//
// # The format
//
// A log is JSON Lines. The first record is the header,
//
//	{"type":"session","version":3,"id":…,"timestamp":ISO,"cwd":…,"title"?,"parentSession"?}
//
// and every other one is an entry:
//
//	{"type":KIND,"id":8 hex,"parentId":id|null,"timestamp":ISO,…}
//
// The leaf is the last entry of the file. A log of omp 18 has a title slot before the header: a record of 256 bytes that is
// overwritten in place.
//
// Old versions are migrated in memory. In version 1 entries have no ids: each follows the one before, and a compaction names the
// first entry that it keeps by its position, with the header as 0. In version 2 the role "custom" is called "hookMessage".
//
// # The values
//
// Pi, Omp and Omp18 read and write like pi 1.5, omp 13 and omp 18, OmpDoc like the format's document. They share the code and
// differ in data. The title slot tells a log of omp 18 from the others.
package pi

import (
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// version is the version that the programs write today.
const version = 3

// Dialect is one value of the family. Differences are data; the code tests omp only where texts or members differ.
type Dialect struct {
	dialect.Base
	dialect.MemberOrigin
	dialect.FileIDs
	rules session.Rules
	// omp: summaries have shortSummary, and custom messages attribution; the texts for the provider are those of omp.
	omp bool
	// bothSpellings: a model change may name provider and model in one member or in two. In logs of old versions, every value
	// accepts both.
	bothSpellings bool
	// attributes: a custom message without an attribution is attributed to the agent.
	attributes bool
	// snowflakes: ids of sessions are 64 bits in 16 digits; otherwise they are UUIDs.
	snowflakes bool
	// tier gives the service tier as contexts spell it; nil if they have none.
	tier func(value []byte) session.Raw
	// texts are put around summaries before they go to a provider.
	texts texts
	newer newer
	wait  dialect.Defer
}

// newer is what omp 18 added. The zero value stands for the other programs.
type newer struct {
	// slot: new logs begin with a title slot.
	slot bool
	// configured: contexts name the thinking level that the user asked for.
	configured bool
	// noRetried: answers that were retried are not sent again. hidden are the types of custom messages that are not sent.
	noRetried bool
	hidden    []string
	// keepsThinking: an answer without its calls is sent if it has any block left; otherwise thinking alone is not sent.
	keepsThinking bool
	// native: a compaction by Anthropic counts, too, and the provider's history may end before the compaction.
	native bool
	// summary are the members that only newer summaries have. details are those that follow the provider's.
	summary, details []string
}

// The values of the family.
var (
	Pi = &Dialect{
		Base:  dialect.Base{Called: "pi", Format: "pi", Where: &layout{base: ".pi", env: "PI_CODING_AGENT_DIR", rule: dirPi}},
		rules: session.Rules{ContextEdits: true, SingleModel: true},
		texts: piTexts,
		wait:  dialect.DeferMessage,
	}
	Omp = &Dialect{
		Base:  dialect.Base{Called: "omp", Format: "pi", Where: &layout{base: ".omp", env: "OMP_CODING_AGENT_DIR", rule: dirOmp, also: docRules, blobs: true, crumbs: true}},
		rules: session.Rules{KeepSystem: true, ToolSelections: true},
		omp:   true, attributes: true, tier: plainTier, texts: ompTexts,
		wait: dialect.DeferMessage,
	}
	OmpDoc = &Dialect{
		Base:  dialect.Base{Called: "omp-doc", Format: "pi", Where: &layout{base: ".omp", env: "OMP_CODING_AGENT_DIR", rule: dirDoc, also: ompRules, blobs: true, crumbs: true}},
		rules: session.Rules{ExplicitModelWins: true, KeepSystem: true},
		omp:   true, bothSpellings: true, snowflakes: true, texts: ompTexts,
		wait: dialect.DeferAssistant,
	}
	Omp18 = &Dialect{
		Base: dialect.Base{Called: "omp18", Format: "pi", Where: &layout{base: ".omp", env: "OMP_CODING_AGENT_DIR", rule: dirOmp, also: docRules, blobs: true, crumbs: true}},
		rules: session.Rules{
			ExplicitModelWins: true, KeepSystem: true, StripsCalls: true, DropsFailed: true, Resets: true,
		},
		omp: true, attributes: true, tier: tierByProvider, texts: omp18Texts,
		wait: dialect.DeferMessage,
		newer: newer{
			slot: true, configured: true, noRetried: true, hidden: []string{"prewalk-plan", "vibe-mode-context"},
			keepsThinking: true, native: true, summary: []string{"tokensAfter", "method"}, details: []string{"warning"},
		},
	}
)

var (
	_ dialect.Dialect      = (*Dialect)(nil)
	_ session.EntryCodec   = (*Dialect)(nil)
	_ session.MessageCodec = (*Dialect)(nil)
)

// Codec is the dialect itself, which has no state.
func (d *Dialect) Codec() session.Codec { return session.Codec{EntryCodec: d, MessageCodec: d} }

// Rules says how contexts of the value differ from those of others.
func (d *Dialect) Rules() session.Rules { return d.rules }

// kindOf maps a type to a kind. A "leaf" has no meaning to these programs: they walk through it as through every unknown type.
func kindOf(name []byte) session.Kind {
	if k := session.KindNamed(name); k != session.KindLeaf {
		return k
	}
	return session.KindOpaque
}

func roleOf(name []byte) session.Role { return dialect.RoleOf(name, "toolResult") }
