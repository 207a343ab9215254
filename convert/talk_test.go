package convert_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// talk is a realistic conversation: a tree of turns with prompts, pictures, thinking, calls that run in parallel, fail or have no result,
// compactions and abandoned branches. It can be written in the format of any agent.
type talk struct {
	*rand.Rand
	id  int
	ops []op
}

// op is an entry of a talk.
type op struct {
	kind   string // user, answer, result, compaction
	parent int    // -1 for a root
	texts  []string
	image  bool
	calls  []talkCall
	call   talkCall // of a result
	failed bool
	keep   int // the first entry that a compaction keeps, -1 for none
}

type talkCall struct{ id, name, args string }

// newTalk makes up a conversation. A linear one has no branches.
func newTalk(seed uint64, linear bool) *talk {
	t := &talk{Rand: rand.New(rand.NewPCG(seed, 17))}
	at := -1
	for turn := range 1 + t.IntN(5) {
		if !linear && at >= 0 && t.IntN(4) == 0 {
			at = t.IntN(len(t.ops))
			for t.open(at) { // not between a call and its result
				at--
			}
		}
		begin := len(t.ops)
		at = t.add(op{kind: "user", parent: at, texts: t.texts(1 + t.IntN(2)), image: t.IntN(5) == 0})
		for range t.IntN(3) {
			at = t.step(at)
		}
		if t.IntN(8) > 0 {
			at = t.add(op{kind: "answer", parent: at, texts: t.texts(1)})
		}
		if turn > 0 && t.IntN(5) == 0 {
			keep := -1
			if t.IntN(2) == 0 {
				keep = begin
			}
			at = t.add(op{kind: "compaction", parent: at, texts: t.texts(1), keep: keep})
		}
	}
	return t
}

func (t *talk) add(o op) int {
	t.ops = append(t.ops, o)
	return len(t.ops) - 1
}

// open reports whether an entry is an answer with calls, or a result that is not the last.
func (t *talk) open(at int) bool {
	return at > 0 && (len(t.ops[at].calls) > 0 || t.ops[at].kind == "result" && at+1 < len(t.ops) && t.ops[at+1].kind == "result")
}

// step is an answer with calls and their results.
func (t *talk) step(at int) int {
	o := op{kind: "answer", parent: at, texts: t.texts(t.IntN(2))}
	for range 1 + t.IntN(3) {
		t.id++
		o.calls = append(o.calls, talkCall{fmt.Sprintf("call_%04d", t.id), []string{"bash", "read", "Edit"}[t.IntN(3)], []string{`{}`, `{"path":"é/a.go","n":[1,2.5]}`, `{"cmd":"ls \"x\"\nb"}`}[t.IntN(3)]})
	}
	at = t.add(o)
	calls := o.calls
	if t.IntN(8) == 0 {
		calls = calls[1:] // one call has no result
	}
	if t.IntN(3) == 0 && len(calls) == 2 {
		calls = []talkCall{calls[1], calls[0]}
	}
	for _, c := range calls {
		at = t.add(op{kind: "result", parent: at, call: c, texts: t.texts(1), failed: t.IntN(5) == 0})
	}
	return at
}

// texts returns some texts as JSON strings.
func (t *talk) texts(n int) (list []string) {
	for range n {
		t.id++
		list = append(list, fmt.Sprintf(`"%s %d"`, []string{"plain", `two\nlines`, `é \u2028 \ud83d\ude00 日本`, `quote \" slash \\ / <b>&`, `# title`, `  spaces `}[t.IntN(6)], t.id))
	}
	return list
}

const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// blocks formats the texts and the picture.
func (o op) blocks(text, image string) (list []string) {
	for _, s := range o.texts {
		list = append(list, fmt.Sprintf(text, s))
	}
	if o.image {
		list = append(list, image)
	}
	return list
}

func join(list []string) string { return "[" + strings.Join(list, ",") + "]" }

