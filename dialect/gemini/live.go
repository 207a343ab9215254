package gemini

import (
	"bytes"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/contents"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// note adds the message that was just read to the conversation, and finds out what it repeats.
func (dec *decoder) note(at int, f *fields) {
	dec.said = append(dec.said, int32(at))
	switch typ, role := string(f.typ), dec.env.Role; {
	case typ == typeUser && role == session.RoleUser:
		if mayIgnore(f.content) && ignored(textOf(value(f.content))) {
			put(&dec.startup, at, true)
		}
	case typ == typeAnswer:
		dec.repeated(at, f)
	case role == session.RoleTool && dec.answer.calls && dec.answer.at >= 0 && dec.answered(f.content):
		put(&dec.r.echoes, at, echoResults)
	}
}

// listen adds the messages since its last call to the conversation. Few logs need it, and asking the builder
// at once whether an id is new would be expensive.
func (dec *decoder) listen() {
	for _, at := range dec.said {
		id, again := dec.b.NativeID(int(at))
		if !again && id != "" || dec.live.find(string(id)) < 0 {
			dec.live.add(live{string(id), int(at)})
		}
	}
	dec.said = dec.said[:0]
}

// repeated compares a record of an answer with the one before: the program writes an answer with its tokens, and again with
// its calls.
func (dec *decoder) repeated(at int, f *fields) {
	record, last := dec.env.Record, &dec.answer
	if last.at >= 0 && len(f.id) > 0 && string(last.id) == string(f.id) {
		var same echo
		if string(rawjson.Get(record, "content")) == string(rawjson.Get(last.record, "content")) &&
			string(rawjson.Get(record, "thoughts")) == string(rawjson.Get(last.record, "thoughts")) {
			same |= echoTexts
		}
		if ids := callIDs(last.record); len(ids) > 0 && slices.Equal(ids, callIDs(record)) {
			same |= echoCalls
		}
		if same != 0 {
			put(&dec.r.echoes, at, same)
		}
	}
	last.at, last.id, last.calls, last.record = at, append(last.id[:0], f.id...), f.calls, append(last.record[:0], record...)
}

// callIDs returns the ids of the calls of an answer.
func callIDs(record []byte) (ids []string) {
	for call := range rawjson.Elements(rawjson.Get(record, "toolCalls")) {
		ids = append(ids, rawjson.Str(call, "id"))
	}
	return ids
}

// answered reports whether the last answer has all results of a message beside its calls.
func (dec *decoder) answered(content []byte) bool {
	var known []string
	for call := range rawjson.Elements(rawjson.Get(dec.answer.record, "toolCalls")) {
		if rawjson.Truthy(rawjson.Get(call, "result")) {
			known = append(known, rawjson.Str(call, "id"))
		}
	}
	ids := contents.IDs(value(content), contents.Result)
	return len(ids) > 0 && !slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(known, id) })
}

// rewind removes a message and all after it from the conversation. The parent of the next entry is the entry before that message, and
// the leaf moves to the last entry there that is part of the conversation.
func (dec *decoder) rewind(at int, id string) {
	dec.listen()
	k := dec.live.find(id)
	if dec.continued && k <= 0 {
		dec.earlier = true
		return
	}
	dec.parent, dec.hanging = nil, true
	if k < 0 {
		dec.live = talk{}
	} else {
		first := dec.b.At(dec.live.list[k].at)
		dec.live.cut(k)
		switch {
		case k > 0 && first.Type == typeSet: // what is left are messages of a $set
			dec.parent = []byte(first.ID)
		case first.Parent != "":
			dec.parent = []byte(first.Parent)
		}
	}
	dec.answer.at = -1
	env := &dec.env
	if id, ok := dec.spoken(session.EntryID(dec.parent)); ok {
		env.Target = []byte(id)
	}
	put(&dec.r.leaves, at, session.EntryID(env.Target))
}

