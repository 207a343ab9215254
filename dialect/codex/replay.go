package codex

import (
	"iter"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// item is an item of the history on its way to the provider.
type item struct {
	entry session.Entry
	kind  string
	id    string // call_id
	turn  bool   // it begins a turn of the user
	user  bool   // a message of the user
	lead  bool   // a message of the program that belongs to the turn after it
	json  []byte
}

// summaryPrefix begins the summaries of the program, which are no turns of the user.
const summaryPrefix = "Another language model started to solve this problem"

// noSummary is the text of a compaction without one.
const noSummary = "(no summary available)"

// contextPrefixes begin the messages in which the program tells the model about its surroundings.
var contextPrefixes = []string{
	"<environment_context>", "# AGENTS.md instructions", "<user_instructions>", "<turn_aborted>", "<skill>", "<permissions instructions>",
	"<skills_instructions>", "<model_switch>", "<user_shell_command>", "<subagent_notification>",
}

// itemTypes are the types of items that the program reads.
var itemTypes = []string{
	"message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "local_shell_call",
	"web_search_call", "compaction", "agent_message", "tool_search_call", "tool_search_output", "image_generation_call", "compaction_summary",
	"context_compaction",
}

// Replay implements session.Replayer: the lines up to the end of the path are replayed in file order, as the program does.
func (d *reader) Replay(p session.Path) iter.Seq2[session.ContextMessage, error] {
	return func(yield func(session.ContextMessage, error) bool) {
		if d.refused != "" {
			return
		}
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
			yield(session.ContextMessage{}, err)
			return
		}
		for _, i := range heal(r.history) {
			if !yield(session.ContextMessage{Entry: i.entry, JSON: i.json}, nil) {
				return
			}
		}
	}
}

// replay is the state of one replay.
type replay struct {
	t       *session.Tree
	lost    map[int]bool
	history []item
	extra   int // turns to roll back at the end
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
			if list := replacementOf(payload); list != nil && found < 0 {
				found, replacement = i, list
			}
		case typeEvent:
			switch rawjson.Str(payload, "type") {
			case "thread_rolled_back":
				skip += int(dialect.Integer(rawjson.Get(payload, "num_turns")))
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
		if it, ok := itemOf(e, part); ok {
			r.history = append(r.history, it)
		}
	}
	return *found + 1, true
}

// replacementOf gives the history that a compaction leaves; nil where it has none, or one whose metadata does not fit.
func replacementOf(payload []byte) []byte {
	list := rawjson.Get(payload, "replacement_history")
	if !rawjson.IsArray(list) {
		return nil
	}
	if meta := rawjson.Get(payload, "replacement_history_metadata"); rawjson.IsArray(meta) && count(meta) != count(list) {
		return nil
	}
	return list
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
	if r.lost[e.Index] {
		return nil
	}
	raw, err := e.Raw()
	if err != nil {
		return err
	}
	payload := rawjson.Get(raw, "payload")
	switch e.Type {
	case typeItem:
		if it, ok := itemOf(e, payload); ok {
			r.history = append(r.history, it)
		}
	case typeAgents:
		r.history = append(r.history, item{entry: e, kind: "agent_message", turn: true, json: agentMessage(payload)})
	case typeCompacted:
		if rawjson.IsNull(rawjson.Get(payload, "replacement_history")) {
			r.compact(e, rawjson.Str(payload, "message"))
		}
	case typeEvent:
		if rawjson.Str(payload, "type") == "thread_rolled_back" {
			r.rollBack(int(dialect.Integer(rawjson.Get(payload, "num_turns"))))
		}
	}
	return nil
}

// compact leaves the messages of the user and a summary.
func (r *replay) compact(e session.Entry, summary string) {
	r.history = slices.DeleteFunc(r.history, func(i item) bool {
		return !i.turn || !i.user || strings.HasPrefix(contentText(i.json), summaryPrefix)
	})
	if summary == "" {
		summary = noSummary
	}
	r.history = append(r.history, item{entry: e, kind: "message", turn: true, user: true, json: message("user", "input_text", summary)})
}

// rollBack cuts the history before its n-th last turn, with the messages of the program right before it.
func (r *replay) rollBack(n int) {
	cut := -1
	for k := len(r.history) - 1; k >= 0 && n > 0; k-- {
		if r.history[k].turn {
			cut = k
			n--
		}
	}
	if cut < 0 {
		return
	}
	for cut > 0 && r.history[cut-1].lead {
		cut--
	}
	r.history = r.history[:cut]
}

// itemOf reads an item; ok is false for one that the program drops.
func itemOf(e session.Entry, payload []byte) (i item, ok bool) {
	i = item{entry: e, kind: rawjson.Str(payload, "type"), id: rawjson.Str(payload, "call_id"), json: payload}
	if !slices.Contains(itemTypes, i.kind) {
		return i, false
	}
	switch i.kind {
	case "message":
		role := rawjson.Str(payload, "role")
		if role == "system" || !rawjson.IsArray(rawjson.Get(payload, "content")) {
			return i, false
		}
		for part := range rawjson.Elements(rawjson.Get(payload, "content")) {
			if !isPart(rawjson.Str(part, "type")) {
				return i, false
			}
		}
		context := isContext(contentText(payload))
		i.user = role == "user"
		i.turn = i.user && !context
		i.lead = role == "developer" || i.user && context
	case "agent_message":
		i.turn = true
	case "function_call_output", "custom_tool_call_output":
		out := rawjson.Get(payload, "output")
		return i, rawjson.IsString(out) || rawjson.IsArray(out)
	}
	return i, true
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

// isContext reports whether a text of the user's role is the program's own.
func isContext(text string) bool {
	text = strings.TrimLeftFunc(text, dialect.JSSpace)
	return slices.ContainsFunc(contextPrefixes, func(p string) bool { return strings.HasPrefix(text, p) })
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
	}
	return ""
}

// heal gives calls without an output one, and drops outputs without a call.
func heal(history []item) []item {
	type key struct{ kind, id string }
	calls, outputs := map[key]bool{}, map[key]bool{}
	for _, i := range history {
		if out := outputOf(i.kind); out != "" {
			calls[key{out, i.id}] = true
		} else {
			outputs[key{i.kind, i.id}] = true
		}
	}
	var out []item
	for _, i := range history {
		if (i.kind == "function_call_output" || i.kind == "custom_tool_call_output") && !calls[key{i.kind, i.id}] {
			continue
		}
		out = append(out, i)
		if kind := outputOf(i.kind); kind != "" && !outputs[key{kind, i.id}] {
			var w dialect.Object
			w.Str("type", kind)
			w.Str("call_id", i.id)
			w.Str("output", "aborted")
			out = append(out, item{entry: i.entry, kind: kind, id: i.id, json: w.End()})
		}
	}
	return out
}

// message makes a message of one text.
func message(role, kind, text string) []byte {
	var part, w dialect.Object
	part.Str("type", kind)
	part.Str("text", text)
	w.Str("type", "message")
	w.Str("role", role)
	w.Add("content", dialect.Array([][]byte{part.End()}))
	return w.End()
}

// agentMessage is a message between agents as it is sent.
func agentMessage(payload []byte) []byte {
	var part, w dialect.Object
	part.Str("type", "input_text")
	part.Str("text", rawjson.Str(payload, "content"))
	w.Str("type", "agent_message")
	w.Copy(payload, "author", "recipient")
	w.Add("content", dialect.Array([][]byte{part.End()}))
	return w.End()
}
