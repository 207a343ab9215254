package qwen

import (
	"slices"
	"strconv"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/contents"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// unrecorded is the result that the program gives a call without one.
const unrecorded = "Tool execution result was not recorded — likely interrupted by network failure, abort, or process exit. Treat as failure and retry if needed."

// untyped is sent instead of a file whose type the session does not say.
const untyped = "[document: application/octet-stream]"

// timedOut is an answer of some services that the program drops.
const timedOut = "(request timeout)"

// said is a message to be sent: of the model, of the user, or the result of a call.
type said struct {
	entry    session.Entry
	role     session.Role
	thoughts string
	text     string   // of a message of the model
	parts    [][]byte // parts of a message of the user, or calls of the model
	ids      []string // ids of the calls, or of the result
	also     []int    // the entries of answers that were joined to this one
}

// json encodes the message as a content.
func (m *said) json() []byte {
	role, parts := contents.User, m.parts
	if m.role == session.RoleAssistant {
		role, parts = contents.Model, nil
		if m.thoughts != "" {
			w := dialect.Object(`{"text":`)
			w = append(w, rawjson.Quote(m.thoughts)...)
			w.Add("thought", []byte("true"))
			parts = append(parts, w.End())
		}
		if m.text != "" {
			parts = append(parts, contents.Text(m.text))
		}
		parts = append(parts, m.parts...)
	}
	return rawjson.Compact(contents.Make(role, parts))
}

// send turns the history into what the program sends. Calls get results, broken answers are left out, consecutive answers are joined,
// and calls and results that do not belong together are dropped. The program also joins consecutive messages of the user; here each
// stays separate, so that its entry is known.
func send(history []turn) []said {
	var list []said
	for _, t := range valid(answered(history)) {
		list = append(list, t.said()...)
	}
	return together(paired(together(list)))
}

// answered gives every call a result. A result that is not in the first message after its call moves there, and further results of
// the call are dropped.
func answered(history []turn) []turn {
	made := map[int]turn{} // turns that consist of results, by the position before which they are inserted
	for i := range history {
		if history[i].role != contents.Model {
			continue
		}
		calls := contents.IDs(dialect.Array(history[i].parts), contents.Call)
		calls = slices.DeleteFunc(calls, func(id string) bool { return id == "" })
		if len(calls) == 0 {
			continue
		}
		names := namesOf(history[i])
		next := i + 1
		for next < len(history) && history[next].role == contents.Model && isTimeout(history[next]) {
			next++
		}
		found, moved := map[string]bool{}, map[string][]byte{}
		end := next
		for ; end < len(history) && history[end].role == contents.User; end++ {
			history[end].parts = slices.DeleteFunc(slices.Clone(history[end].parts), func(part []byte) bool {
				id := rawjson.Str(rawjson.Get(part, contents.Result), "id")
				if _, called := names[id]; id == "" || !called {
					return false
				}
				again := found[id]
				if found[id] = true; !again && end > next {
					moved[id] = part
				}
				return again || end > next
			})
		}
		var missing, late [][]byte
		for _, id := range calls {
			if part, ok := moved[id]; ok {
				late = append(late, part)
			} else if !found[id] {
				found[id] = true
				missing = append(missing, noResult(id, names[id]))
			}
		}
		add := append(missing, late...)
		if len(add) == 0 {
			continue
		}
		if next < len(history) && history[next].role == contents.User {
			at := slices.IndexFunc(history[next].parts, func(part []byte) bool { return !contents.Has(part, contents.Result) })
			if at < 0 {
				at = len(history[next].parts)
			}
			history[next].parts = slices.Insert(history[next].parts, at, add...)
		} else {
			made[next] = turn{entry: history[i].entry, role: contents.User, parts: add}
		}
	}
	if len(made) == 0 {
		return history
	}
	list := make([]turn, 0, len(history)+len(made))
	for i := range len(history) + 1 {
		if t, ok := made[i]; ok {
			list = append(list, t)
		}
		if i < len(history) {
			list = append(list, history[i])
		}
	}
	return list
}

// namesOf returns the names of the called tools, by call id. Of calls with the same id the first counts.
func namesOf(t turn) map[string]string {
	names := map[string]string{}
	for _, part := range t.parts {
		call := rawjson.Get(part, contents.Call)
		if !rawjson.IsObject(call) {
			continue
		}
		id := rawjson.Str(call, "id")
		if _, again := names[id]; !again {
			names[id] = rawjson.Str(call, "name")
		}
	}
	return names
}

// noResult is the result that the program makes for a call without one.
func noResult(id, name string) []byte {
	var response, r, w dialect.Object
	response.Str("error", unrecorded)
	r.Str("id", id)
	r.Str("name", name)
	r.Add("response", response.End())
	w.Add(contents.Result, r.End())
	return w.End()
}

// isTimeout reports whether an answer is the text that some services send after a timeout.
func isTimeout(t turn) bool {
	var text strings.Builder
	for _, part := range t.parts {
		if rawjson.Get(part, contents.Call) != nil {
			return false
		}
		if !contents.Has(part, "thought") {
			text.WriteString(rawjson.Str(part, "text"))
		}
	}
	return len(t.parts) > 0 && strings.TrimFunc(text.String(), dialect.JSSpace) == timedOut
}

// valid drops consecutive answers if one of them has no parts or an empty part.
func valid(history []turn) (list []turn) {
	for i := 0; i < len(history); {
		end := i
		for end < len(history) && history[end].role == contents.Model {
			end++
		}
		if end == i {
			list = append(list, history[i])
			i++
			continue
		}
		broken := func(t turn) bool { return len(t.parts) == 0 || slices.ContainsFunc(t.parts, isBroken) }
		if !slices.ContainsFunc(history[i:end], broken) {
			for _, t := range history[i:end] {
				if !isTimeout(t) {
					list = append(list, t)
				}
			}
		}
		i = end
	}
	return list
}

// isBroken reports whether a part says nothing.
func isBroken(part []byte) bool {
	text := rawjson.Get(part, "text")
	return members(part) == 0 || rawjson.IsString(text) && rawjson.Str(part, "text") == "" && !contents.Has(part, "thought") &&
		!contents.Has(part, "thoughtSignature") && rawjson.Get(part, contents.Call) == nil
}

// said splits a turn into messages: results come before what the user says with them.
func (t turn) said() (list []said) {
	m := said{entry: t.entry, role: session.RoleUser}
	if t.role == contents.Model {
		m.role = session.RoleAssistant
	}
	seen := map[string]bool{}
	var texts, thoughts strings.Builder
	for _, part := range t.parts {
		text := rawjson.Str(part, "text")
		call, result := rawjson.Get(part, contents.Call), rawjson.Get(part, contents.Result)
		switch thought := contents.Has(part, "thought"); {
		case thought:
			thoughts.WriteString(text)
		case m.role == session.RoleAssistant:
			texts.WriteString(text)
		case rawjson.IsObject(rawjson.Get(part, "fileData")) && rawjson.IsNull(rawjson.Get(rawjson.Get(part, "fileData"), "mimeType")):
			m.parts = append(m.parts, contents.Text(untyped))
		case text != "" || rawjson.IsObject(rawjson.Get(part, "inlineData")) || rawjson.IsObject(rawjson.Get(part, "fileData")):
			m.parts = append(m.parts, part)
		}
		id := rawjson.Str(call, "id")
		if rawjson.Truthy(call) && m.role == session.RoleAssistant && (id == "" || !seen[id]) {
			seen[id] = true
			if id == "" {
				id = "call_" + strconv.Itoa(len(m.ids))
			}
			m.parts, m.ids = append(m.parts, callPart(call, id)), append(m.ids, id)
		}
		id = rawjson.Str(result, "id")
		if rawjson.Truthy(result) && m.role == session.RoleUser && (id == "" || !seen[id]) {
			seen[id] = true
			list = append(list, said{entry: t.entry, role: session.RoleTool, parts: [][]byte{resultPart(result)}, ids: []string{id}})
		}
	}
	if m.role == session.RoleAssistant {
		m.text, m.thoughts = texts.String(), thoughts.String()
	}
	if m.text != "" || m.thoughts != "" || len(m.parts) > 0 {
		list = append(list, m)
	}
	return list
}

// callPart is a call as it is sent.
func callPart(call []byte, id string) []byte {
	args := rawjson.Get(call, "args")
	if !rawjson.Truthy(args) {
		args = []byte("{}")
	}
	var c, w dialect.Object
	c.Str("id", id)
	c.Str("name", rawjson.Str(call, "name"))
	c.Add("args", args)
	w.Add(contents.Call, c.End())
	return w.End()
}

// resultPart is a result as it is sent, which does not say whether the tool failed.
func resultPart(result []byte) []byte {
	response := rawjson.Get(result, "response")
	if failed := rawjson.Get(response, "error"); rawjson.IsString(failed) && !rawjson.IsString(rawjson.Get(response, "output")) {
		var w dialect.Object
		w.Add("output", failed)
		result = rawjson.Set(result, "response", w.End())
	}
	var w dialect.Object
	w.Add(contents.Result, result)
	return w.End()
}

// together joins consecutive answers.
func together(list []said) (out []said) {
	for i := 0; i < len(list); {
		m, end := list[i], i+1
		for m.role == session.RoleAssistant && end < len(list) && list[end].role == session.RoleAssistant {
			end++
		}
		if end > i+1 {
			var text, thoughts strings.Builder
			m.parts, m.ids, m.also = nil, nil, nil
			for _, one := range list[i:end] {
				text.WriteString(one.text)
				thoughts.WriteString(one.thoughts)
				m.parts, m.ids = append(m.parts, one.parts...), append(m.ids, one.ids...)
				m.also = append(append(m.also, one.entry.Index), one.also...)
			}
			m.text, m.thoughts = text.String(), thoughts.String()
		}
		out, i = append(out, m), end
	}
	return out
}

// paired drops calls without a result and results without a call. Results follow their calls.
func paired(list []said) (out []said) {
	used, placed := map[string]bool{}, map[int]bool{}
	for i, m := range list {
		switch {
		case placed[i]:
		case m.role == session.RoleTool:
		case m.role != session.RoleAssistant || len(m.ids) == 0:
			out = append(out, m)
		default:
			called := map[string]bool{}
			for _, id := range m.ids {
				called[id] = true
			}
			answers := map[string]bool{}
			var results []int
			for k := i + 1; k < len(list) && (list[k].role == session.RoleTool || list[k].role == session.RoleAssistant && len(list[k].ids) == 0); k++ {
				if list[k].role != session.RoleTool {
					continue
				}
				if id := list[k].ids[0]; id != "" && called[id] && !used[id] && !answers[id] {
					answers[id] = true
					results = append(results, k)
				}
			}
			calls := m
			calls.parts, calls.ids = nil, nil
			for k, id := range m.ids {
				if answers[id] && called[id] { // the first call with the id
					calls.parts, calls.ids = append(calls.parts, m.parts[k]), append(calls.ids, id)
					used[id], called[id] = true, false
				}
			}
			if len(calls.ids) > 0 || strings.TrimFunc(m.text, dialect.JSSpace) != "" || m.thoughts != "" {
				out = append(out, calls)
			}
			for _, k := range results {
				out, placed[k] = append(out, list[k]), true
			}
		}
	}
	return out
}
