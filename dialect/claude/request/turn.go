// Package request makes the messages that Claude Code sends from the entries on a path of a session.
package request

import (
	"bytes"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/claude/blocks"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Types of the lines that are entries, and the subtype of the output of a command.
const (
	TypeUser       = "user"
	TypeAssistant  = "assistant"
	TypeSystem     = "system"
	TypeAttachment = "attachment"
	Command        = "local_command"
)

// Synthetic is the model of an answer that the program itself wrote.
const Synthetic = "<synthetic>"

// Texts that the program makes up.
const (
	noContent   = "(no content)"
	noResult    = "[Tool result missing due to internal error]"
	interrupted = "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown. " +
		"Check whether it took effect before relying on it or running it again.]"
	callDropped = "[Tool use interrupted]"
	noResponse  = "No response requested."
	// This replaces a first message that only has results without a call.
	orphansRemoved = "[Orphaned tool result removed due to conversation resume]"
	referencesGone = "[Tool references removed - tools no longer available]"
)

// Turn is a message on its way to the provider.
type Turn struct {
	// Entry is the entry that the message comes from, or the first of several.
	Entry  session.Entry
	user   bool
	system bool // sent as a system message
	answer string
	model  string
	blocks []block
	rest   []block // blocks that follow the results; see joinUsers
	owned  bool    // no other message shares the slice blocks
	// quoted is the content if it is a single string that nothing has changed.
	quoted []byte
	// notes are the texts of an attachment, each a separate message. note is set even if the list is empty.
	notes [][]block
	note  bool
	// alone: the message is not joined to the message before it.
	alone   bool
	hollow  bool // all results of it were dropped
	command bool // the output of a command
	failed  bool // an error of the provider that was recorded as an answer
	caveat  bool // the note that the program puts before a command that the user ran
	settled bool // a summary, or a note that the user interrupted the program: no answer to it is missing
	apart   bool // the answer has several lines
}

// block is a content block.
type block struct {
	kind string
	id   string // of a call, or of the call that a result belongs to
	json []byte
	at   int // position of its entry, -1 if the program made it up
	// notes are texts of attachments that joinUsers adds to a result, all at once: there may be thousands.
	notes []block
	// foreign: thinking of a model other than the one with which the program continues.
	foreign bool
	next    bool // it stands for the next prompt, or for a note that the program sends with it
}

// The kinds of blocks for which there are rules.
const (
	blockText     = blocks.TypeText
	blockThinking = blocks.TypeThinking
	blockRedacted = blocks.TypeRedacted
	blockCall     = blocks.TypeCall
	blockResult   = blocks.TypeResult
	blockServer   = "server_tool_use"
	blockMCP      = "mcp_tool_use"
)

// Read returns the message of an entry; nil if it has none. An attachment without a text gives an empty message.
func Read(e session.Entry, raw []byte) *Turn {
	t := &Turn{Entry: e, user: true}
	switch e.Type {
	case TypeSystem:
		if rawjson.Str(raw, "subtype") != Command {
			return nil
		}
		t.quoted = rawjson.Quote(rawjson.Str(raw, "content"))
		t.blocks, t.command = []block{textBlock(rawjson.Str(raw, "content"))}, true
	case TypeAttachment:
		t.attachment(raw)
	default:
		if !t.message(raw) {
			return nil
		}
	}
	for k := range t.blocks {
		t.blocks[k].at = e.Index
	}
	return t
}

// message reads a line with a message. ok is false if its content is neither a text nor a list.
func (t *Turn) message(raw []byte) (ok bool) {
	m := rawjson.Get(raw, "message")
	content := rawjson.Get(m, "content")
	if t.user = t.Entry.Type == TypeUser; !t.user {
		t.answer, t.model = rawjson.Str(m, "id"), rawjson.Str(m, "model")
		t.failed = t.model == Synthetic && rawjson.Truthy(rawjson.Get(raw, "isApiErrorMessage"))
	}
	if !rawjson.IsString(content) && !rawjson.IsArray(content) {
		return false
	}
	if rawjson.IsString(content) {
		text, _ := rawjson.Unquote(content)
		t.blocks = []block{textBlock(text)}
		if t.user {
			t.quoted = content
		}
	}
	for item := range rawjson.Elements(content) {
		if rawjson.IsObject(item) {
			t.blocks = append(t.blocks, blockOf(item))
		}
	}
	if t.user {
		t.caveat = rawjson.Truthy(rawjson.Get(raw, "isMeta")) && t.begins("<local-command-caveat>")
		t.settled = rawjson.Truthy(rawjson.Get(raw, "isCompactSummary")) || t.begins("[Request interrupted by user")
	}
	return true
}

// IDs returns the ids of the calls in a message, and of the calls that its results belong to.
func (t *Turn) IDs() (calls, results []string) {
	for _, b := range t.blocks {
		switch b.kind {
		case blockCall:
			calls = append(calls, b.id)
		case blockResult:
			results = append(results, b.id)
		}
	}
	return calls, results
}

// blockOf reads a block. A call by an old name of a tool is sent under the new one.
func blockOf(item []byte) block {
	b := block{kind: rawjson.Str(item, "type"), json: item}
	switch b.kind {
	case blockServer, blockMCP:
		b.id = rawjson.Str(item, "id")
	case blockCall:
		b.id = rawjson.Str(item, "id")
		if rawjson.Str(item, "name") == "Task" {
			b.json = rawjson.Set(item, "name", []byte(`"Agent"`))
		}
	case blockResult:
		b.id = rawjson.Str(item, "tool_use_id")
		b.json = plainResult(item)
	}
	return b
}

func textBlock(text string) block {
	return block{kind: blockText, json: blocks.Text(text), at: -1}
}

func resultBlock(id, text string) block {
	var w dialect.Object
	w.Str("type", blockResult)
	w.Str("tool_use_id", id)
	w.Str("content", text)
	w.Add("is_error", []byte("true"))
	return block{kind: blockResult, id: id, json: w.End(), at: -1}
}

// has reports whether a block is of that kind.
func (t *Turn) has(kind string) bool {
	return slices.ContainsFunc(t.blocks, func(b block) bool { return b.kind == kind })
}

// begins reports whether the message is a text that begins with a tag.
func (t *Turn) begins(tag string) bool {
	return len(t.blocks) > 0 && t.blocks[0].kind == blockText && strings.HasPrefix(rawjson.Str(t.blocks[0].json, "text"), tag)
}

// only reports whether there are blocks and all of them are of these kinds.
func (t *Turn) only(kinds ...string) bool {
	return len(t.blocks) > 0 && !slices.ContainsFunc(t.blocks, func(b block) bool { return !slices.Contains(kinds, b.kind) })
}

// assistant reports whether the message is an answer.
func (t *Turn) assistant() bool { return !t.user && !t.system }

// blank reports whether there are blocks and all of them are texts without a visible character.
func (t *Turn) blank() bool {
	return t.only(blockText) && !slices.ContainsFunc(t.blocks, func(b block) bool { return !blank(b) })
}

// blank reports whether a text has no visible character.
func blank(b block) bool { return trim(rawjson.Str(b.json, "text")) == "" }

// trim removes white space at both ends, as JavaScript does.
func trim(text string) string { return string(bytes.TrimFunc([]byte(text), dialect.JSSpace)) }

// JSON returns the message as the program sends it.
func (t *Turn) JSON() []byte {
	var w dialect.Object
	switch {
	case t.system:
		w.Str("role", "system")
	case t.user:
		w.Str("role", "user")
	default:
		w.Str("role", "assistant")
	}
	if t.quoted != nil {
		w.Add("content", t.quoted)
		return w.End()
	}
	all := slices.Concat(append([][]block{t.blocks}, t.notes...)...)
	items := make([][]byte, len(all))
	for k, b := range all {
		items[k] = b.json
	}
	w.Add("content", dialect.Array(items))
	return w.End()
}