// stamp returns the time of the nth entry.
func stamp(n int) string { return fmt.Sprintf("2026-03-02T14:%02d:%02d.000Z", n/60, n%60) }

func (t *talk) pi() string {
	id := func(i int) string {
		if i < 0 {
			return "null"
		}
		return fmt.Sprintf(`"e%07x"`, i)
	}
	lines := []string{`{"type":"session","version":3,"id":"019cab00-0000-7000-8000-00000000000a","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/work/pond"}`}
	for i, o := range t.ops {
		var body string
		switch o.kind {
		case "user":
			body = `"message","message":{"role":"user","content":` + join(o.blocks(`{"type":"text","text":%s}`, `{"type":"image","data":"`+dot+`","mimeType":"image/png"}`)) + `,"timestamp":1772460001000}`
		case "answer":
			blocks := append([]string{`{"type":"thinking","thinking":"hm","thinkingSignature":"sig"}`}, o.blocks(`{"type":"text","text":%s}`, "")...)
			stop := "stop"
			for _, c := range o.calls {
				blocks, stop = append(blocks, fmt.Sprintf(`{"type":"toolCall","id":"%s","name":"%s","arguments":%s}`, c.id, c.name, c.args)), "toolUse"
			}
			body = `"message","message":{"role":"assistant","content":` + join(blocks) + `,"api":"acme","provider":"acme","model":"m1","usage":{"input":10,"output":5,"cacheRead":1,"cacheWrite":0,"totalTokens":16,"cost":{"input":0.5,"output":0.25,"cacheRead":0,"cacheWrite":0,"total":0.75}},"stopReason":"` + stop + `","timestamp":1772460002000}`
		case "result":
			body = fmt.Sprintf(`"message","message":{"role":"toolResult","toolCallId":"%s","toolName":"%s","content":%s,"isError":%t,"timestamp":1772460003000}`, o.call.id, o.call.name, join(o.blocks(`{"type":"text","text":%s}`, "")), o.failed)
		case "compaction":
			keep := `"none"`
			if o.keep >= 0 {
				keep = id(o.keep)
			}
			body = `"compaction","summary":` + o.texts[0] + `,"firstKeptEntryId":` + keep + `,"tokensBefore":100`
		}
		lines = append(lines, fmt.Sprintf(`{"type":%s,"id":%s,"parentId":%s,"timestamp":"%s"}`, body, id(i), id(o.parent), stamp(i)))
	}
	return strings.Join(lines, "\n") + "\n"
}

func (t *talk) operator() string {
	lines := []string{`{"type":"session","version":3,"id":"019cab00-0000-7000-8000-00000000000a","timestamp":1772460000.25,"cwd":"/work/pond"}`}
	for i, o := range t.ops {
		parent := ""
		if o.parent >= 0 {
			parent = fmt.Sprintf(`,"parent_id":"e%07x"`, o.parent)
		}
		var body string
		end := fmt.Sprintf(`,"id":"5f0c2a34-0000-4000-8000-%012x","timestamp":17724600%02d.5,"role":"`, i, i%100)
		switch o.kind {
		case "user":
			body = `"message","message":{"contents":` + join(o.blocks(`{"type":"text","content":%s}`, `{"type":"image","images":["`+dot+`"]}`)) + end + `user"}`
		case "answer":
			blocks := append([]string{`{"type":"thinking","content":"hm","signature":"s"}`}, o.blocks(`{"type":"text","content":%s}`, "")...)
			stop := "stop"
			for _, c := range o.calls {
				blocks, stop = append(blocks, fmt.Sprintf(`{"type":"tool_call","id":"%s","name":"%s","args":%s,"metadata":{}}`, c.id, c.name, c.args)), "tool_calls"
			}
			body = `"message","message":{"contents":` + join(blocks) + end + `assistant","stop_reason":"` + stop + `","error":""}`
		case "result":
			body = fmt.Sprintf(`"message","message":{"contents":[{"type":"tool_result","id":"%s","content":%s,"is_error":%t,"metadata":{},"terminate":false}]%stool"}`, o.call.id, o.texts[0], o.failed, end)
		case "compaction":
			keep := "none"
			if o.keep >= 0 {
				keep = fmt.Sprintf("e%07x", o.keep)
			}
			body = `"compaction","summary":` + o.texts[0] + `,"first_kept_entry_id":"` + keep + `","tokens_before":7,"from_hook":false`
		}
		lines = append(lines, fmt.Sprintf(`{"id":"e%07x","timestamp":17724600%02d.25%s,"type":%s}`, i, i%100, parent, body))
	}
	return strings.Join(lines, "\n") + "\n"
}

