package claude

import (
	"bytes"
	"iter"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/claude/blocks"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Texts that the program makes up.
const (
	noContent   = "(no content)"
	noResult    = "[Tool result missing due to internal error]"
	interrupted = "[Tool call interrupted: the session ended before this call's result was recorded, so its outcome is unknown. " +
		"Check whether it took effect before relying on it or running it again.]"
	callDropped = "[Tool use interrupted]"
	noResponse  = "No response requested."
	// In place of a first message that has only results without a call.
	orphansRemoved = "[Orphaned tool result removed due to conversation resume]"
	referencesGone = "[Tool references removed - tools no longer available]"
)

// turn is a message on its way to the provider.
type turn struct {
	entry  session.Entry
	user   bool
	system bool // the text of an attachment that is sent as a system message
	answer string
	model  string
	blocks []block
	rest   []block // blocks that follow the results; see joinUsers
	// quoted is the content where it is one string that nothing has changed.
	quoted []byte
	prompt bool // typed by the user, not injected and not a result
	// hollow: all results of it were dropped.
	hollow  bool
	command bool // the last line of it is the output of a command
	failed  bool // an error of the provider that was written down as an answer
	caveat  bool // the note that the program puts before a command that the user ran
	// apart: pieces of the answer had results between them.
	apart bool
}

// block is a content block.
type block struct {
	kind string
	id   string // of a call, or of the call that a result answers
	json []byte
	at   int // position of its entry, -1 where the program made it up
	// foreign: the thinking of another model than the last one.
	foreign bool
}

// The kinds of blocks that have rules.
const (
	blockText     = blocks.TypeText
	blockThinking = blocks.TypeThinking
	blockRedacted = blocks.TypeRedacted
	blockCall     = blocks.TypeCall
	blockResult   = blocks.TypeResult
	blockServer   = "server_tool_use"
	blockMCP      = "mcp_tool_use"
)

// Replay implements session.Replayer: it does what the program does before it sends a conversation. Every rule stands in
// its own function.
func (r *reader) Replay(p session.Path) iter.Seq2[session.ContextMessage, error] {
	return func(yield func(session.ContextMessage, error) bool) {
		refused, err := r.refuses(p)
		if err != nil {
			yield(session.ContextMessage{}, err)
		}
		if refused || err != nil {
			return
		}
		turns, _, err := r.turns(p)
		if err != nil {
			yield(session.ContextMessage{}, err)
			return
		}
		for _, t := range turns {
			if !yield(session.ContextMessage{Entry: t.entry, JSON: t.message()}, nil) {
				return
			}
		}
	}
}

// turns gives the messages that the program sends, and what it drops on the way.
func (r *reader) turns(p session.Path) ([]*turn, []drop, error) {
	turns, failed, err := r.collect(p)
	if err != nil {
		return nil, nil, err
	}
	var d drops
	markThinking(turns)
	turns = dropBlank(turns)
	quiet := endsWithCommand(turns)
	said, commands := trailing(turns, false)
	said = d.dropOpen(said)
	waits := waiting(said)
	turns = joinAnswers(dropErrors(append(said, commands...)))
	turns = d.dropEmpty(turns)
	trimAnswers(turns)
	turns, commands = trailing(turns, waits)
	turns = joinUsers(turns)
	d.dropDoubles(turns)
	turns = joinUsers(placeResults(turns))
	if n := len(turns); n > 0 && turns[n-1].user && quiet {
		turns[n-1].command = true
		turns, commands = joinUsers(append(turns, commands...)), nil
	} else if n > 0 && turns[n-1].user && !failed {
		turns = append(turns, &turn{blocks: []block{textBlock(noResponse)}})
	}
	turns = append(turns, joinUsers(commands)...)
	fill(turns)
	return turns, d.list, nil
}

// refuses reports whether the program finds no conversation to resume: the time of the leaf cannot be read, or the
// last-prompt line names an entry of a sub-agent. It reads the record and not the marks: entries may be added meanwhile.
func (r *reader) refuses(p session.Path) (bool, error) {
	to, ok := r.end(p)
	if !ok {
		return false, nil
	}
	if leaf, ok := p.Tree().Leaf(); ok && leaf.Index == to.Index && r.refused.Load() {
		return true, nil
	}
	switch to.Type {
	case typeUser, typeAssistant, typeSystem, typeAttachment:
		raw, err := to.Raw()
		if err != nil || to.Kind == session.KindOpaque {
			return false, err
		}
		_, ok := millis(rawjson.Get(raw, "timestamp"))
		return !ok, nil
	}
	return false, nil
}

// end gives the entry that a path leads to. That is the leaf if it is on the path, otherwise the last entry. Other lines of
// the leaf's answer may follow the leaf.
func (r *reader) end(p session.Path) (session.Entry, bool) {
	n := p.Len()
	if n == 0 {
		return session.Entry{}, false
	}
	last := p.At(n - 1)
	leaf, ok := p.Tree().Leaf()
	if !ok || leaf.Index == last.Index || leaf.Role != session.RoleAssistant && leaf.Role != session.RoleTool {
		return last, true
	}
	// Only lines of the same answer and their results follow the leaf.
	for k := n - 1; k >= 0; k-- {
		switch e := p.At(k); {
		case e.Index == leaf.Index:
			return leaf, true
		case e.Role != session.RoleAssistant && e.Role != session.RoleTool:
			return last, true
		}
	}
	return last, true
}

// collect gives the messages after the last compaction on the path. failed: the path ends with an error of the provider,
// which the program takes for an answer.
func (r *reader) collect(p session.Path) (turns []*turn, failed bool, err error) {
	begin := 0
	for k := p.Len() - 1; k >= 0 && begin == 0; k-- {
		if p.At(k).Kind == session.KindCompaction {
			begin = k + 1
		}
	}
	var notes []block // texts of attachments that wait for the user's text
	for k := begin; k < p.Len(); k++ {
		e := p.At(k)
		if e.Kind != session.KindMessage && e.Kind != session.KindCustomMessage {
			continue
		}
		raw, err := p.Record(e)
		if err != nil {
			return nil, false, err
		}
		t := turnOf(e, raw)
		if e.Type != typeSystem {
			failed = t != nil && t.failed
		}
		if t != nil {
			for k := range t.blocks {
				t.blocks[k].at = e.Index
			}
		}
		switch {
		case t == nil:
		case e.Type == typeAttachment && !t.system:
			notes = attach(turns, t, notes)
		default:
			if t.user && t.prompt && len(notes) > 0 {
				breakLine(notes)
				t.quoted, t.blocks = nil, append(notes, t.blocks...)
				notes = nil
			}
			turns = append(turns, t)
		}
	}
	return turns, failed, nil
}

// attach adds the text of an attachment to the result right before it; otherwise it waits for the text of the user.
func attach(turns []*turn, t *turn, notes []block) []block {
	if n := len(turns); n > 0 && turns[n-1].user {
		last := turns[n-1]
		if k := len(last.blocks) - 1; k >= 0 && last.blocks[k].kind == blockResult {
			last.blocks[k].json = appendText(last.blocks[k].json, t.blocks)
			return notes
		}
		breakLine(t.blocks)
		last.quoted = nil
		last.blocks = append(slices.Clone(t.blocks), last.blocks...)
		return notes
	}
	return append(notes, t.blocks...)
}

// appendText adds texts to the content of a result, after an empty line.
func appendText(result []byte, notes []block) []byte {
	content := rawjson.Get(result, "content")
	for _, n := range notes {
		switch {
		case rawjson.IsArray(content):
			var items [][]byte
			for item := range rawjson.Elements(content) {
				items = append(items, item)
			}
			if k := len(items) - 1; k >= 0 && rawjson.Str(items[k], "type") == blockText {
				items[k] = rawjson.Set(items[k], "text", rawjson.Quote(rawjson.Str(items[k], "text")+"\n"))
			}
			content = dialect.Array(append(items, n.json))
		default:
			said, _ := rawjson.Unquote(content)
			content = rawjson.Quote(said + "\n\n" + rawjson.Str(n.json, "text"))
		}
	}
	return rawjson.Set(result, "content", content)
}

// turnOf gives the message of an entry; nil where it has none.
func turnOf(e session.Entry, raw []byte) *turn {
	t := &turn{entry: e, user: true}
	switch e.Type {
	case typeSystem:
		if rawjson.Str(raw, "subtype") != subtypeCommand {
			return nil
		}
		t.quoted = rawjson.Quote(rawjson.Str(raw, "content"))
		t.blocks, t.command = []block{textBlock(rawjson.Str(raw, "content"))}, true
		return t
	case typeAttachment:
		for item := range rawjson.Elements(rawjson.Get(raw, "rendered")) {
			if text := rawjson.Str(item, "content"); text != "" {
				t.blocks = append(t.blocks, textBlock(text))
			}
		}
		t.system = rawjson.Str(raw, "renderedRole") == "system"
		t.user = !t.system
		if t.blocks == nil {
			return nil
		}
		return t
	}
	m := rawjson.Get(raw, "message")
	content := rawjson.Get(m, "content")
	if t.user = e.Type == typeUser; !t.user {
		t.answer, t.model = rawjson.Str(m, "id"), rawjson.Str(m, "model")
		t.failed = t.model == synthetic && rawjson.Truthy(rawjson.Get(raw, "isApiErrorMessage"))
	}
	if !rawjson.IsString(content) && !rawjson.IsArray(content) {
		return nil
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
	meta := rawjson.Truthy(rawjson.Get(raw, "isMeta"))
	t.prompt = t.user && !meta && !t.has(blockResult)
	t.caveat = t.user && meta && t.begins("<local-command-caveat>")
	return t
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
func (t *turn) has(kind string) bool {
	return slices.ContainsFunc(t.blocks, func(b block) bool { return b.kind == kind })
}

// begins reports whether the message is a text that begins with a tag.
func (t *turn) begins(tag string) bool {
	return len(t.blocks) > 0 && t.blocks[0].kind == blockText && strings.HasPrefix(rawjson.Str(t.blocks[0].json, "text"), tag)
}

// only reports whether there are blocks and all are of these kinds.
func (t *turn) only(kinds ...string) bool {
	return len(t.blocks) > 0 && !slices.ContainsFunc(t.blocks, func(b block) bool { return !slices.Contains(kinds, b.kind) })
}

// blank reports whether there are blocks and all are texts without a visible character.
func (t *turn) blank() bool {
	if !t.only(blockText) {
		return false
	}
	return !slices.ContainsFunc(t.blocks, func(b block) bool { return !blank(b) })
}

// blank reports whether a text has no visible character.
func blank(b block) bool {
	return len(bytes.TrimFunc([]byte(rawjson.Str(b.json, "text")), dialect.JSSpace)) == 0
}

// message gives the message as the program sends it.
func (t *turn) message() []byte {
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
	items := make([][]byte, len(t.blocks))
	for k, b := range t.blocks {
		items[k] = b.json
	}
	w.Add("content", dialect.Array(items))
	return w.End()
}
