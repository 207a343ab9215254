package convert_test

import (
	"fmt"
	"strings"
)

// calling makes a log of pi or Operator in which calls and results come in any order: results of earlier calls, second ones, what
// is said between a call and its result, and branches that answer a call or do not.
func (r *dice) calling(agent string) string {
	pi := agent != "operator"
	lines := []string{`{"type":"session","version":3,"id":"019cab00-0000-7000-8000-00000000000a","timestamp":1772460000.25,"cwd":"/work/pond"}`}
	parentOf, key := `,"parent_id":"%s"`, `"timestamp":1772460000.25`
	if pi {
		lines[0] = strings.Replace(lines[0], "1772460000.25", `"2026-03-02T14:00:00.000Z"`, 1)
		parentOf, key = `,"parentId":"%s"`, `"timestamp":"2026-03-02T14:00:00.000Z"`
	}
	asks := map[string]bool{}
	for range 3 + r.IntN(12) {
		id, parent := r.id(), ""
		kept := []string{"none"}
		if p := r.parent(); p != "" {
			if asks[p] { // what a compaction keeps begins with no result
				kept = append(kept, p)
			}
			parent = fmt.Sprintf(parentOf, p)
		} else if pi {
			parent = `,"parentId":null`
		}
		body := r.callingOperator
		if pi {
			body = r.callingPi
		}
		text := body(kept[r.IntN(len(kept))])
		lines = append(lines, fmt.Sprintf(`{"id":"%s",%s%s,"type":%s}`, id, key, parent, text))
		r.ids = append(r.ids, id)
		asks[id] = strings.Contains(text, `all","id":"c`) // toolCall or tool_call
	}
	return strings.Join(lines, "\n") + "\n"
}

// someCall is one of few ids.
func (r *dice) someCall() string { return r.one("c1", "c1", "c2", "c3") }

// someCalls returns a list of calls, mostly with ids of their own.
func (r *dice) someCalls(format string) (list []string) {
	for _, id := range [][]string{{"c1"}, {"c1", "c2"}, {"c2"}, {"c2", "c1", "c3"}}[r.IntN(4)] {
		list = append(list, fmt.Sprintf(format, id))
	}
	return list
}

func (r *dice) callingPi(kept string) string {
	message := func(role, content, more string) string {
		return `"message","message":{"role":"` + role + `","content":` + content + more + `,"timestamp":1772460001000}`
	}
	const text, model = `{"type":"text","text":"deep"}`, `,"api":"acme","provider":"acme","model":"m1","stopReason":"`
	switch r.IntN(12) {
	case 0, 1, 2:
		list := r.someCalls(`{"type":"toolCall","id":"%s","name":"bash","arguments":{}}`)
		return message("assistant", join(append([]string{r.one(text, `{"type":"thinking","thinking":"","thinkingSignature":"s"}`)}, list...)), model+r.one("toolUse", "toolUse", "aborted")+`"`)
	case 3, 4, 5, 6:
		return message("toolResult", "["+text+"]", `,"toolCallId":"`+r.someCall()+`","toolName":"bash","isError":false`)
	case 7:
		return message("user", r.one("[]", "["+text+"]"), "")
	case 8:
		return message("assistant", r.one("[]", "["+text+"]"), model+r.one("stop", "error")+`"`)
	case 9:
		return r.one(`"branch_summary","fromId":"root","summary":"b"`, `"custom_message","customType":"x","content":`+r.one(`""`, `"deep"`)+`,"display":true`)
	case 10:
		return `"compaction","summary":"s","firstKeptEntryId":"` + kept + `","tokensBefore":7`
	}
	return r.one(`"thinking_level_change","thinkingLevel":"low"`, `"model_change","provider":"acme","modelId":"m2"`, `"label","targetId":"`+r.some()+`","label":"here"`)
}

func (r *dice) callingOperator(kept string) string {
	message := func(role string, list ...string) string {
		more := ""
		if role == "assistant" {
			more = `,"stop_reason":"` + r.one("stop", "tool_calls", "abort", "content_filter") + `","error":""`
		}
		return `"message","message":{"contents":` + join(list) + `,"id":"5f0c2a34-0000-4000-8000-000000000001","timestamp":1772460001.5,"role":"` + role + `"` + more + `}`
	}
	const text = `{"type":"text","content":"deep"}`
	result := func() string {
		return `{"type":"tool_result","id":"` + r.someCall() + `","content":"2 m","is_error":false,"metadata":{},"terminate":false}`
	}
	switch r.IntN(12) {
	case 0, 1, 2:
		list := r.someCalls(`{"type":"tool_call","id":"%s","name":"bash","args":{},"metadata":{}}`)
		return message("assistant", append([]string{r.one(text, `{"type":"thinking","content":"","signature":"s"}`)}, list...)...)
	case 3, 4:
		return message("tool", result())
	case 5, 6:
		return message(r.one("tool", "user", "system", "odd", "assistant"), result(), r.one(result(), text))
	case 7, 8:
		return message(r.one("user", "assistant"), text)
	case 9:
		return r.one(`"branch_summary","from_id":"root","summary":"b","from_hook":true`, `"custom_message","custom_type":"x","content":[`+r.one("", text)+`],"display":true`)
	case 10:
		return `"compaction","summary":"s","first_kept_entry_id":"` + kept + `","tokens_before":7,"from_hook":false`
	}
	return r.one(`"thinking_level_change","thinking_level":"low"`, `"model_change","model_id":"m","provider_id":"acme"`, `"leaf","target_id":"`+r.some()+`"`)
}
