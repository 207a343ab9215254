package copilot

import (
	"iter"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Texts of the program.
const (
	summarized               = "Some of the conversation history has been summarized to free up context.\n"
	instructed               = "\nYou were originally given instructions from a user over one or more turns. Here were the user messages:\n"
	userBegin, userEnd       = "<user_message>\n", "\n</user_message>\n"
	summaryBegin, summaryEnd = "\nHere is a summary of the prior context:\n<summary>\n", "\n</summary>\n"
	// interrupted is the result of a call without one. unrecorded is the result of such a call in the last answer: the program writes it
	// when it resumes the session.
	interrupted = "The execution of this tool, or a previous tool was interrupted."
	unrecorded  = "Tool execution was interrupted before a result was recorded. Its effects may be absent, partial, or already complete, and other tools may have completed successfully. Check the current state before retrying; do not assume success or replay this operation blindly."
	// failed is the result of a call that failed without an error.
	failed = "Tool execution failed"
)

// sent is a message to be sent.
type sent struct {
	entry session.Entry
	typ   string
	data  []byte
	calls []string // ids of the calls of an answer
	call  string   // id of the call of a result
	// prompts are the prompts that a compaction repeats; the compaction's data is the summary.
	prompts []string
}

// Replay implements session.Replayer.
func (d *reader) Replay(p session.Path) iter.Seq2[session.ContextMessage, error] {
	return func(yield func(session.ContextMessage, error) bool) {
		if d.refused != nil {
			return
		}
		list, err := d.history(p)
		if err != nil {
			yield(session.ContextMessage{}, err)
			return
		}
		for _, m := range paired(list) {
			if !yield(session.ContextMessage{Entry: m.entry, JSON: message(m.typ, m.data)}, nil) {
				return
			}
		}
	}
}

// history returns the messages of the events on a path, with compactions applied.
func (d *reader) history(p session.Path) (list []sent, err error) {
	var prompts []string // the prompts since the session began or was cleared, for compactions
	agent := ""
	for k := range p.Len() {
		e := p.At(k)
		if _, lost := slices.BinarySearch(d.lost, e.Index); lost {
			continue
		}
		switch e.Kind {
		case session.KindMessage, session.KindCompaction, session.KindBranchSummary, session.KindCustomMessage:
		default:
			switch e.Type {
			case typeCleared:
				list, prompts = nil, nil
			case typeResume:
				raw, err := p.Record(e)
				if err != nil {
					return nil, err
				}
				if !goesOn(rawjson.Get(raw, "data")) {
					list = settled(list)
				}
			}
			continue
		}
		raw, err := p.Record(e)
		if err != nil {
			return nil, err
		}
		data := rawjson.Get(raw, "data")
		if of := rawjson.Str(raw, "agentId"); of != agent {
			list, prompts, agent = nil, nil, of // the context of a sub-agent begins empty
		}
		switch {
		case e.Kind == session.KindCompaction:
			list = []sent{{entry: e, typ: typeCompaction, data: data, prompts: prompts}}
		case e.Role == session.RoleAssistant:
			m := answer(data)
			m.entry = e
			list = append(list, m)
		case e.Role == session.RoleTool:
			list = append(list, sent{entry: e, typ: typeResult, data: result(data), call: rawjson.Str(data, "toolCallId")})
		case e.Type == typeNotification && !isTold(data):
		default:
			if said := rawjson.Str(data, "content"); e.Type == typeUser && strings.TrimSpace(said) != "" && !isMeta(e.Type, data) {
				prompts = append(prompts, said)
			}
			list = append(list, sent{entry: e, typ: typeUser, data: prompt(data)})
		}
	}
	// Only the last compaction counts, because it repeats all prompts before it.
	if len(list) > 0 && list[0].typ == typeCompaction {
		first := &list[0]
		first.typ, first.data = typeUser, text(summary(first.prompts, rawjson.Str(first.data, "summaryContent")))
	}
	return list, nil
}

// goesOn reports whether a session was resumed with its calls still running.
func goesOn(data []byte) bool {
	return string(rawjson.Get(data, "sessionWasActive")) == "true" || string(rawjson.Get(data, "continuePendingWork")) == "true"
}

// settled gives a result to the calls that have none. What is recorded for them later is too late, also what the program records itself.
func settled(list []sent) []sent {
	done := map[string]bool{}
	for _, m := range list {
		if m.typ == typeResult {
			done[m.call] = true
		}
	}
	for _, m := range list {
		for _, id := range m.calls {
			if !done[id] {
				list = append(list, sent{entry: m.entry, typ: typeResult, data: given(rawjson.Quote(id), text(interrupted)), call: id})
			}
		}
	}
	return list
}

// isTold reports whether the model is told a notification: its kind is one that the program knows.
func isTold(data []byte) bool {
	switch rawjson.Str(rawjson.Get(data, "kind"), "type") {
	case "agent_completed", "agent_idle", "shell_completed", "shell_detached_completed", "new_inbox_message", "instruction_discovered":
		return true
	}
	return false
}

// text is the data of a message of the user.
func text(s string) []byte {
	var w dialect.Object
	w.Str("content", s)
	return w.End()
}

// summary is the message that replaces what came before a compaction.
func summary(prompts []string, said string) string {
	var b strings.Builder
	b.WriteString(summarized)
	if len(prompts) > 0 {
		b.WriteString(instructed)
	}
	for _, p := range prompts {
		b.WriteString(userBegin + p + userEnd)
	}
	b.WriteString(summaryBegin + said + summaryEnd)
	return b.String()
}

// prompt is a message of the user as it is sent: with what the program added to it.
func prompt(data []byte) []byte {
	content := rawjson.Get(data, "content")
	if whole := rawjson.Get(data, "transformedContent"); rawjson.IsString(whole) {
		content = whole
	}
	if !rawjson.IsString(content) {
		content = []byte(`""`)
	}
	var w dialect.Object
	w.Add("content", content)
	var pictures [][]byte // files are named in the text
	for a := range rawjson.Elements(rawjson.Get(data, "attachments")) {
		if _, ok := attachment(a).(session.Image); ok {
			pictures = append(pictures, a)
		}
	}
	if pictures != nil {
		w.Add("attachments", dialect.Array(pictures))
	}
	return rawjson.Compact(w.End())
}

// answer is a message of the model as it is sent: without thinking.
func answer(data []byte) sent {
	m := sent{typ: typeAnswer}
	var w dialect.Object
	if content := rawjson.Get(data, "content"); rawjson.IsString(content) {
		w.Add("content", content)
	}
	var calls [][]byte
	for c := range rawjson.Elements(rawjson.Get(data, "toolRequests")) {
		args := arguments(c)
		if rawjson.IsString(args) {
			args = spelled(c, args)
		}
		var call dialect.Object
		call.Copy(c, "toolCallId", "name")
		call.Add("arguments", args)
		call.Str("type", "function")
		calls = append(calls, call.End())
		m.calls = append(m.calls, rawjson.Str(c, "toolCallId"))
	}
	w.Add("toolRequests", dialect.Array(calls))
	w.Copy(data, "model")
	m.data = rawjson.Compact(w.End())
	return m
}

// spelled returns arguments that are a text as they are sent. For a tool without a schema they are its input; for others the
// text itself, which may be JSON.
func spelled(call, args []byte) []byte {
	if rawjson.Str(call, "type") != "custom" {
		if text, _ := rawjson.Unquote(args); rawjson.Valid([]byte(text)) {
			return []byte(text)
		}
		return args
	}
	var input dialect.Object
	input.Add("input", args)
	return input.End()
}

// result is the result of a call as it is sent. It does not say whether the tool failed, and has no pictures.
func result(data []byte) []byte {
	var v [4][]byte
	rawjson.Pick(data, resultKeys, v[:])
	var r dialect.Object
	if string(v[1]) == "false" {
		r.Str("content", failed)
		if said := rawjson.Get(v[3], "message"); rawjson.IsString(said) {
			r = nil
			r.Add("content", said)
		}
	} else {
		content := rawjson.Get(v[2], "content")
		if !rawjson.IsString(content) {
			content = []byte(`""`)
		}
		r.Add("content", content)
	}
	return rawjson.Compact(given(v[0], r.End()))
}

// given is the data of a result.
func given(call, r []byte) []byte {
	var w dialect.Object
	if call != nil {
		w.Add("toolCallId", call)
	}
	w.Add("success", []byte("true"))
	w.Add("result", r)
	return w.End()
}

// paired puts results after their calls, in the order of the calls. The first result after a call counts, or else one before
// it. A result without a call is dropped. A call without a result gets one.
func paired(list []sent) (out []sent) {
	of := matched(list)
	late := unsettled(list, of)
	for i, m := range list {
		if m.typ == typeResult {
			continue
		}
		out = append(out, m)
		for k, id := range m.calls {
			if r := of[i][k]; r >= 0 {
				out = append(out, list[r])
				continue
			}
			said := interrupted
			if i >= late {
				said = unrecorded
			}
			out = append(out, sent{entry: m.entry, typ: typeResult, data: given(rawjson.Quote(id), text(said)), call: id})
		}
	}
	return out
}

// matched gives for each message the positions of the results of its calls, -1 for a call without one.
func matched(list []sent) [][]int {
	type places struct{ before, after []int } // in order
	results := map[string]*places{}           // by call: those before and after the message that is looked at
	for i, m := range list {
		if m.typ != typeResult {
			continue
		}
		p := results[m.call]
		if p == nil {
			p = &places{}
			results[m.call] = p
		}
		p.after = append(p.after, i)
	}
	of := make([][]int, len(list))
	for i, m := range list {
		for _, id := range m.calls {
			at := -1
			if p := results[id]; p != nil {
				for len(p.after) > 0 && p.after[0] < i {
					p.before, p.after = append(p.before, p.after[0]), p.after[1:]
				}
				from := &p.after // the first after the call, or else one before it
				if len(p.after) == 0 {
					from = &p.before
				}
				if len(*from) > 0 {
					at, *from = (*from)[0], (*from)[1:]
				}
			}
			of[i] = append(of[i], at)
		}
	}
	return of
}

// unsettled returns the position from which on calls without a result may still have been running. It is that of the last answer, or of
// the answers with calls directly before it, if none of their calls has a result.
func unsettled(list []sent, of [][]int) int {
	first, begun := len(list), false
	for i, m := range slices.Backward(list) {
		switch {
		case m.typ == typeResult:
			continue
		case m.typ != typeAnswer && !begun:
			continue
		case m.typ != typeAnswer || len(m.calls) == 0:
			return first
		case begun && slices.ContainsFunc(of[i], func(r int) bool { return r >= 0 }):
			return first
		}
		first, begun = i, true
	}
	return first
}
