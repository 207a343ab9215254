package claude

import (
	"bytes"
	"iter"
	"slices"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Texts that the program makes up.
const (
	noContent   = "(no content)"
	noResult    = "[Tool result missing due to internal error]"
	interrupted = "[Tool call interrupted: the session ended before the tool finished]"
	callDropped = "[Tool use interrupted]"
	noResponse  = "No response requested."
)

// turn is a message on its way to the provider.
type turn struct {
	entry  session.Entry
	user   bool
	system bool // the text of an attachment that is sent as a system message
	answer string
	blocks []block
	// quoted is the content where it is one string that nothing has changed.
	quoted []byte
	prompt bool // typed by the user, not injected and not a result
	// hollow: all results of it were dropped.
	hollow bool
	// apart: pieces of the answer had results between them.
	apart bool
}

// block is a content block.
type block struct {
	kind string
	id   string // of a call, or of the call that a result answers
	json []byte
}

// The kinds of blocks that have rules.
const (
	blockText     = "text"
	blockThinking = "thinking"
	blockRedacted = "redacted_thinking"
	blockCall     = "tool_use"
	blockResult   = "tool_result"
)

// Replay implements session.Replayer: it does what the program does before it sends a conversation. Every rule stands in
// its own function.
func (r *reader) Replay(p session.Path) iter.Seq2[session.ContextMessage, error] {
	return func(yield func(session.ContextMessage, error) bool) {
		if r.refuses(p) {
			return
		}
		turns, err := r.collect(p)
		if err != nil {
			yield(session.ContextMessage{}, err)
			return
		}
		turns = dropOpen(turns)
		turns = joinAnswers(turns)
		turns = dropEmpty(turns)
		dropDoubles(turns)
		turns = placeResults(turns)
		turns = joinUsers(turns)
		if n := len(turns); n > 0 && turns[n-1].user {
			turns = append(turns, &turn{blocks: []block{textBlock(noResponse)}})
		}
		for _, t := range turns {
			if !yield(session.ContextMessage{Entry: t.entry, JSON: t.message()}, nil) {
				return
			}
		}
	}
}

// refuses reports whether the program finds no conversation to resume: the time of the leaf cannot be read, or the
// last-prompt line names an entry of a sub-agent.
func (r *reader) refuses(p session.Path) bool {
	n := p.Len()
	if n == 0 {
		return false
	}
	last := p.At(n - 1)
	return r.refused || r.marks[last.Index].flags&isEntry != 0 && r.marks[last.Index].at == noTime
}

// collect gives the messages after the last compaction on the path.
func (r *reader) collect(p session.Path) ([]*turn, error) {
	begin := 0
	for k := p.Len() - 1; k >= 0 && begin == 0; k-- {
		if p.At(k).Kind == session.KindCompaction {
			begin = k + 1
		}
	}
	var turns []*turn
	var notes []block // texts of attachments that wait for the user's text
	for k := begin; k < p.Len(); k++ {
		e := p.At(k)
		if e.Kind != session.KindMessage && e.Kind != session.KindCustomMessage {
			continue
		}
		raw, err := e.Raw()
		if err != nil {
			return nil, err
		}
		t := turnOf(e, raw)
		switch {
		case t == nil:
		case e.Type == typeAttachment && !t.system:
			notes = attach(turns, t, notes)
		default:
			if t.user && t.prompt && len(notes) > 0 {
				t.quoted, t.blocks = nil, append(notes, t.blocks...)
				notes = nil
			}
			turns = append(turns, t)
		}
	}
	return turns, nil
}

// attach adds the text of an attachment to the result right before it; otherwise it waits for the text of the user.
func attach(turns []*turn, t *turn, notes []block) []block {
	if n := len(turns); n > 0 && turns[n-1].user {
		last := turns[n-1]
		if k := len(last.blocks) - 1; k >= 0 && last.blocks[k].kind == blockResult {
			last.blocks[k].json = appendText(last.blocks[k].json, t.blocks)
			return notes
		}
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
		text := "\n\n" + rawjson.Str(n.json, "text")
		switch {
		case rawjson.IsArray(content):
			var items [][]byte
			for item := range rawjson.Elements(content) {
				items = append(items, item)
			}
			if k := len(items) - 1; k >= 0 && rawjson.Str(items[k], "type") == blockText {
				items[k] = rawjson.Set(items[k], "text", rawjson.Quote(rawjson.Str(items[k], "text")+text))
			} else {
				items = append(items, n.json)
			}
			content = dialect.Array(items)
		default:
			said, _ := rawjson.Unquote(content)
			content = rawjson.Quote(said + text)
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
		t.blocks = []block{textBlock(rawjson.Str(raw, "content"))}
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
	if rawjson.Truthy(rawjson.Get(raw, "isApiErrorMessage")) {
		return nil
	}
	m := rawjson.Get(raw, "message")
	content := rawjson.Get(m, "content")
	if t.user = e.Type == typeUser; !t.user {
		t.answer = rawjson.Str(m, "id")
	}
	if rawjson.IsString(content) {
		text, _ := rawjson.Unquote(content)
		t.blocks = []block{textBlock(text)}
		if t.user {
			t.quoted = content
		}
	}
	for item := range rawjson.Elements(content) {
		t.blocks = append(t.blocks, blockOf(item))
	}
	t.prompt = t.user && !rawjson.Truthy(rawjson.Get(raw, "isMeta")) && !t.has(blockResult)
	return t
}

// blockOf reads a block. A call by an old name of a tool is sent under the new one.
func blockOf(item []byte) block {
	b := block{kind: rawjson.Str(item, "type"), json: item}
	switch b.kind {
	case blockCall:
		b.id = rawjson.Str(item, "id")
		if rawjson.Str(item, "name") == "Task" {
			b.json = rawjson.Set(item, "name", []byte(`"Agent"`))
		}
	case blockResult:
		b.id = rawjson.Str(item, "tool_use_id")
	}
	return b
}

func textBlock(text string) block {
	var w dialect.Object
	w.Str("type", blockText)
	w.Str("text", text)
	return block{kind: blockText, json: w.End()}
}

func resultBlock(id, text string) block {
	var w dialect.Object
	w.Str("type", blockResult)
	w.Str("tool_use_id", id)
	w.Str("content", text)
	w.Add("is_error", []byte("true"))
	return block{kind: blockResult, id: id, json: w.End()}
}

// has reports whether a block is of that kind.
func (t *turn) has(kind string) bool {
	return slices.ContainsFunc(t.blocks, func(b block) bool { return b.kind == kind })
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
	return !slices.ContainsFunc(t.blocks, func(b block) bool {
		return len(bytes.TrimFunc([]byte(rawjson.Str(b.json, "text")), dialect.JSSpace)) > 0
	})
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

// dropOpen drops the lines of an answer none of whose calls has a result. Those of the last answer stay, and those after
// the last prompt where the turn ends with a result.
func dropOpen(turns []*turn) []*turn {
	answered := map[string]bool{}
	prompt := -1
	for k, t := range turns {
		if !t.user {
			continue
		}
		for _, b := range t.blocks {
			if b.kind == blockResult {
				answered[b.id] = true
			}
		}
		if t.prompt {
			prompt = k
		}
	}
	n := len(turns)
	unfinished := n > 0 && turns[n-1].user && turns[n-1].has(blockResult)
	last := ""
	if n > 0 && !turns[n-1].user {
		last = turns[n-1].answer
	}
	var out []*turn
	for k, t := range turns {
		isLast := k == n-1 || last != "" && t.answer == last
		if t.user || isLast || unfinished && k > prompt || !t.open(answered) {
			out = append(out, t)
		}
	}
	return out
}

// open reports whether the line has calls and none of them has a result.
func (t *turn) open(answered map[string]bool) bool {
	calls := false
	for _, b := range t.blocks {
		if b.kind == blockCall {
			if calls = true; answered[b.id] {
				return false
			}
		}
	}
	return calls
}

// joinAnswers makes one message of the lines of an answer, also with results between them, but not across another text of
// the user. With results between them the calls come last.
func joinAnswers(turns []*turn) []*turn {
	var out []*turn
	open := map[string]*turn{} // answers since the last text of the user
	for k, t := range turns {
		switch {
		case t.user && !t.only(blockResult):
			clear(open)
		case !t.user && t.answer != "":
			if first := open[t.answer]; first != nil {
				first.blocks = append(first.blocks, t.blocks...)
				first.apart = first.apart || turns[k-1].user
				continue
			}
			t.blocks = slices.Clone(t.blocks)
			open[t.answer] = t
		}
		out = append(out, t)
	}
	for _, t := range out {
		if t.apart {
			slices.SortStableFunc(t.blocks, func(a, b block) int { return rank(a) - rank(b) })
		}
	}
	return out
}

func rank(b block) int {
	if b.kind == blockCall {
		return 1
	}
	return 0
}

// dropEmpty drops answers of thinking or blanks alone and user messages without a block.
func dropEmpty(turns []*turn) []*turn {
	var out []*turn
	for _, t := range turns {
		switch {
		case t.user && len(t.blocks) == 0:
			continue
		case t.user || t.system:
		case len(t.blocks) == 0:
			t.blocks = []block{textBlock(noContent)}
		case t.only(blockThinking, blockRedacted), t.blank():
			continue
		}
		out = append(out, t)
	}
	return out
}

// dropDoubles drops calls whose id was used before, second results, and results without a call.
func dropDoubles(turns []*turn) {
	calls := map[string]bool{}
	for _, t := range turns {
		if t.user || !t.has(blockCall) {
			continue
		}
		t.blocks = slices.DeleteFunc(slices.Clone(t.blocks), func(b block) bool {
			again := b.kind == blockCall && calls[b.id]
			calls[b.id] = calls[b.id] || b.kind == blockCall
			return again
		})
		if len(t.blocks) == 0 {
			t.blocks = []block{textBlock(callDropped)}
		}
	}
	results := map[string]bool{}
	for _, t := range turns {
		if !t.user || !t.has(blockResult) {
			continue
		}
		t.blocks = slices.DeleteFunc(slices.Clone(t.blocks), func(b block) bool {
			if b.kind != blockResult {
				return false
			}
			drop := results[b.id] || !calls[b.id]
			results[b.id] = true
			return drop
		})
		t.hollow = len(t.blocks) == 0
	}
}

// placeResults moves each result right behind its call, in file order, and makes up those that are missing.
func placeResults(turns []*turn) []*turn {
	type found struct {
		block
		from *turn
		at   int
	}
	results, n := map[string]found{}, 0
	last := len(turns) - 1 // the last answer whose calls may be open
	for last >= 0 && turns[last].user && turns[last].only(blockResult) {
		last--
	}
	for _, t := range turns {
		for _, b := range t.blocks {
			if t.user && b.kind == blockResult {
				results[b.id] = found{b, t, n}
				n++
			}
		}
	}
	var out []*turn
	for k, t := range turns {
		if t.user {
			if t.has(blockResult) {
				t.blocks = slices.DeleteFunc(t.blocks, func(b block) bool { return b.kind == blockResult })
			}
			if len(t.blocks) > 0 || t.hollow {
				out = append(out, t)
			}
			continue
		}
		out = append(out, t)
		answers := &turn{user: true}
		var have []found
		var made []block
		for _, b := range t.blocks {
			if b.kind != blockCall {
				continue
			}
			if r, ok := results[b.id]; ok {
				have = append(have, r)
				answers.entry = r.from.entry
			} else if k == last {
				made = append(made, resultBlock(b.id, interrupted))
			} else {
				made = append(made, resultBlock(b.id, noResult))
			}
		}
		slices.SortFunc(have, func(a, b found) int { return a.at - b.at })
		if k != last {
			answers.blocks = made
		}
		for _, r := range have {
			answers.blocks = append(answers.blocks, r.block)
		}
		if k == last {
			answers.blocks = append(answers.blocks, made...)
		}
		if len(answers.blocks) > 0 {
			out = append(out, answers)
		}
	}
	return out
}

// joinUsers makes one message of those of the user in a row: results first, and a newline after a text before another.
func joinUsers(turns []*turn) []*turn {
	var out []*turn
	var last *turn // the last message that is not the text of an attachment
	for _, t := range turns {
		if !t.user || last == nil || !last.user {
			if out = append(out, t); !t.system {
				last = t
			}
			continue
		}
		last.quoted = nil
		if a, b := len(last.blocks)-1, 0; a >= 0 && len(t.blocks) > 0 && last.blocks[a].kind == blockText && t.blocks[b].kind == blockText {
			text := rawjson.Str(last.blocks[a].json, "text")
			last.blocks = slices.Clone(last.blocks)
			last.blocks[a].json = rawjson.Set(last.blocks[a].json, "text", rawjson.Quote(text+"\n"))
		}
		last.blocks = append(last.blocks, t.blocks...)
		slices.SortStableFunc(last.blocks, func(a, b block) int { return resultRank(a) - resultRank(b) })
		if last.entry.Type == "" {
			last.entry = t.entry
		}
	}
	for _, t := range out {
		if t.user && len(t.blocks) == 0 {
			t.quoted, t.blocks = nil, []block{textBlock(noContent)}
		}
	}
	return out
}

func resultRank(b block) int {
	if b.kind == blockResult {
		return 0
	}
	return 1
}
