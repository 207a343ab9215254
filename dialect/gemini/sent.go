package gemini

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/contents"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// turn is a content of the history that the program sends.
type turn struct {
	id    string
	entry session.Entry
	role  string
	parts [][]byte
	made  bool // the program adds it when it resumes the session
}

// json encodes a turn on one line.
func (t *turn) json() []byte { return rawjson.Compact(contents.Make(t.role, t.parts)) }

// interrupted is the answer that the program inserts after results without one.
const interrupted = "[The previous response was interrupted before it completed.]"

// send turns the messages of the conversation into what the program sends.
func send(list []message) []turn {
	history := turns(list)
	name(history)
	if last := len(history) - 1; last >= 0 && history[last].role == contents.User && slices.ContainsFunc(history[last].parts, isResult) {
		history = append(history, turn{role: contents.Model, parts: [][]byte{contents.Text(interrupted)}, made: true})
	}
	return spelled(withoutThoughts(valid(history)))
}

// turns turns messages into turns. Messages that are only for the user give none.
func turns(list []message) (history []turn) {
	for _, m := range list {
		content := rawjson.Get(m.json, "content")
		switch rawjson.Str(m.json, "type") {
		case typeUser:
			if !ignored(textOf(content)) {
				history = append(history, turn{id: m.id, entry: m.entry, role: contents.User, parts: contents.List(content)})
			}
		case typeAnswer:
			parts := said(m.json)
			if len(parts) == 0 {
				continue
			}
			history = append(history, turn{id: m.id, entry: m.entry, role: contents.Model, parts: parts})
			if results := resultsOf(m.json); len(results) > 0 {
				history = append(history, turn{id: m.id + "_response", entry: m.entry, role: contents.User, parts: results})
			}
		}
	}
	return history
}

// said returns the parts of an answer: only its content if that has calls or thoughts, otherwise thoughts, content and calls.
func said(answer []byte) [][]byte {
	var content [][]byte
	if v := rawjson.Get(answer, "content"); rawjson.Truthy(v) {
		content = contents.List(v)
	}
	if slices.ContainsFunc(content, isCall) || slices.ContainsFunc(content, isThought) {
		return content
	}
	var parts [][]byte
	for thought := range rawjson.Elements(rawjson.Get(answer, "thoughts")) {
		parts = append(parts, thoughtPart(thought))
	}
	parts = append(parts, content...)
	for call := range rawjson.Elements(rawjson.Get(answer, "toolCalls")) {
		var c, w dialect.Object
		c.Copy(call, "id", "name", "args")
		w.Add(contents.Call, c.End())
		parts = append(parts, w.End())
	}
	return parts
}

// thoughtPart is a thought as a part.
func thoughtPart(thought []byte) []byte {
	w := dialect.Object(`{"text":`)
	w = append(w, rawjson.Quote(thoughtText(thought))...)
	w.Add("thought", []byte("true"))
	return w.End()
}

// thoughtText is the text of a thought.
func thoughtText(thought []byte) string {
	text := rawjson.Str(thought, "description")
	if subject := rawjson.Str(thought, "subject"); subject != "" {
		text = "**" + subject + "** " + text
	}
	return text
}

// resultsOf returns the results beside the calls of an answer.
func resultsOf(answer []byte) (parts [][]byte) {
	for call := range rawjson.Elements(rawjson.Get(answer, "toolCalls")) {
		result := rawjson.Get(call, "result")
		switch {
		case !rawjson.Truthy(result):
		case rawjson.IsString(result):
			var response, r, w dialect.Object
			response.Add("output", result)
			r.Copy(call, "id", "name")
			r.Add("response", response.End())
			w.Add(contents.Result, r.End())
			parts = append(parts, w.End())
		default:
			parts = append(parts, contents.List(result)...)
		}
	}
	return parts
}

func isCall(part []byte) bool    { return contents.Has(part, contents.Call) }
func isResult(part []byte) bool  { return contents.Has(part, contents.Result) }
func isThought(part []byte) bool { return contents.Has(part, "thought") }

// named is a part that has an id, or gets one.
type named struct {
	turn, part int
	name       string
}

// name gives ids to calls and results without one, as the program does. The number of a turn counts the startup context as a turn.
func name(history []turn) {
	for i := range history {
		for k := range history[i].parts {
			if isCall(history[i].parts[k]) && idOf(history[i].parts[k], contents.Call) == "" {
				at := named{i, k, nameOf(history[i].parts[k], contents.Call)}
				id := "synth_" + at.name + "_" + stable(history[i].id, i+1, k)
				if other := nameless(history, i+1, contents.User, contents.Result, at.name); other >= 0 {
					setID(history, named{i + 1, other, ""}, contents.Result, id)
				}
				setID(history, at, contents.Call, id)
			}
			if isResult(history[i].parts[k]) && idOf(history[i].parts[k], contents.Result) == "" {
				at := named{i, k, nameOf(history[i].parts[k], contents.Result)}
				id := "synth_orph_" + at.name + "_" + stable(history[i].id, i+1, k)
				if other := nameless(history, i-1, contents.Model, contents.Call, at.name); other >= 0 {
					id = "synth_" + at.name + "_" + stable(history[i-1].id, i, k)
					setID(history, named{i - 1, other, ""}, contents.Call, id)
				}
				setID(history, at, contents.Result, id)
			}
		}
	}
}

