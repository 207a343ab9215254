package draft

import (
	"fmt"
	"strings"
)

// CodexProvider is the model provider that headers of the sessions name.
const CodexProvider = "fake"

// codexDraft is a session of Codex in the making.
type codexDraft struct {
	chance
	id        string
	lines     []string
	paginated bool
	ordinal   int
	clock     int64
	made      int
	calls     []codexCall
}

type codexCall struct{ id, kind string }

// Codex makes a session of Codex.
func Codex(seed uint64) Session {
	s := &codexDraft{chance: newChance(seed, 20)}
	s.paginated = s.one(3)
	others := map[string][]byte{}
	base := ""
	if s.one(6) {
		base = s.forebears(others)
	}
	s.id = s.uuid(7)
	s.header(base)
	for range 1 + s.rnd.IntN(2) {
		s.turn()
	}
	for range 1 + s.rnd.IntN(4) {
		s.oddity()
		if !s.one(3) {
			s.turn()
		}
	}
	lines := s.lines
	if s.one(4) {
		lines = s.damage(lines)
	}
	return Session{ID: s.id, Log: s.join(lines), Others: others}
}

// forebears makes a rollout that the session continues, perhaps with one of its own, and returns the member of the header.
func (s *codexDraft) forebears(others map[string][]byte) string {
	s.paginated = true
	base := ""
	for range 1 + s.rnd.IntN(2) {
		b := &codexDraft{chance: s.chance, paginated: true, ordinal: s.ordinal, clock: s.clock}
		b.id = s.uuid(7)
		b.header(base)
		for range 1 + s.rnd.IntN(3) {
			b.turn()
			if s.one(3) {
				b.oddity()
			}
		}
		text := strings.Join(b.lines, "\n") + "\n"
		others["rollout-2026-04-30T09-00-00-"+b.id+".jsonl"] = []byte(text)
		end, bytes := b.ordinal, len(text)
		for range min(s.rnd.IntN(4), len(b.lines)-1) {
			end--
			bytes -= len(b.lines[len(b.lines)-1]) + 1
			b.lines = b.lines[:len(b.lines)-1]
		}
		if s.one(10) { // a wrong offset
			bytes += s.rnd.IntN(400) - 200
		}
		base = fmt.Sprintf(`,"forked_from_id":%q,"history_base":{"thread_id":%q,"end_ordinal_exclusive":%d,"end_byte_offset":%d}`, b.id, b.id, end, bytes)
		s.ordinal, s.clock, s.made = end, b.clock, b.made
	}
	return base
}

func (s *codexDraft) number() int { s.made++; return s.made }

// line writes a line.
func (s *codexDraft) line(kind, payload string) {
	s.clock += 1000
	ordinal := ""
	if s.paginated {
		ordinal = fmt.Sprintf(`"ordinal":%d,`, s.ordinal)
		s.ordinal++
	}
	s.lines = append(s.lines, fmt.Sprintf(`{"timestamp":%q,%s"type":%q,"payload":%s}`, stamp(s.clock), ordinal, kind, payload))
}

func (s *codexDraft) header(more string) {
	mode := ""
	if s.paginated {
		mode = `,"history_mode":"paginated"`
	}
	s.line("session_meta", fmt.Sprintf(`{"id":%q,"timestamp":%q,"cwd":"/home/user/project","originator":"codex_exec","cli_version":"0.166.0"%s%s%s%s}`, s.id, stamp(0),
		s.pick(``, `,"source":"exec"`, `,"source":"cli"`), s.pick(``, `,"model_provider":"`+CodexProvider+`"`), mode, more))
}

func (s *codexDraft) item(payload string)  { s.line("response_item", payload) }
func (s *codexDraft) event(payload string) { s.line("event_msg", payload) }