// replace makes the messages of a $set the conversation. If they are those that the model saw at the last known of them, that
// message is the parent of the entry. Otherwise the entry is a compaction, whose parent is the entry before it.
func (dec *decoder) replace(at int, messages []byte) {
	env := &dec.env
	if dec.continued { // its texts are read nevertheless
		dec.earlier, env.Kind = true, session.KindCompaction
		return
	}
	var known, begun []live // messages that are sent
	changed, seen := false, map[string]bool{}
	dec.live, dec.said, dec.answer.at = talk{}, dec.said[:0], -1
	for m := range rawjson.Elements(messages) {
		if !rawjson.IsString(rawjson.Get(m, "id")) {
			continue
		}
		id := rawjson.Str(m, "id")
		here := live{id, at}
		e, ok := dec.b.Lookup(session.EntryID(id))
		if set, said := dec.sets[id]; ok {
			here.at = e.Index
		} else if said {
			here.at, ok = set, true
		}
		if !seen[id] {
			seen[id] = true
			dec.live.add(here)
		}
		if isStartup(m) || dec.isResponse(id) {
			continue
		}
		if begun = append(begun, here); ok {
			known = append(known, here)
		} else {
			changed = true
			if dec.sets == nil {
				dec.sets = map[string]int{}
			}
			dec.sets[id] = at
		}
	}
	if changed || !dec.follows(known) {
		env.Kind = session.KindCompaction
		put(&dec.compacted, at, begun)
		return
	}
	env.InOrder, env.Parent = false, nil
	if len(known) > 0 {
		env.Parent = []byte(dec.b.At(dec.latest(known[len(known)-1])).ID)
	}
}

// merge adds the messages of a second header to the conversation.
func (dec *decoder) merge(at int, messages []byte) {
	dec.listen()
	for m := range rawjson.Elements(messages) {
		if id := rawjson.Get(m, "id"); rawjson.IsString(id) {
			if s := rawjson.Str(m, "id"); dec.live.find(s) < 0 {
				dec.live.add(live{s, at})
			}
		}
	}
}

// latest returns the position of the last record of a message, which may have been written more than once.
func (dec *decoder) latest(m live) int {
	last := m.at
	for i := m.at + 1; i < dec.b.Len() && i <= m.at+near; i++ {
		if e := dec.b.At(i); string(e.NativeID) == m.id && e.FirstPiece() == m.at {
			last = i
		}
	}
	return last
}

// near is how many lines after the first record of a message another record of it is looked for.
const near = 16

// follows reports whether messages are those of the conversation at the last of them.
func (dec *decoder) follows(known []live) bool {
	if len(known) == 0 {
		return true
	}
	steps, k := dec.climb(), len(known)-1
	for i := int32(dec.latest(known[k])); i >= 0; {
		switch e := dec.b.At(int(i)); {
		case e.Kind == session.KindCompaction:
			return slices.Equal(dec.compacted[e.Index], known[:k+1])
		case k >= 0 && e.Index == known[k].at:
			k--
		case dec.counts(e):
			return false
		}
		next := steps[i].counts
		if k >= 0 {
			// The next known message may be one that need not be repeated. It then stands before the next one that counts.
			if m := int32(known[k].at); isAbove(steps, m, i) && (next < 0 || steps[m].depth > steps[next].depth) {
				next = m
			}
		}
		i = next
	}
	return k < 0
}

// apart reports whether a $set need not repeat a message: what the program says at its start, and results that the answer has beside
// its calls.
func (dec *decoder) apart(e session.Entry) bool {
	return dec.r.echoes[e.Index]&echoResults != 0 || dec.startup[e.Index]
}

// isResponse reports whether an id is that of the message which the program makes of the results of a known answer.
func (dec *decoder) isResponse(id string) bool {
	of, ok := strings.CutSuffix(id, "_response")
	if ok {
		_, ok = dec.b.Lookup(session.EntryID(of))
	}
	return ok
}

// value is the JSON value that a text begins with.
func value(text []byte) []byte {
	end, err := rawjson.Skip(text, 0)
	if err != nil {
		return nil
	}
	return text[:end]
}

// mayIgnore reports whether ignored may be true for a content. The first letter rules that out for nearly all texts.
func mayIgnore(content []byte) bool {
	text, ok := bytes.CutPrefix(content, []byte(`[{"text":"`))
	if !ok || len(text) == 0 {
		return true
	}
	switch c := text[0]; c {
	case '/', '?', '<', '"', '\\':
		return true
	default:
		return c <= ' ' || c >= 0x80
	}
}

// isStartup reports whether a message of the user is not sent.
func isStartup(m []byte) bool {
	content := rawjson.Get(m, "content")
	return rawjson.Str(m, "type") == typeUser && mayIgnore(content) && ignored(textOf(content))
}

// ignored reports whether the program does not send a text of the user.
func ignored(text string) bool {
	text = strings.TrimFunc(text, dialect.JSSpace)
	return text == "" || text[0] == '/' || text[0] == '?' || isContext(text)
}

// isContext reports whether the program wrote a text.
func isContext(text string) bool {
	return strings.HasPrefix(text, "<session_context>") || strings.HasPrefix(text, "<hook_context>")
}
