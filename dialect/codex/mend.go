package codex

import (
	"bytes"
	"strconv"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Mender = (*reader)(nil)

// Mends returns the changes that make the program resume the log and show the model every item that can be shown: the
// header gets its required members, lines get times and ordinals, and items get a form that the program reads.
func (d *reader) Mends(t *session.Tree) (list []dialect.Mend) {
	header := t.Header().Raw
	if whole := completed(header); !bytes.Equal(whole, header) {
		list = append(list, dialect.Mend{
			Header: true, Kind: session.ProblemRefused, Problem: "the header lacks members that Codex requires: it does not resume the log",
			Action: "it gets them; one of another type is replaced",
		})
	}
	m := mending{last: rawjson.Get(header, "timestamp"), next: -1}
	if isPaginated(rawjson.Get(header, "payload")) {
		m.next = dialect.Integer(rawjson.Get(header, "ordinal")) + 1
	}
	for e := range t.Entries() {
		raw, err := e.Raw()
		if err != nil || e.Foreign() {
			continue
		}
		for _, mend := range m.line(raw) {
			mend.Entry = e.Index
			list = append(list, mend)
		}
	}
	return list
}

// mending is what is needed of earlier lines to mend the next one.
type mending struct {
	last []byte // the time of the line before
	next int64  // the next ordinal; -1 in a legacy log
}

// line returns the changes of a line.
func (m *mending) line(record []byte) (list []dialect.Mend) {
	add := func(kind session.ProblemKind, problem, action string, edit func([]byte) ([]byte, error)) {
		list = append(list, dialect.Mend{Kind: kind, Problem: problem, Action: action, Edit: edit})
	}
	set := func(key string, value []byte) func([]byte) ([]byte, error) {
		return func(record []byte) ([]byte, error) { return rawjson.Set(record, key, value), nil }
	}
	if at := rawjson.Get(record, "timestamp"); rawjson.IsString(at) {
		m.last = at
	} else if rawjson.IsString(m.last) {
		add(session.ProblemUnseen, "the line has no time: Codex skips it", "it gets the time of the line before", set("timestamp", m.last))
	}
	if ordinal := rawjson.Get(record, "ordinal"); m.next >= 0 {
		if dialect.IsNumber(ordinal) {
			m.next = dialect.Integer(ordinal)
		} else {
			add(session.ProblemField, "the line has no ordinal", "it gets the next one", set("ordinal", strconv.AppendInt(nil, m.next, 10)))
		}
		m.next++
	}
	if rawjson.Str(record, "type") != typeItem {
		return list
	}
	payload := rawjson.Get(record, "payload")
	if _, ok := itemOf(session.Entry{}, payload); ok {
		return list
	}
	if seen, action := mendItem(payload); seen != nil {
		add(session.ProblemUnseen, "Codex drops the item in this form", action, set("payload", seen))
	}
	return list
}

// mendItem returns an item that the program drops in a form that the program reads; nil if no form says the same.
func mendItem(payload []byte) (item []byte, action string) {
	switch rawjson.Str(payload, "type") {
	case "function_call_output", "custom_tool_call_output":
		out := rawjson.Get(payload, "output")
		if !rawjson.IsObject(out) {
			return nil, ""
		}
		text := rawjson.Get(out, "content")
		if !rawjson.IsString(text) && !rawjson.IsArray(text) {
			text = rawjson.Quote(string(out))
		}
		payload = rawjson.Set(payload, "output", text)
		if success := rawjson.Get(out, "success"); string(success) == "false" {
			payload = rawjson.Set(payload, errorMember, []byte("true"))
		}
		action = "its output becomes a text"
	case "message":
		role, kind := rawjson.Str(payload, "role"), "input_text"
		switch role {
		case "system":
			payload = rawjson.Set(payload, "role", []byte(`"developer"`))
			action = "its role becomes developer; "
		case "assistant":
			kind = "output_text"
		}
		content := rawjson.Get(payload, "content")
		if rawjson.IsString(content) {
			text, _ := rawjson.Unquote(content)
			content = dialect.Array([][]byte{textPart(kind, text)})
		}
		if !rawjson.IsArray(content) {
			return nil, ""
		}
		content = rawjson.MapElements(content, func(part []byte) []byte {
			if rawjson.IsString(rawjson.Get(part, "text")) && badPart(dialect.Array([][]byte{part}), messageParts...) != "" {
				part = rawjson.Set(part, "type", rawjson.Quote(kind))
			}
			return part
		})
		payload = rawjson.Set(payload, "content", content)
		action += "its texts become parts that Codex reads"
	}
	if _, ok := itemOf(session.Entry{}, payload); !ok {
		return nil, ""
	}
	return payload, action
}

// completed returns a header with the members that the program requires. Unknown values become empty.
func completed(header []byte) []byte {
	payload := rawjson.Get(header, "payload")
	at := rawjson.Get(payload, "timestamp")
	if !rawjson.IsString(at) {
		at = rawjson.Get(header, "timestamp")
	}
	if !rawjson.IsString(at) {
		at = []byte(`"1970-01-01T00:00:00.000Z"`)
	}
	for _, m := range []struct {
		key   string
		value []byte
	}{
		{"timestamp", at}, {"cwd", []byte(`""`)}, {"originator", rawjson.Quote(originator)}, {"cli_version", rawjson.Quote(cliVersion)},
	} {
		if !rawjson.IsString(rawjson.Get(payload, m.key)) {
			payload = rawjson.Set(payload, m.key, m.value)
		}
	}
	header = rawjson.Set(header, "payload", payload)
	if !rawjson.IsString(rawjson.Get(header, "timestamp")) {
		header = rawjson.Set(header, "timestamp", at)
	}
	return header
}
