package convert_test

import (
	"fmt"
	"strings"
)

// These agents keep sessions in tables. Their logs have a record for each row.

// lastCompaction returns the number of the last compaction, or -1 if there is none.
func (t *talk) lastCompaction() int {
	for i := len(t.ops) - 1; i >= 0; i-- {
		if t.ops[i].kind == "compaction" {
			return i
		}
	}
	return -1
}

// openCode writes results into their calls, a compaction as a question and its answer, and may revert the last turn.
func (t *talk) openCode() string {
	const id = "ses_e1ff00000001ffeFixture0001xx"
	message := func(i int) string { return fmt.Sprintf("msg_1df0%08xFixtur00001abc", 2*i+1) }
	var lines []string
	prompt, revert := "", ""
	line := func(i int, extra string, info string, parts ...string) {
		at := 1772460000000 + 2000*i + len(extra)
		m := message(i) + extra
		if extra != "" { // the answer to a compaction
			m = fmt.Sprintf("msg_1df0%08xFixtur00001abc", 2*i+2)
		}
		var rows []string
		for k, p := range parts {
			rows = append(rows, fmt.Sprintf(`{"id":"prt_%s%05d%s","message_id":"%s","session_id":"%s","time_created":%d,"time_updated":%d,"data":%s}`, m[4:16], k, "abcdefghi", m, id, at, at, p))
		}
		lines = append(lines, fmt.Sprintf(`{"message":{"id":"%s","session_id":"%s","time_created":%d,"time_updated":%d,"data":{%s,"time":{"created":%d}}},"part":%s}`, m, id, at, at, info, at, join(rows)))
	}
	const answer = `"role":"assistant","mode":"build","agent":"build","path":{"cwd":"/work/pond","root":"/work/pond"},"cost":0.25,"tokens":{"input":10,"output":4,"reasoning":3,"cache":{"read":40,"write":1}},"modelID":"m1","providerID":"acme","finish":"stop","parentID":"%s"`
	const user = `"role":"user","agent":"build","model":{"providerID":"acme","modelID":"m1"}`
	for i, o := range t.ops {
		switch o.kind {
		case "user":
			prompt = message(i)
			line(i, "", user, o.blocks(`{"type":"text","text":%s}`, `{"type":"file","mime":"image/png","filename":"image","url":"data:image/png;base64,`+dot+`"}`)...)
		case "answer":
			parts := append([]string{`{"type":"step-start"}`, `{"type":"reasoning","text":"hm","time":{"start":1,"end":2}}`}, o.blocks(`{"type":"text","text":%s}`, "")...)
			for _, c := range o.calls {
				state := fmt.Sprintf(`{"status":"pending","input":%s,"raw":""}`, c.args)
				if r, ok := t.resultFor(i, c); ok && r.failed {
					state = fmt.Sprintf(`{"status":"error","input":%s,"error":%s,"time":{"start":1,"end":2}}`, c.args, r.texts[0])
				} else if ok {
					state = fmt.Sprintf(`{"status":"completed","input":%s,"output":%s,"title":"x","metadata":{},"time":{"start":1,"end":2}}`, c.args, r.texts[0])
				}
				parts = append(parts, fmt.Sprintf(`{"type":"tool","callID":"%s","tool":"%s","state":%s}`, c.id, c.name, state))
			}
			line(i, "", fmt.Sprintf(answer, prompt), append(parts, `{"type":"step-finish","reason":"stop","cost":0.25,"tokens":{"input":10,"output":4,"reasoning":3,"cache":{"read":40,"write":1}}}`)...)
		case "compaction":
			tail := ""
			if o.keep >= 0 {
				tail = `,"tail_start_id":"` + message(o.keep) + `"`
			}
			line(i, "", user, `{"type":"compaction","auto":true`+tail+`}`)
			line(i, "s", fmt.Sprintf(answer, message(i))+`,"summary":true`, `{"type":"text","text":`+o.texts[0]+`}`)
			prompt = message(i)
		}
	}
	if n := len(t.ops); t.IntN(4) == 0 && n > 0 && t.ops[n-1].kind != "compaction" && prompt != message(0) {
		revert = `"revert":{"messageID":"` + prompt + `"},`
	}
	head := fmt.Sprintf(`{"session":{"id":"%s","slug":"fix-1","directory":"/work/pond","title":"a title","version":"1.18.33",%s"time_created":1772460000000}}`, id, revert)
	return head + "\n" + strings.Join(lines, "\n") + "\n"
}