// turn writes a whole turn, or only its items.
func (s *codexDraft) turn() {
	events := !s.one(5)
	n := s.number()
	if events {
		s.event(fmt.Sprintf(`{"type":"task_started","turn_id":"turn-%d","started_at":1777629600,"model_context_window":258400}`, n))
	}
	if s.one(6) {
		s.surroundings()
	}
	text := s.text(n)
	s.user(text)
	if events {
		s.event(`{"type":"user_message","message":` + quote(text) + `,"images":[],"local_images":[],"text_elements":[]}`)
	}
	if s.one(5) {
		s.line("turn_context", fmt.Sprintf(`{"turn_id":"turn-%d","cwd":"/home/user/project","approval_policy":"never","sandbox_policy":{"type":"read-only"},"model":"gpt-5","summary":"auto"}`, n))
	}
	for range s.rnd.IntN(3) {
		s.call()
	}
	if !s.one(8) {
		s.assistant(s.text(s.number()))
	}
	if events && !s.one(6) {
		s.event(fmt.Sprintf(`{"type":"task_complete","turn_id":"turn-%d","last_agent_message":null}`, n))
	}
}

func (s *codexDraft) user(text string) {
	image := ""
	if s.one(10) {
		image = `,{"type":"input_image","image_url":"data:image/png;base64,` + png + `"}`
	}
	s.item(fmt.Sprintf(`{"type":"message","role":"user","content":[{"type":"input_text","text":%s}%s]%s}`, quote(text), image, s.pick("", "", `,"id":"msg_u"`)))
}