func idOf(part []byte, member string) string   { return rawjson.Str(rawjson.Get(part, member), "id") }
func nameOf(part []byte, member string) string { return rawjson.Str(rawjson.Get(part, member), "name") }

// nameless finds a call or result of a tool without an id in a turn, -1 if there is none.
func nameless(history []turn, i int, role, member, name string) int {
	if i < 0 || i >= len(history) || history[i].role != role {
		return -1
	}
	return slices.IndexFunc(history[i].parts, func(part []byte) bool {
		return contents.Has(part, member) && nameOf(part, member) == name && idOf(part, member) == ""
	})
}

func setID(history []turn, at named, member, id string) {
	part := history[at.turn].parts[at.part]
	history[at.turn].parts[at.part] = rawjson.Set(part, member, rawjson.Set(rawjson.Get(part, member), "id", rawjson.Quote(id)))
}

// stable is the program's hash of a place in the history.
func stable(id string, turn, part int) string {
	list := []string{id, strconv.Itoa(turn), strconv.Itoa(part)}
	slices.Sort(list)
	sum := sha256.Sum256([]byte(strings.Join(list, "|")))
	return hex.EncodeToString(sum[:])[:32]
}

// valid drops consecutive answers if one of them has an empty part: the program considers them broken.
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
		if !slices.ContainsFunc(history[i:end], func(t turn) bool { return slices.ContainsFunc(t.parts, isBroken) }) {
			list = append(list, history[i:end]...)
		}
		i = end
	}
	return list
}

// isBroken reports whether a part says nothing.
func isBroken(part []byte) bool {
	others := false
	for key := range rawjson.Fields(part) {
		others = others || key != "text" && key != "thought" && key != "callIndex"
	}
	text := rawjson.Get(part, "text")
	return string(bytes.TrimSpace(part)) == "{}" || !others && !isThought(part) && rawjson.IsString(text) && rawjson.Str(part, "text") == ""
}

// withoutThoughts drops turns that have only thoughts.
func withoutThoughts(history []turn) []turn {
	return slices.DeleteFunc(history, func(t turn) bool {
		if !slices.ContainsFunc(t.parts, isThought) {
			return false
		}
		return !slices.ContainsFunc(t.parts, func(part []byte) bool { return !isThought(part) })
	})
}

// spelled gives parts the form in which they are sent. The program also joins neighbours of one role; here each message stays
// separate, so that its entry is known.
func spelled(history []turn) []turn {
	for i := range history {
		var parts [][]byte
		for _, part := range history[i].parts {
			if part = sentPart(part); part != nil {
				parts = append(parts, part)
			}
		}
		history[i].parts = parts
	}
	return history
}

// sentMembers are the members of a part that are sent, except for those of calls and results.
var sentMembers = []string{"text", "inlineData", "fileData", "executableCode", "codeExecutionResult"}

// isUnknown reports whether the program sends nothing of a part, because it has none of the members that are sent.
func isUnknown(part []byte) bool {
	return !isCall(part) && !isResult(part) && !isThought(part) && string(bytes.TrimSpace(part)) != "{}" &&
		!slices.ContainsFunc(sentMembers, func(member string) bool { return rawjson.Get(part, member) != nil })
}

// sentPart returns a part as it is sent, nil if it is not sent. In its files the program puts the name of the tool before the ids of
// calls, and it sends no images inside results.
func sentPart(part []byte) []byte {
	if isThought(part) || isUnknown(part) {
		return nil
	}
	if inside := rawjson.Get(part, contents.Result); rawjson.Get(inside, contents.Inside) != nil {
		part = rawjson.Set(part, contents.Result, rawjson.Delete(inside, contents.Inside))
	}
	for _, member := range [...]string{contents.Call, contents.Result} {
		v := rawjson.Get(part, member)
		if !rawjson.Truthy(v) {
			continue
		}
		tool := strings.TrimFunc(rawjson.Str(v, "name"), dialect.JSSpace)
		if tool == "" {
			tool = "generic_tool"
		}
		if id, ok := strings.CutPrefix(rawjson.Str(v, "id"), tool+"__"); ok {
			part = rawjson.Set(part, member, rawjson.Set(v, "id", rawjson.Quote(id)))
		}
	}
	text := rawjson.Get(part, "text")
	if !rawjson.IsString(text) || rawjson.Str(part, "text") != "" {
		return part
	}
	for key := range rawjson.Fields(part) {
		if key != "text" && key != "thought" && key != "callIndex" {
			return rawjson.Delete(part, "text")
		}
	}
	return nil
}

// partMembers are the members that make a part something other than a text.
var partMembers = []string{"videoMetadata", "thought", "codeExecutionResult", "executableCode", "fileData", contents.Call, contents.Result, "inlineData"}

// textOf returns the text of a content as the program sees it when it decides whether to send the content. A part that is not a text
// appears as its type in brackets.
func textOf(content []byte) string {
	if text, ok := rawjson.Unquote(content); ok {
		return text
	}
	var b strings.Builder
	for part := range parts(content) {
		if text, ok := rawjson.Unquote(part); ok {
			b.WriteString(text)
			continue
		}
		kind := ""
		for _, member := range partMembers {
			if rawjson.Get(part, member) != nil {
				kind = member
				break
			}
		}
		if kind != "" {
			b.WriteString("[" + kind + "]")
		} else {
			b.WriteString(rawjson.Str(part, "text"))
		}
	}
	return b.String()
}
