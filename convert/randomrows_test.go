package convert_test

import (
	"fmt"
	"strings"
)

// log makes up a session of an agent: with everything that its format allows if there are dice for it, otherwise a conversation.
func (r *dice) log(agent string) string {
	switch agent {
	case "pi", "omp":
		return r.pi()
	case "operator":
		return r.operator()
	case "wave":
		return r.wave()
	case "codelia-state":
		return r.state()
	case "opencode":
		return r.openCode()
	case "goose":
		return r.goose()
	case "crush":
		return r.crush()
	}
	return talkOf(agent, r.Uint64())
}

// list returns some elements that a function makes.
func (r *dice) list(most int, element func() string) string {
	var list []string
	for range r.IntN(most + 1) {
		list = append(list, element())
	}
	return "[" + strings.Join(list, ",") + "]"
}

// openCode makes up a log of OpenCode: messages in any order, parts of all kinds, a revert anywhere.
func (r *dice) openCode() string {
	const id = "ses_e1ff00000001ffeFixture0001xx"
	var lines []string
	for i := range 1 + r.IntN(10) {
		m := fmt.Sprintf("msg_1df0%08xFixtur00001abc", i+1)
		k := 0
		parts := r.list(4, func() string {
			k++
			return fmt.Sprintf(`{"id":"prt_%s%05dabcdefghi","message_id":"%s","session_id":"%s","time_created":1,"time_updated":2%s,"data":%s}`, m[4:16], k, m, id, r.unknown(), r.openCodePart())
		})
		at := 1772460000000 + 1000*i
		info := fmt.Sprintf(`"role":"%s","time":{"created":%d}`, r.one("user", "user", "assistant", "assistant", "odd"), at) +
			r.maybe(`,"model":{"providerID":"acme","modelID":"m1"}`) + r.maybe(`,"modelID":"m1","providerID":"acme","cost":0.5,"tokens":{"input":10,"output":4,"reasoning":3,"cache":{"read":40,"write":1}}`) +
			r.maybe(`,"parentID":"`+r.some()+`"`) + r.maybe(`,"finish":"stop"`) + r.maybe(`,"summary":true`) + r.one("", "", "", `,"error":{"name":"MessageAbortedError","data":{"message":"stopped"}}`, `,"error":{"name":"APIError","data":{}}`)
		lines = append(lines, fmt.Sprintf(`{"message":{"id":"%s","session_id":"%s","time_created":%d,"time_updated":%d%s,"data":{%s%s}},"part":%s}`, m, id, at, at, r.unknown(), info, r.unknown(), parts))
		r.ids = append(r.ids, m)
	}
	head := fmt.Sprintf(`{"session":{"id":"%s","slug":"fix-1","directory":"/work/pond","title":"a title","version":"1.18.33"%s%s,"time_created":1772460000000}}`,
		id, r.maybe(`,"metadata":{"x":`+r.value()+`}`), r.one("", "", "", `,"revert":{"messageID":"`+r.some()+`"}`))
	return head + "\n" + strings.Join(lines, "\n") + "\n"
}

func (r *dice) openCodePart() string {
	state := func() string {
		return r.one(`{"status":"pending","input":{},"raw":""}`, `{"status":"running","input":{"a":`+r.value()+`},"time":{"start":1}}`,
			`{"status":"completed","input":{},"output":`+r.text()+`,"title":"x","metadata":{},"time":{"start":1,"end":2`+r.maybe(`,"compacted":3`)+`}}`,
			`{"status":"error","input":{},"error":`+r.text()+`,"time":{"start":1,"end":2}}`)
	}
	return r.one(
		`{"type":"text","text":`+r.text()+r.maybe(`,"synthetic":true`)+r.maybe(`,"ignored":true`)+r.unknown()+`}`, `{"type":"reasoning","text":`+r.text()+`,"time":{"start":1}}`,
		`{"type":"tool","callID":"`+r.call()+`","tool":"bash","state":`+state()+`}`, `{"type":"file","mime":"image/png","url":"data:image/png;base64,AAAA"}`,
		`{"type":"file","mime":"text/plain","url":"file:///a.txt","filename":"a.txt"}`, `{"type":"step-start"}`, `{"type":"patch","hash":"x","files":[]}`,
		`{"type":"compaction","auto":true`+r.maybe(`,"tail_start_id":"`+r.some()+`"`)+`}`, `{"type":"subtask","prompt":"p","description":"d","agent":"a"}`, `{"type":"novel","x":`+r.value()+`}`)
}