// resultFor returns the result of a call after an answer.
func (t *talk) resultFor(i int, c talkCall) (op, bool) {
	for _, o := range t.ops[i+1:] {
		if o.kind == "result" && o.call.id == c.id {
			return o, true
		}
	}
	return op{}, false
}

func (t *talk) wave() string {
	lines := []string{`{"type":"metadata","workdir":"/work/pond","createdAt":"2026-03-02T14:00:00.000Z"}`}
	for i, o := range t.ops {
		role, blocks := "user", []string(nil)
		switch o.kind {
		case "user":
			blocks = o.blocks(`{"type":"text","content":%s}`, `{"type":"image","imageUrls":["data:image/png;base64,`+dot+`"]}`)
		case "answer":
			role = "assistant"
			blocks = append([]string{`{"type":"reasoning","content":"hm","stage":"end"}`}, o.blocks(`{"type":"text","content":%s,"stage":"end"}`, "")...)
			for _, c := range o.calls {
				r, ok := t.resultFor(i, c)
				block := fmt.Sprintf(`{"type":"tool","parameters":%q,"id":"%s","name":"%s","stage":"running"}`, c.args, c.id, c.name)
				if ok {
					block = fmt.Sprintf(`{"type":"tool","parameters":%q,"result":%s,"id":"%s","name":"%s","success":%t,"stage":"end"}`, c.args, r.texts[0], c.id, c.name, !r.failed)
				}
				blocks = append(blocks, block)
			}
		case "compaction":
			role, blocks = "assistant", []string{`{"type":"compact","content":` + o.texts[0] + `}`}
		default:
			continue
		}
		lines = append(lines, fmt.Sprintf(`{"timestamp":"%s","id":"msg-%d","role":"%s","blocks":%s}`, stamp(i), i, role, join(blocks)))
	}
	return strings.Join(lines, "\n") + "\n"
}

