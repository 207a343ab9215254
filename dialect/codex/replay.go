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
const summaryPrefix = "Another language model started to solve this problem and produced a summary of its thinking process. " +
	"You also have access to the state of the tools that were used by that language model. " +
	"Use this to build on the work that has already been done and avoid duplicating work. " +
	"Here is the summary produced by the other language model, use the information in this summary to assist with your own analysis:"

// noSummary is the text of a compaction without one.
const noSummary = "(no summary available)"

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
		r := newReplay(t, d)
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
	// based: the file goes on from another one.
	based bool
	from  int // the first position that the program reads
	extra int // turns to roll back at the end
}

func newReplay(t *session.Tree, d *reader) replay {
	return replay{t: t, lost: d.lost, based: d.based, from: d.from}
}

// read replays the lines from the base on.
func (r *replay) read(last int) error {
	begin, err := r.base(last)
	if err != nil {
		return err
	}
	for i := max(begin, r.from); i <= last; i++ {
		if err := r.line(r.t.At(i)); err != nil {
			return err
		}
	}
	r.rollBack(r.extra)
	return nil
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
		switch list, ok := replacementOf(payload); {
		case ok && list == nil:
			r.compact(e, rawjson.Str(payload, "message"))
		case ok && r.based:
			r.replace(e, list)
		}
	case typeEvent:
		if rawjson.Str(payload, "type") == "thread_rolled_back" {
			r.rollBack(numTurns(payload))
		}
	}
	return nil
}

// compact leaves the texts of the user and a summary.
func (r *replay) compact(e session.Entry, summary string) {
	var left []item
	for _, i := range r.history {
		if i.turn && i.user {
			i.json = message("user", "input_text", inputTexts(i.json)...)
			left = append(left, i)
		}
	}
	if summary == "" {
		summary = noSummary
	}
	r.history = append(left, item{entry: e, kind: "message", turn: true, user: true, json: message("user", "input_text", summary)})
}

// inputTexts gives the texts of a message. The program leaves out its images.
func inputTexts(m []byte) (list []string) {
	for part := range rawjson.Elements(rawjson.Get(m, "content")) {
		if rawjson.Str(part, "type") == "input_text" {
			list = append(list, rawjson.Str(part, "text"))
		}
	}
	if list == nil {
		return []string{""}
	}
	return list
}

// rollBack cuts the history before its n-th last turn, with the messages of the program right before it. What stands before
// the first turn stays.
func (r *replay) rollBack(n int) {
	first := slices.IndexFunc(r.history, func(i item) bool { return i.turn })
	cut := len(r.history)
	for k := len(r.history) - 1; k >= 0 && n > 0; k-- {
		if r.history[k].turn {
			cut = k
			n--
		}
	}
	if cut == len(r.history) {
		return
	}
	for cut > first && r.history[cut-1].lead {
		cut--
	}
	r.history = r.history[:cut]
}

// itemOf reads an item; ok is false for one that the program drops.
func itemOf(e session.Entry, payload []byte) (i item, ok bool) {
	i = item{entry: e, kind: rawjson.Str(payload, "type"), id: rawjson.Str(payload, "call_id"), json: payload}
	if !slices.Contains(itemTypes, i.kind) || !readable(i.kind, payload) {
		return i, false
	}
	switch i.kind {
	case "message":
		role := rawjson.Str(payload, "role")
		i.user = role == "user"
		context := i.user && marked(payload, contextMarkers)
		i.turn = i.user && !context
		i.lead = context || role == "developer" && marked(payload, developerMarkers)
		return i, role != "system"
	case "agent_message":
		i.turn = true
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

// message makes a message of texts.
func message(role, kind string, texts ...string) []byte {
	var parts [][]byte
	for _, text := range texts {
		var part dialect.Object
		part.Str("type", kind)
		part.Str("text", text)
		parts = append(parts, part.End())
	}
	var w dialect.Object
	w.Str("type", "message")
	w.Str("role", role)
	w.Add("content", dialect.Array(parts))
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