// goose makes up a log of Goose: contents of all kinds on both sides, flags of all values.
func (r *dice) goose() string {
	lines := []string{`{"sessions":{"id":"20260302_1"` + r.maybe(`,"name":"Pond","user_set_name":1`) + `,"working_dir":"/work/pond","created_at":"2026-03-02 14:00:00"` + r.maybe(`,"extension_data":{"x.v0":`+r.value()+`}`) + r.unknown() + `}}`}
	for i := range 1 + r.IntN(10) {
		metadata := ""
		if r.IntN(4) > 0 {
			metadata = `,"metadata_json":{"userVisible":` + r.one("true", "true", "false") + r.one("", `,"agentVisible":true`, `,"agentVisible":true`, `,"agentVisible":false`) +
				r.maybe(`,"inference":{"provider":"openai","requestedModel":"`+r.one("gpt-5", "m1")+`"}`) + r.maybe(`,"usage":{"inputTokens":9,"outputTokens":1}`) + r.unknown() + `}`
		}
		lines = append(lines, fmt.Sprintf(`{"messages":{"message_id":"%s","session_id":"20260302_1","role":"%s","content_json":%s,"created_timestamp":%d%s%s}}`,
			r.one(fmt.Sprintf("m%d", i), "chatcmpl-1"), r.one("user", "user", "assistant", "assistant", "tool"), r.list(4, r.gooseContent), 1772460000+i/2, metadata, r.unknown()))
	}
	return strings.Join(lines, "\n") + "\n"
}

func (r *dice) gooseContent() string {
	result := func() string {
		return r.one(`{"status":"error","error":`+r.text()+`}`,
			`{"status":"success","value":{"content":[{"type":"text","text":`+r.text()+`}`+r.maybe(`,{"type":"image","data":"AAAA","mimeType":"image/png"}`)+`],"isError":`+r.one("true", "false")+`}}`,
			`{"status":"success","value":[{"type":"text","text":`+r.text()+`}]}`)
	}
	kind := r.one(
		`{"type":"text","text":`+r.text()+r.maybe(`,"annotations":{"audience":["user"]}`)+r.unknown()+`}`, `{"type":"image","data":"AAAA","mimeType":"image/png"}`,
		`{"type":"thinking","thinking":`+r.text()+`,"signature":"s"}`, `{"type":"redactedThinking","data":"AAAA"}`, `{"type":"systemNotification","notificationType":"inlineMessage","msg":"x"}`,
		`{"type":"toolRequest","id":"`+r.call()+`","toolCall":{"status":"success","value":{"name":"shell","arguments":{"a":`+r.value()+`}}}}`,
		`{"type":"toolRequest","id":"`+r.call()+`","toolCall":{"status":"error","error":"no JSON"}}`,
		`{"type":"toolResponse","id":"`+r.called()+`","toolResult":`+result()+`}`, `{"type":"toolResponse","id":"`+r.called()+`","toolResult":`+result()+`}`)
	if r.IntN(60) == 0 && !r.whole {
		return `{"type":"novel","x":` + r.value() + `}` // the program refuses the session
	}
	return kind
}

// crush makes up a log of Crush: parts of all kinds, a summary anywhere.
func (r *dice) crush() string {
	const id = "0f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a"
	var lines []string
	for i := range 1 + r.IntN(10) {
		at := 1772460000 + i/2
		lines = append(lines, fmt.Sprintf(`{"messages":{"id":"m%d","session_id":"%s","role":"%s","parts":%s%s,"created_at":%d,"updated_at":%d%s%s}}`,
			i, id, r.one("user", "user", "assistant", "assistant", "tool", "tool", "system"), r.list(4, r.crushPart), r.maybe(`,"model":"m1"`), at, at, r.maybe(`,"provider":"acme"`), r.unknown()))
		r.ids = append(r.ids, fmt.Sprintf("m%d", i))
	}
	head := `{"sessions":{"id":"` + id + `","title":"` + r.one("Pond", "Untitled Session") + `"` + r.maybe(`,"cost":0.5`) + `,"created_at":1772460000` + r.maybe(`,"summary_message_id":"`+r.some()+`"`) + r.maybe(`,"todos":[]`) + `},"project":"/work/pond"` + r.unknown() + `}`
	return head + "\n" + strings.Join(lines, "\n") + "\n"
}

func (r *dice) crushPart() string {
	return r.one(
		`{"type":"text","data":{"text":`+r.text()+r.unknown()+`}}`, `{"type":"reasoning","data":{"thinking":`+r.text()+`,"signature":"s"}}`,
		`{"type":"tool_call","data":{"id":"`+r.call()+`","name":"bash","input":`+r.one(`"{\"a\":1}"`, `"{bad"`, `""`)+`,"finished":true}}`,
		`{"type":"tool_result","data":{"tool_call_id":"`+r.called()+`","name":"bash","content":`+r.text()+r.maybe(`,"data":"AAAA","mime_type":"image/png"`)+`,"is_error":`+r.one("true", "false")+`}}`,
		`{"type":"binary","data":{"Path":"a","MIMEType":"`+r.one("image/png", "text/plain", "application/pdf")+`","Data":"AAAA"}}`, `{"type":"image_url","data":{"url":"https://x.test/a.png"}}`,
		`{"type":"shell_command","data":{"command":"ls","output":"a","exit_code":0}}`, `{"type":"finish","data":{"reason":"`+r.one("end_turn", "canceled", "error")+`","time":1772460000`+r.maybe(`,"message":"x"`)+`}}`)
}