// goose writes results as messages of the user. A compaction hides what is before it and adds a summary and a note.
func (t *talk) goose() string {
	lines := []string{`{"sessions":{"id":"20260302_1","name":"Pond","working_dir":"/work/pond","created_at":"2026-03-02 14:00:00"}}`}
	last := t.lastCompaction()
	line := func(i int, role string, user bool, content []string, more string) {
		lines = append(lines, fmt.Sprintf(`{"messages":{"message_id":"msg_%d","session_id":"20260302_1","role":"%s","content_json":%s,"created_timestamp":%d,"metadata_json":{"userVisible":%t,"agentVisible":%t%s}}}`,
			len(lines), role, join(content), 1772460000+i/2, user, i >= last, more))
	}
	const used = `,"inference":{"provider":"openai","requestedModel":"gpt-5"},"usage":{"inputTokens":100,"outputTokens":7,"totalTokens":107}`
	for i, o := range t.ops {
		switch o.kind {
		case "user":
			line(i, "user", true, o.blocks(`{"type":"text","text":%s}`, `{"type":"image","data":"`+dot+`","mimeType":"image/png"}`), "")
		case "answer":
			content := append([]string{`{"type":"thinking","thinking":"hm","signature":"s"}`}, o.blocks(`{"type":"text","text":%s}`, "")...)
			for _, c := range o.calls {
				content = append(content, fmt.Sprintf(`{"type":"toolRequest","id":"%s","toolCall":{"status":"success","value":{"name":"%s","arguments":%s}}}`, c.id, c.name, c.args))
			}
			line(i, "assistant", true, content, used)
		case "result":
			line(i, "user", true, []string{fmt.Sprintf(`{"type":"toolResponse","id":"%s","toolResult":{"status":"success","value":{"content":[{"type":"text","text":%s}],"isError":%t}}}`, o.call.id, o.texts[0], o.failed)}, "")
		case "compaction":
			line(i, "user", false, []string{`{"type":"text","text":` + o.texts[0] + `}`}, "")
			line(i, "assistant", false, []string{`{"type":"text","text":"The conversation was compacted."}`}, "")
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// crush writes results as messages of a tool. A column of the session names the last summary.
func (t *talk) crush() string {
	const id = "0f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a"
	summary := ""
	if last := t.lastCompaction(); last >= 0 {
		summary = fmt.Sprintf(`,"summary_message_id":"m%d"`, last)
	}
	lines := []string{`{"sessions":{"id":"` + id + `","title":"Pond","prompt_tokens":9,"completion_tokens":5,"cost":0.5,"created_at":1772460000` + summary + `},"project":"/work/pond"}`}
	line := func(i int, role, reason string, parts []string, more string) {
		at := 1772460000 + i/2
		parts = append(parts, fmt.Sprintf(`{"type":"finish","data":{"reason":"%s","time":%d}}`, reason, at))
		lines = append(lines, fmt.Sprintf(`{"messages":{"id":"m%d","session_id":"%s","role":"%s","parts":%s,"created_at":%d,"updated_at":%d%s}}`, i, id, role, join(parts), at, at, more))
	}
	const model = `,"model":"m1","finished_at":1772460001,"provider":"acme"`
	for i, o := range t.ops {
		switch o.kind {
		case "user":
			line(i, "user", "stop", o.blocks(`{"type":"text","data":{"text":%s}}`, `{"type":"binary","data":{"Path":"dot.png","MIMEType":"image/png","Data":"`+dot+`"}}`), "")
		case "answer":
			parts := append([]string{`{"type":"reasoning","data":{"thinking":"hm","signature":"s"}}`}, o.blocks(`{"type":"text","data":{"text":%s}}`, "")...)
			for _, c := range o.calls {
				parts = append(parts, fmt.Sprintf(`{"type":"tool_call","data":{"id":"%s","name":"%s","input":%q,"provider_executed":false,"finished":true}}`, c.id, c.name, c.args))
			}
			line(i, "assistant", "end_turn", parts, model)
		case "result":
			line(i, "tool", "stop", []string{fmt.Sprintf(`{"type":"tool_result","data":{"tool_call_id":"%s","name":"%s","content":%s,"metadata":"","is_error":%t}}`, o.call.id, o.call.name, o.texts[0], o.failed)}, "")
		case "compaction":
			line(i, "assistant", "end_turn", []string{`{"type":"text","data":{"text":` + o.texts[0] + `}}`}, model+`,"is_summary_message":1`)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}