func (t *talk) state() string {
	lines := []string{`{"schema_version":1,"session_id":"0f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a","updated_at":"2026-03-02T14:00:00.000Z","workspace_root":"/work/pond"}`, `{"role":"system","content":"You dive."}`}
	for _, o := range t.ops {
		switch o.kind {
		case "user":
			lines = append(lines, `{"role":"user","content":`+join(o.blocks(`{"type":"text","text":%s}`, `{"type":"image_url","image_url":{"url":"data:image/png;base64,`+dot+`"}}`))+`}`)
		case "answer":
			var calls []string
			for _, c := range o.calls {
				calls = append(calls, fmt.Sprintf(`{"id":"%s","type":"function","function":{"name":"%s","arguments":%q}}`, c.id, c.name, c.args))
			}
			m := `{"role":"assistant","content":` + join(o.blocks(`{"type":"text","text":%s}`, ""))
			if calls != nil {
				m += `,"tool_calls":` + join(calls)
			}
			lines = append(lines, `{"role":"reasoning","content":"hm"}`, m+`}`)
		case "result":
			m := fmt.Sprintf(`{"role":"tool","tool_call_id":"%s","tool_name":"%s","content":%s`, o.call.id, o.call.name, o.texts[0])
			if o.failed {
				m += `,"is_error":true`
			}
			lines = append(lines, m+`}`)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// claude writes each block of an answer as a line. The parent of each result is its call, and that of what follows is the last result.
func (t *talk) claude() string {
	const id = "0f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a"
	var lines []string
	n := 0
	last := make([]string, len(t.ops)) // the parent of the next entry
	of := map[string]string{}          // the line of each call
	line := func(parent, body string) string {
		uuid := fmt.Sprintf("00000000-0000-4000-8000-%012x", n+1)
		if parent == "" {
			parent = "null"
		} else {
			parent = `"` + parent + `"`
		}
		lines = append(lines, fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,%s,"uuid":"%s","timestamp":"%s","userType":"external","entrypoint":"cli","cwd":"/work/pond","sessionId":"%s","version":"2.1.325","gitBranch":"main"}`, parent, body, uuid, stamp(n), id))
		n++
		return uuid
	}
	if t.IntN(3) == 0 {
		lines = append(lines, `{"type":"mode","mode":"normal","sessionId":"`+id+`"}`)
	}
	for i, o := range t.ops {
		parent := ""
		if o.parent >= 0 {
			parent = last[o.parent]
		}
		switch o.kind {
		case "user":
			if t.IntN(4) == 0 { // none of its text reaches the model
				parent = line(parent, `"type":"attachment","attachment":{"type":"date"}`)
			}
			last[i] = line(parent, `"type":"user","message":{"role":"user","content":`+join(o.blocks(`{"type":"text","text":%s}`, `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`+dot+`"}}`))+`}`)
		case "answer":
			blocks := append([]string{`{"type":"thinking","thinking":"hm","signature":"sig"}`}, o.blocks(`{"type":"text","text":%s}`, "")...)
			for _, c := range o.calls {
				blocks = append(blocks, fmt.Sprintf(`{"type":"tool_use","id":"%s","name":"%s","input":%s}`, c.id, c.name, c.args))
			}
			for k, b := range blocks {
				parent = line(parent, fmt.Sprintf(`"message":{"id":"msg_%d","type":"message","role":"assistant","model":"claude-opus-4-6","content":[%s],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":5}},"requestId":"req_%d","type":"assistant"`, i, b, i))
				if c := k - (len(blocks) - len(o.calls)); c >= 0 {
					of[o.calls[c].id] = parent
				}
			}
			last[i] = parent
		case "result":
			last[i] = line(of[o.call.id], fmt.Sprintf(`"type":"user","message":{"role":"user","content":[{"tool_use_id":"%s","type":"tool_result","content":%s,"is_error":%t}]},"toolUseResult":{"stdout":"x"}`, o.call.id, o.texts[0], o.failed))
		case "compaction":
			b := line("", fmt.Sprintf(`"logicalParentUuid":"%s","type":"system","subtype":"compact_boundary","content":"Conversation compacted","compactMetadata":{"trigger":"manual","preTokens":100}`, parent))
			last[i] = line(b, `"type":"user","message":{"role":"user","content":`+o.texts[0]+`},"isCompactSummary":true,"isVisibleInTranscriptOnly":true`)
		}
		if t.IntN(6) == 0 {
			lines = append(lines, fmt.Sprintf(`{"type":"last-prompt","lastPrompt":"x","leafUuid":"%s","sessionId":"%s"}`, last[i], id))
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// codex writes each block as an item between events, and may roll back the last turn.
func (t *talk) codex() string {
	var lines []string
	line := func(typ, payload string) {
		lines = append(lines, fmt.Sprintf(`{"timestamp":"%s","type":"%s","payload":%s}`, stamp(len(lines)), typ, payload))
	}
	line("session_meta", `{"id":"019cab00-0000-7000-8000-00000000000a","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/work/pond","originator":"codex_cli_rs","cli_version":"0.166.0","source":"cli"}`)
	text := func(role, kind, s string) string {
		return `{"type":"message","role":"` + role + `","content":[{"type":"` + kind + `","text":` + s + `}]}`
	}
	line("response_item", text("developer", "input_text", `"<permissions instructions>x"`))
	var users []string
	for i, o := range t.ops {
		switch o.kind {
		case "user":
			line("event_msg", fmt.Sprintf(`{"type":"task_started","turn_id":"t%d"}`, i))
			if t.IntN(3) == 0 {
				line("response_item", text("user", "input_text", `"<environment_context>x"`))
			}
			line("response_item", `{"type":"message","role":"user","content":`+join(o.blocks(`{"type":"input_text","text":%s}`, `{"type":"input_image","image_url":"data:image/png;base64,`+dot+`"}`))+`}`)
			line("event_msg", `{"type":"user_message","message":`+o.texts[0]+`,"images":[],"local_images":[],"text_elements":[]}`)
			line("turn_context", fmt.Sprintf(`{"turn_id":"t%d","cwd":"/work/pond","approval_policy":"never","sandbox_policy":{"type":"read-only"},"model":"gpt-5.1","summary":"auto"}`, i))
			users = append(users, text("user", "input_text", o.texts[0]))
		case "answer":
			line("response_item", `{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"gAAA"}`)
			for _, s := range o.texts {
				line("response_item", text("assistant", "output_text", s))
			}
			for _, c := range o.calls {
				line("response_item", fmt.Sprintf(`{"type":"function_call","name":"%s","arguments":%q,"call_id":"%s"}`, c.name, c.args, c.id))
			}
		case "result":
			line("response_item", fmt.Sprintf(`{"type":"function_call_output","call_id":"%s","output":%s}`, o.call.id, o.texts[0]))
		case "compaction":
			history := append([]string{}, users...)
			history = append(history, text("user", "input_text", o.texts[0]))
			line("compacted", `{"message":`+o.texts[0]+`,"replacement_history":`+join(history)+`}`)
		}
		if o.kind != "answer" || len(o.calls) > 0 {
			continue
		}
		line("event_msg", fmt.Sprintf(`{"type":"task_complete","turn_id":"t%d","last_agent_message":"x"}`, i))
		if t.IntN(5) == 0 {
			line("event_msg", `{"type":"thread_rolled_back","num_turns":1}`)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// gemini writes an answer with its tokens and again with its calls, and the results with their calls or in a message of their own. It may
// take back the last turn.
func (t *talk) gemini() string {
	lines := []string{`{"sessionId":"0f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a","projectHash":"95e2f8a7","startTime":"2026-03-02T14:00:00.000Z","lastUpdated":"2026-03-02T14:00:00.000Z","kind":"main"}`}
	line := func(id, typ, content, more string) {
		lines = append(lines, fmt.Sprintf(`{"id":"%s","timestamp":"%s","type":"%s","content":%s%s}`, id, stamp(len(lines)), typ, content, more))
		lines = append(lines, fmt.Sprintf(`{"$set":{"lastUpdated":"%s"}}`, stamp(len(lines))))
	}
	if t.IntN(2) == 0 {
		lines = append(lines, fmt.Sprintf(`{"$set":{"messages":[{"id":"start","timestamp":"%s","type":"user","content":[{"text":"<session_context>x</session_context>"}]}]}}`, stamp(1)))
	}
	prompt := ""
	for i, o := range t.ops {
		id := fmt.Sprintf("e%d", i)
		switch o.kind {
		case "user":
			prompt = id
			line(id, "user", join(o.blocks(`{"text":%s}`, `{"inlineData":{"mimeType":"image/png","data":"`+dot+`"}}`)), "")
		case "answer":
			content := join(o.blocks(`{"text":%s}`, ""))
			const more = `,"thoughts":[{"subject":"hm","description":"so"}],"tokens":{"input":3,"output":5,"cached":0,"thoughts":0,"tool":0,"total":8},"model":"gemini-2.5-pro"`
			line(id, "gemini", content, more)
			var calls []string
			for _, c := range o.calls {
				call := fmt.Sprintf(`{"id":"%s","name":"%s","args":%s,"status":"success"`, c.id, c.name, c.args)
				// The program sends consecutive answers as one, and no other agent has texts after calls.
				open := i+1 < len(t.ops) && t.ops[i+1].kind == "answer"
				for _, r := range t.ops[i+1:] {
					if r.kind != "result" || r.call.id != c.id {
						continue
					}
					if open = false; i%2 == 0 { // results of odd answers have messages of their own
						call += `,"result":[` + geminiResult(r) + `]`
					}
				}
				if !open {
					calls = append(calls, call+`}`)
				}
			}
			if calls != nil {
				line(id, "gemini", content, more+`,"toolCalls":`+join(calls))
			}
			if i+1 < len(t.ops) && t.ops[i+1].kind == "user" && t.IntN(5) == 0 {
				lines = append(lines, `{"$rewindTo":"`+prompt+`"}`)
			}
		case "result":
			for k := i; k >= 0; k-- {
				if a := t.ops[k]; a.kind == "answer" && len(a.calls) > 0 {
					if k%2 == 1 {
						line(id, "user", `[`+geminiResult(o)+`]`, "")
					}
					break
				}
			}
		case "compaction":
			lines = append(lines, fmt.Sprintf(`{"$set":{"messages":[{"id":"%s","timestamp":"%s","type":"user","content":[{"text":%s}]}]}}`, id, stamp(len(lines)), o.texts[0]))
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// qwen writes a line of telemetry before each answer, each result as a line, and names the session now and then.
func (t *talk) qwen() string {
	const id = "0f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a"
	var lines []string
	last := make([]string, len(t.ops)) // the parent of the next entry
	line := func(parent, typ, more string) string {
		uuid := fmt.Sprintf("00000000-0000-4000-8000-%012x", len(lines)+1)
		if parent == "" {
			parent = "null"
		} else {
			parent = `"` + parent + `"`
		}
		lines = append(lines, fmt.Sprintf(`{"uuid":"%s","parentUuid":%s,"sessionId":"%s","timestamp":"%s","type":"%s","cwd":"/work/pond","version":"0.24.4",%s}`, uuid, parent, id, stamp(len(lines)), typ, more))
		return uuid
	}
	for i, o := range t.ops {
		parent := ""
		if o.parent >= 0 {
			parent = last[o.parent]
		}
		switch o.kind {
		case "user":
			last[i] = line(parent, "user", `"provenance":"real_user","message":{"role":"user","parts":`+join(o.blocks(`{"text":%s}`, `{"inlineData":{"mimeType":"image/png","data":"`+dot+`"}}`))+`}`)
		case "answer":
			parent = line(parent, "system", `"subtype":"ui_telemetry","systemPayload":{"uiEvent":{"event.name":"x"}}`)
			parts := append([]string{`{"text":"hm","thought":true}`}, o.blocks(`{"text":%s}`, "")...)
			for _, c := range o.calls {
				parts = append(parts, fmt.Sprintf(`{"functionCall":{"id":"%s","name":"%s","args":%s}}`, c.id, c.name, c.args))
			}
			last[i] = line(parent, "assistant", `"message":{"role":"model","parts":`+join(parts)+`},"model":"qwen3-coder-plus","usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":5,"totalTokenCount":8}`)
		case "result":
			last[i] = line(parent, "tool_result", `"message":{"role":"user","parts":[`+geminiResult(o)+`]},"toolCallResult":{"callId":"x"}`)
		case "compaction":
			last[i] = line(parent, "system", `"subtype":"chat_compression","systemPayload":{"info":{"originalTokenCount":9},"compressedHistory":[{"role":"user","parts":[{"text":`+o.texts[0]+`}]}]}`)
		}
		if t.IntN(6) == 0 {
			line(last[i], "system", `"subtype":"custom_title","systemPayload":{"customTitle":"Pond"}`)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

func geminiResult(o op) string {
	member := "output"
	if o.failed {
		member = "error"
	}
	return fmt.Sprintf(`{"functionResponse":{"id":"%s","name":"%s","response":{"%s":%s}}}`, o.call.id, o.call.name, member, o.texts[0])
}

func (t *talk) copilot() string {
	lines := []string{`{"type":"session.start","data":{"sessionId":"0f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a","version":1,"producer":"copilot-agent","copilotVersion":"1.0.102","startTime":"2026-03-02T14:00:00.000Z","context":{"cwd":"/work/pond"}},"id":"00000000-0000-4000-8000-000000000000","timestamp":"2026-03-02T14:00:00.000Z","parentId":null}`}
	event := func(typ, data, more string) {
		n := len(lines)
		lines = append(lines, fmt.Sprintf(`{"type":"%s","data":{%s},"id":"00000000-0000-4000-8000-%012x","timestamp":"%s","parentId":"00000000-0000-4000-8000-%012x"%s}`, typ, data, n, stamp(n), n-1, more))
	}
	for i, o := range t.ops {
		switch o.kind {
		case "user":
			data := `"content":` + o.texts[0]
			if len(o.texts) > 1 {
				data += `,"transformedContent":` + o.texts[1]
			}
			if o.image {
				data += `,"attachments":[{"type":"blob","data":"` + dot + `","mimeType":"image/png"}]`
			}
			event("user.message", data, "")
		case "answer":
			event("session.usage_record", fmt.Sprintf(`"usage":{"model":"gpt-5","inputTokens":9,"outputTokens":5,"cacheReadTokens":2,"cacheWriteTokens":0,"apiCallId":"api-%d"}`, i), "")
			var calls []string
			for _, c := range o.calls {
				calls = append(calls, fmt.Sprintf(`{"toolCallId":"%s","name":"%s","arguments":%s,"type":"function"}`, c.id, c.name, c.args))
			}
			text := `""`
			if len(o.texts) > 0 {
				text = o.texts[0]
			}
			event("assistant.message", fmt.Sprintf(`"messageId":"m%d","model":"gpt-5","content":%s,"toolRequests":%s,"reasoningText":"hm"`, i, text, join(calls)), "")
			for _, c := range o.calls {
				if t.IntN(4) == 0 {
					event("subagent.started", `"toolCallId":"`+c.id+`","agentName":"explore","agentDisplayName":"Explore","agentDescription":"looks"`, `,"agentId":"`+c.id+`"`)
					event("user.message", `"content":"a task","source":"agent-x"`, `,"agentId":"`+c.id+`"`)
				}
			}
		case "result":
			result := fmt.Sprintf(`"toolCallId":"%s","success":true,"result":{"content":%s}`, o.call.id, o.texts[0])
			if o.failed {
				result = fmt.Sprintf(`"toolCallId":"%s","success":false,"error":{"message":%s,"code":"failure"}`, o.call.id, o.texts[0])
			}
			event("tool.execution_complete", result, "")
		case "compaction":
			event("session.compaction_complete", `"success":true,"summaryContent":`+o.texts[0], "")
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// talkOf makes up a conversation in the format of an agent.
func talkOf(agent string, seed uint64) string {
	return newTalk(seed, !slices.Contains(branching, agent)).write(agent)
}

// write returns the conversation in the format of an agent.
func (t *talk) write(agent string) string {
	switch agent {
	case "operator":
		return t.operator()
	case "wave":
		return t.wave()
	case "codelia-state":
		return t.state()
	case "claude":
		return t.claude()
	case "codex":
		return t.codex()
	case "gemini":
		return t.gemini()
	case "qwen":
		return t.qwen()
	case "copilot":
		return t.copilot()
	case "opencode":
		return t.openCode()
	case "goose":
		return t.goose()
	case "crush":
		return t.crush()
	}
	return t.pi()
}
