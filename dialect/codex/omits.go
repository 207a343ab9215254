package codex

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// isOrdinal reports whether a value is a natural number, as the program writes them.
func isOrdinal(value []byte) bool {
	for _, c := range value {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(value) > 0
}

// isLine reports whether the program reads a line with these members, whatever its payload is.
func isLine(f *fields) bool {
	return f.stamped && f.payload != nil && (f.numbered || rawjson.IsNull(f.ordinal)) && !f.odd
}

// isRead reports whether the program reads a line and its payload.
func isRead(f *fields, record []byte) bool {
	if !isLine(f) {
		return false
	}
	payload := rawjson.Get(record, "payload")
	switch string(f.typ) {
	case typeItem:
		kind := rawjson.Str(payload, "type")
		return itemNeeds[kind] == nil || missing(kind, payload) == ""
	case typeCompacted:
		return badCompaction(payload) == ""
	case typeEvent:
		return slices.Contains(events, string(f.inner))
	case typeAgents:
		return agentItem(session.Entry{}, payload).unseen == ""
	}
	return slices.Contains(lineTypes, string(f.typ))
}

// lineTypes are further types of lines that the program knows; events are the types of events that it knows.
var (
	lineTypes = []string{typeMeta, typeTurnContext, "world_state", "token_usage_record", "security_risk_score"}
	events    = []string{eventStarted, eventComplete, eventAborted, "token_count", typeLeaf, "thread_settings_applied", "user_message",
		"agent_message", "agent_reasoning", "agent_reasoning_raw_content", "item_completed", "context_compacted", "entered_review_mode", "exited_review_mode", "error"}
)

// skipped returns why the program skips a line.
func skipped(record []byte) string {
	var f fields
	var text rawjson.Text
	text.Reset(record)
	if deep(record) {
		return fmt.Sprintf("its values are nested more than %d deep", deepest)
	}
	if _, err := f.scan(&text, 0); err != nil || isLine(&f) {
		return "it holds two records"
	}
	if !f.stamped {
		return "it has no timestamp"
	}
	return "its ordinal, metadata or payload is not valid"
}

// deepest is the depth up to which the values of a line may be nested.
const deepest = 127

// deep reports whether the program does not read a line because its values are nested too deeply.
func deep(record []byte) bool {
	if bytes.Count(record, []byte("{"))+bytes.Count(record, []byte("[")) <= deepest {
		return false
	}
	depth, quoted := 0, false
	for i := 0; i < len(record); i++ {
		switch c := record[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > deepest {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// send turns an item into what the program sends: long outputs are cut, and a text replaces what a provider would refuse.
func (i *item) send(most limit) {
	if i.own && isOutput(i.kind) {
		if out := most.output(rawjson.Get(i.json, "output")); out != nil {
			i.json = rawjson.Set(i.json, "output", out)
		}
	}
	for _, key := range []string{"content", "output"} {
		list := rawjson.Get(i.json, key)
		if i.kind == "reasoning" || !rawjson.IsArray(list) {
			continue
		}
		changed := false
		list = rawjson.MapElements(list, func(part []byte) []byte {
			if text := replaced(part); text != "" {
				changed = true
				return inputText(text)
			}
			return part
		})
		if changed {
			i.json = rawjson.Set(i.json, key, list)
		}
	}
}

// Omits implements session.Omitter.
func (d *reader) Omits(p session.Path) []session.Problem {
	if d.refused != "" {
		return []session.Problem{{Line: 1, Kind: session.ProblemRefused, Message: "Codex does not resume the session: " + d.refused,
			Advice: "its entries are shown all the same"}}
	}
	history, err := d.replay(p)
	if err != nil {
		return nil // building the context returns the error
	}
	var list []session.Problem
	if d.baseless {
		list = append(list, session.Problem{Line: 1, Kind: session.ProblemUnseen, Message: "the header names a base, but not the history_mode paginated: the model does not see the base",
			Advice: "the rollout that it names has the rest"})
	}
	for k := range history {
		i := &history[k]
		if message, advice := i.omitted(); message != "" {
			list = append(list, unseen(i.entry, message, advice))
		}
	}
	return append(list, told(p.Tree())...)
}

// omitted returns what the model does not see of an item, or "".
func (i *item) omitted() (message, advice string) {
	const kept = "its entry is in the log and in the tree"
	switch {
	case i.unseen != "":
		return "the model does not see " + i.unseen, kept
	case i.swapped:
		return "the model sees the entry behind later ones: its ordinal is smaller than theirs", "Codex reads lines in the order of the file"
	case !i.own:
		return "", ""
	}
	raw, err := i.entry.Raw()
	if err != nil {
		return "", ""
	}
	payload := rawjson.Get(raw, "payload")
	switch {
	case i.entry.Type == typeAgents:
		if rawjson.IsString(rawjson.Get(payload, "encrypted_content")) && rawjson.Str(payload, "content") != "" {
			return "the model does not see the text of an encrypted message between agents", kept
		}
		return "", ""
	case i.kind == "reasoning" && count(rawjson.Get(payload, "content")) > count(rawjson.Get(i.json, "content")):
		return "the model does not see the texts of a reasoning: they are not of the type reasoning_text", kept
	case i.kind == "web_search_call" && rawjson.Str(rawjson.Get(payload, "action"), "type") != rawjson.Str(rawjson.Get(i.json, "action"), "type"):
		return "the model does not see what a web_search_call did: Codex does not know the action", kept
	}
	for _, key := range []string{"content", "output"} {
		for part := range rawjson.Elements(rawjson.Get(payload, key)) {
			if replaced(part) != "" {
				return "the model does not see an image or a sound: Codex sends a note instead", kept
			}
		}
	}
	if out := rawjson.Get(payload, "output"); isOutput(i.kind) && string(out) != string(rawjson.Get(i.json, "output")) {
		return fmt.Sprintf("the model sees the beginning and the end of an output of %d bytes", len(out)), kept
	}
	return "", ""
}

// told reports the texts of a log without items. The program shows events to the user but not to the model.
func told(t *session.Tree) (list []session.Problem) {
	for n := range t.Len() {
		e := t.At(n)
		if e.Type == typeItem {
			return nil
		}
		if e.Type != typeEvent {
			continue
		}
		raw, err := e.Raw()
		if err != nil {
			return list
		}
		switch event := rawjson.Str(rawjson.Get(raw, "payload"), "type"); event {
		case "user_message", "agent_message":
			list = append(list, unseen(e, "the model does not see the text of an event: there is no item beside it", "it is in the log"))
		}
	}
	return list
}

// unseen is a Problem at an entry. For an entry of the base, Line and Offset are those of the header that names the base.
func unseen(e session.Entry, message, advice string) session.Problem {
	p := session.Problem{Line: e.Line, Offset: e.Span.Offset, Kind: session.ProblemUnseen, Message: message, Advice: advice}
	if e.Foreign() {
		p.Line, p.Offset, p.Message = 1, 0, fmt.Sprintf("in line %d of the rollout that this one goes on from: %s", e.Line, message)
	}
	return p
}
