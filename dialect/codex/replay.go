package codex

import (
	"iter"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// summaryPrefix begins the summaries of the program, which a compaction without a replacement does not keep.
const summaryPrefix = "Another language model started to solve this problem and produced a summary of its thinking process. You also have access to " +
	"the state of the tools that were used by that language model. Use this to build on the work that has already been done and avoid duplicating work. " +
	"Here is the summary produced by the other language model, use the information in this summary to assist with your own analysis:\n"

// noSummary is the text of a compaction without one.
const noSummary = "(no summary available)"

// noticePrefixes begin messages of the user's role that the program or an older version of it wrote, and no person.
var noticePrefixes = []string{
	"<environment_context>", "# AGENTS.md instructions", "<user_instructions>", "<permissions instructions>", "<skills_instructions>", "<model_switch>",
}

// Replay implements session.Replayer: the lines up to the end of the path are replayed in file order, as the program does.
func (d *reader) Replay(p session.Path) iter.Seq2[session.ContextMessage, error] {
	return func(yield func(session.ContextMessage, error) bool) {
		if d.refused != "" {
			return
		}
		history, err := d.replay(p)
		if err != nil {
			yield(session.ContextMessage{}, err)
			return
		}
		for _, i := range history {
			if i.unseen == "" && !yield(session.ContextMessage{Entry: i.entry, JSON: i.json}, nil) {
				return
			}
		}
	}
}

// replay gives what the program makes of the lines up to the end of the path, with what it leaves out.
func (d *reader) replay(p session.Path) ([]item, error) {
	t, last := p.Tree(), -1
	var end session.EntryID
	if p.Len() > 0 {
		last, end = p.At(p.Len()-1).Index, p.At(p.Len()-1).ID
	}
	// Where a rollback is the last that moved the leaf, the program reads it, too.
	if k := lastMover(t); k > last && t.At(k).Kind == session.KindLeaf && d.leaves[k] == end {
		last = k
	}
	r := replay{t: t, lost: d.lost}
	if err := r.read(last); err != nil {
		return nil, err
	}
	history := heal(r.history)
	most := limitOf(t, last)
	for k := range history {
		if history[k].unseen == "" {
			history[k].send(most)
		}
	}
	return history, nil
}

// replay is the state of one replay.
type replay struct {
	t       *session.Tree
	lost    map[int]bool
	history []item
	extra   int   // turns to roll back at the end
	ordinal int64 // the greatest so far
}

// read replays the lines from the base on.
func (r *replay) read(last int) error {
	begin, err := r.base(last)
	if err != nil {
		return err
	}
	for i := begin; i <= last; i++ {
		if err := r.line(r.t.At(i)); err != nil {
			return err
		}
	}
	r.rollBack(r.extra)
	return nil
}

// base finds the newest compaction with a replacement in a turn that was not rolled back, makes it the history, and gives the
// position after it. A turn reaches from its task_started to the next one.
func (r *replay) base(last int) (int, error) {
	skip, prompt := r.extra, false
	var found int = -1
	var replacement []byte
	for i := last; i >= 0; i-- {
		e := r.t.At(i)
		if r.lost[i] || e.Type != typeItem && e.Type != typeEvent && e.Type != typeCompacted && e.Type != typeAgents {
			continue
		}
		raw, err := e.Raw()
		if err != nil {
			return 0, err
		}
		payload := rawjson.Get(raw, "payload")
		switch e.Type {
		case typeAgents:
			prompt = true
		case typeItem:
			it, ok := itemOf(e, payload)
			prompt = prompt || ok && it.turn
		case typeCompacted:
			if list := rawjson.Get(payload, "replacement_history"); rawjson.IsArray(list) && badCompaction(payload) == "" && found < 0 {
				found, replacement = i, list
			}
		case typeEvent:
			switch rawjson.Str(payload, "type") {
			case "thread_rolled_back":
				skip += turnsOf(payload)
				continue
			case "task_started":
			default:
				continue
			}
			done, ok := r.settle(&skip, &prompt, &found, replacement)
			if ok {
				return done, nil
			}
		}
	}
	done, _ := r.settle(&skip, &prompt, &found, replacement)
	return done, nil
}

// settle ends a turn on the way back: one with a message of the user that was rolled back takes its compactions with it.
func (r *replay) settle(skip *int, prompt *bool, found *int, replacement []byte) (begin int, ok bool) {
	defer func() { *prompt, *found = false, -1 }()
	if *skip > 0 && *prompt {
		*skip--
		return 0, false
	}
	if *found < 0 {
		return 0, false
	}
	e := r.t.At(*found)
	for part := range rawjson.Elements(replacement) {
		it, ok := itemOf(e, part)
		switch {
		case ok:
		case it.kind == ghost:
			continue
		case it.kind == "message": // of the role system, which lines may not have
		default:
			it.json = []byte(`{"type":"other"}`)
		}
		it.unseen = ""
		r.history = append(r.history, it)
	}
	return *found + 1, true
}

// badCompaction says why the program does not read a compaction, or "".
func badCompaction(payload []byte) string {
	list, meta := rawjson.Get(payload, "replacement_history"), rawjson.Get(payload, "replacement_history_metadata")
	switch {
	case !rawjson.IsString(rawjson.Get(payload, "message")):
		return "a compaction without a message"
	case !rawjson.IsNull(list) && !rawjson.IsArray(list):
		return "a compaction whose replacement is not a list"
	case !rawjson.IsNull(meta) && (!rawjson.IsArray(meta) || count(meta) != count(list)):
		return "a compaction whose replacement_history_metadata does not fit its replacement"
	}
	for m := range rawjson.Elements(meta) {
		if !rawjson.IsObject(m) {
			return "a compaction whose replacement_history_metadata is not valid"
		}
	}
	for part := range rawjson.Elements(list) {
		if kind := rawjson.Str(part, "type"); itemNeeds[kind] != nil {
			if why := missing(kind, part); why != "" {
				return "a compaction with " + why
			}
		}
	}
	return ""
}

// turnsOf is how many turns a rollback takes back. The program ignores one that does not say it with a natural number.
func turnsOf(payload []byte) int {
	n := rawjson.Get(payload, "num_turns")
	if !isOrdinal(n) {
		return 0
	}
	return int(min(dialect.Integer(n), 1<<30))
}

func count(list []byte) (n int) {
	for range rawjson.Elements(list) {
		n++
	}
	return n
}

// line replays one line.
func (r *replay) line(e session.Entry) error {
	switch e.Type {
	case typeItem, typeAgents, typeCompacted, typeEvent:
	default:
		return nil
	}
	raw, err := e.Raw()
	if err != nil {
		return err
	}
	payload := rawjson.Get(raw, "payload")
	if r.lost[e.Index] {
		if e.Type != typeEvent {
			r.history = append(r.history, item{entry: e, unseen: "a line that Codex skips: " + skipped(raw)})
		}
		return nil
	}
	before := len(r.history)
	switch e.Type {
	case typeItem:
		it, ok := itemOf(e, payload)
		if it.own = true; ok || it.unseen != "" {
			r.history = append(r.history, it)
		}
	case typeAgents:
		r.history = append(r.history, agentItem(e, payload))
	case typeCompacted:
		if why := badCompaction(payload); why != "" {
			r.history = append(r.history, item{entry: e, unseen: why})
		} else if rawjson.IsNull(rawjson.Get(payload, "replacement_history")) {
			r.compact(e, rawjson.Str(payload, "message"))
		}
		return nil
	case typeEvent:
		if rawjson.Str(payload, "type") == "thread_rolled_back" {
			r.rollBack(turnsOf(payload))
		}
		return nil
	}
	if n := rawjson.Get(raw, "ordinal"); dialect.IsNumber(n) && len(r.history) > before {
		if at := dialect.Integer(n); at < r.ordinal {
			r.history[before].swapped = true
		} else {
			r.ordinal = at
		}
	}
	return nil
}

// compact leaves the newest messages of the user and a summary.
func (r *replay) compact(e session.Entry, summary string) {
	r.history = slices.DeleteFunc(r.history, func(i item) bool {
		return !i.turn || !i.user || i.unseen != "" || strings.HasPrefix(contentText(i.json), summaryPrefix)
	})
	r.history = keepNewest(r.history)
	if summary == "" {
		summary = noSummary
	}
	r.history = append(r.history, item{entry: e, kind: "message", turn: true, user: true, json: message("user", "input_text", summary)})
}

// rollBack cuts the history before its n-th last turn, with the messages of the program right before it.
func (r *replay) rollBack(n int) {
	cut := -1
	for k := len(r.history) - 1; k >= 0 && n > 0; k-- {
		if r.history[k].turn && r.history[k].unseen == "" {
			cut = k
			n--
		}
	}
	if cut < 0 {
		return
	}
	for k := cut; k > 0 && (r.history[k-1].lead || r.history[k-1].unseen != ""); k-- {
		if r.history[k-1].lead {
			cut = k - 1
		}
	}
	r.history = r.history[:cut]
}

// isPrompt reports whether a line is a message of the user.
func isPrompt(record []byte, f *fields) bool {
	if string(f.inner) == "agent_message" {
		return true
	}
	if string(f.inner) != "message" || string(f.role) != "user" {
		return false
	}
	i, ok := itemOf(session.Entry{}, rawjson.Get(record, "payload"))
	return ok && i.turn
}

// isNotice reports whether a message of the user's role is the program's own, in the eyes of a person.
func isNotice(m []byte) bool {
	text := strings.TrimSpace(contentText(m))
	return hasContext(m) || slices.ContainsFunc(noticePrefixes, func(p string) bool { return strings.HasPrefix(text, p) })
}

// contentText joins the texts of a message.
func contentText(m []byte) string {
	var b strings.Builder
	for part := range rawjson.Elements(rawjson.Get(m, "content")) {
		b.WriteString(rawjson.Str(part, "text"))
	}
	return b.String()
}

// outputOf gives the type of the output of a call; "" for what is not a call.
func outputOf(kind string) string {
	switch kind {
	case "function_call", "local_shell_call":
		return "function_call_output"
	case "custom_tool_call":
		return "custom_tool_call_output"
	case "tool_search_call":
		return "tool_search_output"
	}
	return ""
}

// isOutput reports whether items of a type are outputs of calls.
func isOutput(kind string) bool {
	return kind == "function_call_output" || kind == "custom_tool_call_output" || kind == "tool_search_output"
}

// heal gives calls without an output one, and drops outputs without a call. Calls and outputs without an id stay as they are.
func heal(history []item) []item {
	type key struct{ kind, id string }
	calls, outputs := map[key]bool{}, map[key]bool{}
	for _, i := range history {
		if i.unseen != "" {
			continue
		}
		if out := outputOf(i.kind); out != "" {
			calls[key{out, i.id}] = true
		} else {
			outputs[key{i.kind, i.id}] = true
		}
	}
	var out []item
	for _, i := range history {
		if i.unseen == "" && isOutput(i.kind) && i.id != "" && !calls[key{i.kind, i.id}] {
			i.unseen = "an output whose call is not there"
		}
		out = append(out, i)
		if kind := outputOf(i.kind); kind != "" && i.unseen == "" && i.id != "" && !outputs[key{kind, i.id}] {
			out = append(out, item{entry: i.entry, kind: kind, id: i.id, json: aborted(kind, i.id)})
		}
	}
	return out
}

// aborted is the output of a call that has none.
func aborted(kind, id string) []byte {
	var w dialect.Object
	w.Str("type", kind)
	w.Str("call_id", id)
	if kind == "tool_search_output" {
		w.Str("status", "completed")
		w.Str("execution", "client")
		w.Add("tools", []byte("[]"))
		return w.End()
	}
	w.Str("output", "aborted")
	return w.End()
}

// message makes a message of one text.
func message(role, kind, text string) []byte {
	var part dialect.Object
	part.Str("type", kind)
	part.Str("text", text)
	return messageOf(role, [][]byte{part.End()})
}

// messageOf makes a message of parts.
func messageOf(role string, parts [][]byte) []byte {
	var w dialect.Object
	w.Str("type", "message")
	w.Str("role", role)
	w.Add("content", dialect.Array(parts))
	return w.End()
}

// agentItem is a message between agents.
func agentItem(e session.Entry, payload []byte) item {
	i := item{entry: e, kind: "agent_message", turn: true, json: agentMessage(payload)}
	for _, key := range []string{"author", "recipient"} {
		if !strings.HasPrefix(rawjson.Str(payload, key), "/") {
			i.unseen = "a message between agents without a valid " + key
		}
	}
	if trigger := rawjson.Get(payload, "trigger_turn"); !rawjson.IsString(rawjson.Get(payload, "content")) || string(trigger) != "true" && string(trigger) != "false" {
		i.unseen = "a message between agents that is not valid"
	}
	return i
}

// agentMessage is a message between agents as it is sent. What is encrypted follows a heading of the program.
func agentMessage(payload []byte) []byte {
	text, secret := rawjson.Str(payload, "content"), rawjson.Get(payload, "encrypted_content")
	parts := [][]byte{nil}
	if rawjson.IsString(secret) {
		text = "Message Type: NEW_TASK\nTask name: " + rawjson.Str(payload, "recipient") + "\nSender: " + rawjson.Str(payload, "author") + "\nPayload:\n" + text
		var part dialect.Object
		part.Str("type", "encrypted_content")
		part.Add("encrypted_content", secret)
		parts = append(parts, part.End())
	}
	parts[0] = inputText(text)
	var w dialect.Object
	w.Str("type", "agent_message")
	w.Copy(payload, "author", "recipient")
	w.Add("content", dialect.Array(parts))
	return w.End()
}