func (s *codexDraft) assistant(text string) {
	if s.one(5) {
		s.item(fmt.Sprintf(`{"type":"reasoning","id":"rs_%d","summary":[{"type":"summary_text","text":"thought"}],"content":null,"encrypted_content":"ZW5j"}`, s.made))
	}
	s.item(fmt.Sprintf(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":%s}]%s}`, quote(text), s.pick("", "", `,"id":"msg_a"`, `,"phase":"final_answer"`)))
}

// surroundings writes the environment that the program describes to the model.
func (s *codexDraft) surroundings() {
	if s.one(2) {
		s.item(`{"type":"message","role":"developer","content":[{"type":"input_text","text":"` + s.pick("<permissions instructions>x", "developer text") + `"}]}`)
	}
	if s.one(2) {
		s.item(`{"type":"message","role":"user","content":[{"type":"input_text","text":"` + s.pick("<environment_context>x</environment_context>", "# AGENTS.md instructions for /p\\n\\n<INSTRUCTIONS>x</INSTRUCTIONS>",
			"<user_instructions>x</user_instructions>", "<turn_aborted>x</turn_aborted>", "<skill>x</skill>", "<user_shell_command>ls</user_shell_command>", "<subagent_notification>x</subagent_notification>",
			"  <environment_context>x</environment_context>", "<ENVIRONMENT_CONTEXT>x", "<model_switch>x</model_switch>", "<environment_context") + `"}]}`)
	}
}

// call writes calls and, mostly, their outputs.
func (s *codexDraft) call() {
	var calls []codexCall
	for range 1 + s.rnd.IntN(2) {
		id := fmt.Sprintf("call_%d", s.number())
		item := s.pick("", "", `,"id":"fc_`+id+`"`)
		switch s.rnd.IntN(8) {
		case 0:
			s.item(fmt.Sprintf(`{"type":"custom_tool_call","call_id":%q,"name":"apply_patch","input":"*** Begin Patch","status":"completed"%s}`, id, item))
			calls = append(calls, codexCall{id, "custom_tool_call_output"})
		case 1:
			s.item(fmt.Sprintf(`{"type":"local_shell_call","call_id":%q,"status":"completed","action":{"type":"exec","command":["ls"]}%s}`, id, item))
			calls = append(calls, codexCall{id, "function_call_output"})
		default:
			s.item(fmt.Sprintf(`{"type":"function_call","name":%q,"arguments":%s,"call_id":%q%s}`, s.pick("shell", "exec_command", "mcp__x"), s.pick(`"{\"command\":[\"ls\"]}"`, `"{}"`, `""`, `"not json"`), id, item))
			calls = append(calls, codexCall{id, "function_call_output"})
		}
	}
	s.calls = append(s.calls, calls...)
	for _, c := range calls {
		if !s.one(10) {
			s.output(c)
		}
	}
}

func (s *codexDraft) output(c codexCall) {
	text := quote(s.text(s.number()))
	s.item(fmt.Sprintf(`{"type":%q,"call_id":%q,"output":%s}`, c.kind, c.id, s.pick(text, text, text, text, `[{"type":"input_text","text":`+text+`}]`, `""`, `[]`,
		`[{"type":"input_text","text":`+text+`},{"type":"input_image","image_url":"data:image/png;base64,`+png+`"}]`)))
}

// oddity writes something unusual.
func (s *codexDraft) oddity() {
	s.step(s.rollBack, s.rollBack, s.rollBack, s.compacted, s.compacted, s.compacted, s.agents, s.stray, s.unknown, s.odd, s.surroundings, s.abort, s.others, s.call)
}

// rollBack abandons turns.
func (s *codexDraft) rollBack() {
	s.event(`{"type":"thread_rolled_back","num_turns":` + s.pick("1", "1", "1", "2", "3", "0", "99", `"1"`, "-1", "null", "1.5") + `}`)
}

// compacted writes a compaction, with or without a history that replaces what came before.
func (s *codexDraft) compacted() {
	if s.one(2) {
		s.event(fmt.Sprintf(`{"type":"task_started","turn_id":"turn-%d","started_at":1777629600,"model_context_window":258400}`, s.number()))
	}
	user := func(text string) string {
		return `{"type":"message","role":"user","content":[{"type":"input_text","text":` + quote(text) + `}]}`
	}
	var list []string
	for range s.rnd.IntN(4) {
		list = append(list, s.pick(user(s.text(s.number())), user("Another language model started to solve this problem and produced a summary"), user("<environment_context>x</environment_context>"),
			`{"type":"message","role":"developer","content":[{"type":"input_text","text":"dev"}]}`, `{"type":"compaction","encrypted_content":"ZW5j"}`,
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"kept answer"}]}`, `{"type":"unheard-of","x":1}`,
			`{"type":"function_call","name":"shell","arguments":"{}","call_id":"call_kept"}`))
	}
	history := `,"replacement_history":[` + strings.Join(list, ",") + `]`
	switch s.rnd.IntN(8) {
	case 0, 1, 2:
		history = s.pick("", "", `,"replacement_history":null`)
	case 3:
		history += `,"replacement_history_metadata":[` + strings.TrimSuffix(strings.Repeat("{},", s.rnd.IntN(4)), ",") + `]`
	case 4:
		history += fmt.Sprintf(`,"window_number":1,"window_id":%q`, s.uuid(7))
	}
	s.line("compacted", `{"message":`+s.pick(`"summary"`, `"summary"`, `""`, `"Another language model started to solve this problem and produced a summary of its thinking process."`)+history+`}`)
}

// agents writes a message of another agent.
func (s *codexDraft) agents() {
	if s.one(2) {
		s.item(`{"type":"agent_message","author":"/root/a","recipient":"/root","content":[{"type":"input_text","text":"item of an agent"}]}`)
		return
	}
	s.line("inter_agent_communication", fmt.Sprintf(`{"author":"/root/a","recipient":"/root","other_recipients":[],"content":%s,"trigger_turn":%s}`, quote(s.text(s.number())), s.pick("true", "false")))
}

// stray writes an output that is late, that is there twice, or that has no call; or a call a second time.
func (s *codexDraft) stray() {
	c := codexCall{"call_none", s.pick("function_call_output", "custom_tool_call_output")}
	if len(s.calls) > 0 && !s.one(4) {
		c = s.calls[s.rnd.IntN(len(s.calls))]
		if s.one(5) {
			c.kind = s.pick("function_call_output", "custom_tool_call_output")
		}
	}
	if s.one(4) {
		s.item(fmt.Sprintf(`{"type":"function_call","name":"shell","arguments":"{}","call_id":%q}`, c.id))
		return
	}
	s.output(c)
}

// abort writes the end of a turn that was interrupted.
func (s *codexDraft) abort() {
	s.user(s.text(s.number()))
	s.event(`{"type":"turn_aborted","turn_id":"x","reason":"interrupted"}`)
	if s.one(2) {
		s.item(`{"type":"message","role":"user","content":[{"type":"input_text","text":"<turn_aborted>\nThe user interrupted\n</turn_aborted>"}]}`)
	}
}

// others writes lines that make no messages.
func (s *codexDraft) others() {
	s.step(func() { s.line("world_state", `{"full":false,"state":{}}`) }, func() { s.line("token_usage_record", `{"usage":{},"response_id":"r"}`) },
		func() { s.event(`{"type":"token_count","info":null,"rate_limits":null}`) }, func() { s.line("security_risk_score", `{"score":0}`) },
		func() { s.event(`{"type":"agent_reasoning","text":"x"}`) }, func() { s.event(`{"type":"thread_settings_applied"}`) },
		func() {
			s.event(`{"type":"item_completed","thread_id":"t","turn_id":"u","item":{"type":"UserMessage","id":"i","content":[]}}`)
		}, func() { s.header("") })
}

// unknown writes lines that no version has.
func (s *codexDraft) unknown() {
	s.step(func() { s.line("unheard-of", `{"x":1}`) }, func() { s.event(`{"type":"unheard-of"}`) }, func() { s.item(`{"type":"unheard-of","x":1}`) },
		func() { s.item(`{"type":"message","role":"user","content":[{"type":"unheard-of","x":1}]}`) },
		func() {
			s.item(`{"type":"message","role":"` + s.pick("system", "tool", "critic", "") + `","content":[{"type":"input_text","text":"odd role"}]}`)
		},
		func() { s.item(`{"type":"ghost_snapshot","ghost_commit":{"id":"x"}}`) }, func() {
			s.item(`{"type":"web_search_call","status":"completed","action":{"type":"search","query":"x"}}`)
		},
		func() { s.item(`{"type":"compaction","encrypted_content":"ZW5j"}`) },
		func() { s.item(`{"type":"image_generation_call","id":"ig_1","status":"completed","result":"eA=="}`) })
}

// odd changes a member of an earlier line, or removes it. The header stays.
func (s *codexDraft) odd() {
	if len(s.lines) < 2 {
		return
	}
	at := 1 + s.rnd.IntN(len(s.lines)-1)
	change := [][2]string{
		{`"timestamp":"`, `"x":"`}, {`"timestamp":"2026`, `"timestamp":"not a time`}, {`"timestamp":"`, `"timestamp":42,"x":"`}, {`"content":[`, `"content":null,"x":[`}, {`"content":[`, `"content":"text","x":[`},
		{`"role":"user",`, ``}, {`"role":"assistant"`, `"role":"user"`}, {`"role":"user"`, `"role":"assistant"`}, {`"type":"input_text"`, `"type":"output_text"`}, {`"type":"output_text"`, `"type":"text"`},
		{`"text":"`, `"text":null,"x":"`}, {`"call_id":"`, `"x":"`}, {`"output":"`, `"output":{"content":"x"},"x":"`}, {`"output":"`, `"output":null,"x":"`}, {`"output":"`, `"output":42,"x":"`},
		{`"arguments":"`, `"arguments":{},"x":"`}, {`"name":"`, `"x":"`}, {`"payload":{`, `"payload":null,"x":{`}, {`"payload":{`, `"payload":[],"x":{`}, {`"payload":{"type"`, `"payload":{"x":1,"type"`},
		{`"summary":[`, `"summary":null,"x":[`}, {`"encrypted_content":"ZW5j"`, `"encrypted_content":null`}, {`"turn_id":"turn-`, `"x":"`}, {`"ordinal":`, `"x":`}, {`"ordinal":`, `"ordinal":9`},
		{`"message":"`, `"message":null,"x":"`}, {`"content":[{`, `"content":[42,{`}, {`"content":[{`, `"content":[],"x":[{`}, {`"type":"input_text","text"`, `"type":"input_text","more":1,"text"`}, {`"author":"`, `"x":"`},
		{`"status":"completed"`, `"status":"odd"`}, {`"input":"`, `"input":{},"x":"`},
	}
	for range 20 {
		c := change[s.rnd.IntN(len(change))]
		if changed := strings.Replace(s.lines[at], c[0], c[1], 1); changed != s.lines[at] {
			s.lines[at] = changed
			return
		}
	}
}
