package draft

import (
	"fmt"
	"slices"
	"strings"
)

// odd changes a member of an earlier line, or removes it.
func (s *claudeDraft) odd() {
	at := s.rnd.IntN(len(s.lines))
	change := [][2]string{
		{`"isSidechain":false,`, ``}, {`"isSidechain":false`, `"isSidechain":null`}, {`"isSidechain":false`, `"isSidechain":"true"`}, {`"isSidechain":false`, `"isSidechain":1`},
		{`"role":"user"`, `"role":"assistant"`}, {`"role":"assistant"`, `"role":"user"`}, {`"role":"user",`, ``}, {`"role":"assistant",`, ``},
		{`"type":"user"`, `"type":"assistant"`}, {`"type":"assistant"`, `"type":"user"`}, {`"userType":"external",`, ``}, {`"parentUuid":null,`, ``},
		{`"parentUuid":null`, `"parentUuid":""`}, {`"message":{`, `"message":null,"x":{`}, {`"message":{`, `"message":"text","x":{`}, {`"message":{`, `"message":[],"x":{`},
		{`"uuid":"`, `"x":"`}, {`"uuid":"`, `"uuid":42,"x":"`}, {`"timestamp":"2026`, `"timestamp":"not a time`}, {`"timestamp":"`, `"x":"`}, {`"timestamp":"`, `"timestamp":1777629600000,"x":"`},
		{`.000Z"}`, `Z"}`}, {`.000Z"}`, `.000+02:00"}`}, {`"id":"msg_`, `"x":"msg_`}, {`"sessionId":"`, `"x":"`}, {`"stop_reason":"tool_use"`, `"stop_reason":null`},
		{`"tool_use_id":"toolu_`, `"tool_use_id":"`}, {`"content":"`, `"content":null,"x":"`}, {`"content":[{`, `"content":{},"x":[{`}, {`"type":"tool_use"`, `"type":"server_tool_use"`},
		{`"input":{"command":"ls"`, `"input":"ls","x":{"command":"ls"`}, {`"cwd":"/home/user/project",`, ``}, {`"isMeta":false`, `"isMeta":true`},
		{`"name":"Read"`, `"name":"Task"`}, {`"name":"Bash"`, `"name":"Task"`},
	}
	for range 20 {
		c := change[s.rnd.IntN(len(change))]
		if changed := strings.Replace(s.lines[at], c[0], c[1], 1); changed != s.lines[at] {
			s.lines[at] = changed
			return
		}
	}
}

// content writes a message with an unusual content.
func (s *claudeDraft) content() {
	if s.one(2) {
		s.entry("user", `"message":{"role":"user","content":`+s.pick(`""`, `" \n"`, `[]`, `[{"type":"text","text":""}]`, `[{"type":"text","text":"  "}]`, `null`, `{}`, `42`, `["text"]`, `[null]`,
			`[{"type":"unheard-of","x":1}]`, `[{"type":"text"}]`, `[{"type":"image","source":{"type":"url","url":"http://x/y.png"}}]`,
			`[{"type":"text","text":"<system-reminder>\nreminder\n</system-reminder>"},{"type":"text","text":"beside a reminder"}]`,
			`[{"type":"text","text":"[Request interrupted by user]"}]`, `"<command-name>/clear</command-name>"`, `"<local-command-stdout></local-command-stdout>"`)+`}`+s.pick("", "", `,"isMeta":true`))
		return
	}
	blocks := s.pick(``, `{"type":"text","text":""}`, `{"type":"text","text":" \n"}`, `{"type":"thinking","thinking":"alone","signature":"c2ln"}`, `{"type":"thinking","thinking":"unsigned"}`,
		`{"type":"redacted_thinking","data":"eHh4"}`, `{"type":"unheard-of","x":1}`, `{"type":"text","text":"a"},{"type":"text","text":"b"}`, `{"type":"text","text":"cited","citations":[]}`,
		`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]},{"type":"text","text":"found"}`,
		`{"type":"text","text":""},{"type":"text","text":"behind an empty one"}`, `{"type":"thinking","thinking":"t","signature":"c2ln"},{"type":"text","text":" "}`)
	s.piece(s.newAnswer(), blocks)
	if s.one(5) { // a content that is a text
		s.entry("assistant", `"message":{"id":"`+s.newAnswer()+`","role":"assistant","content":"a bare text"}`)
	}
}

// compact writes a compaction, with or without messages that are kept.
func (s *claudeDraft) compact() {
	from := s.leaf
	boundary, summary := fmt.Sprintf("%08x-0000-4000-8000-%012x", s.made+1, s.made+1), fmt.Sprintf("%08x-0000-4000-8000-%012x", s.made+2, s.made+2)
	kept, anchor := "", s.pick(summary, summary, summary, boundary, "deadbeef-0000-4000-8000-000000000002")
	if from >= 0 {
		head := max(0, from-s.rnd.IntN(4))
		var ids []string
		for i := head; i <= from; i++ {
			ids = append(ids, quote(s.entries[i].id))
		}
		if s.one(5) {
			ids[s.rnd.IntN(len(ids))] = `"deadbeef-0000-4000-8000-000000000003"`
		}
		if s.one(5) {
			slices.Reverse(ids)
		}
		segment := fmt.Sprintf(`,"preservedSegment":{"headUuid":%s,"anchorUuid":%q,"tailUuid":%s}`, ids[0], anchor, ids[len(ids)-1])
		list := fmt.Sprintf(`,"preservedMessages":{"anchorUuid":%q,"uuids":[%s],"allUuids":[%s]}`, anchor, strings.Join(ids, ","), strings.Join(ids, ","))
		kept = s.pick("", "", segment, segment, list, segment+list)
	}
	parent := "null"
	if s.one(6) && from >= 0 {
		parent = quote(s.entries[from].id)
	}
	s.hang(parent, "system", `"subtype":"compact_boundary","content":"Conversation compacted","isMeta":false,"level":"info","compactMetadata":{"trigger":"`+s.pick("auto", "manual")+`","preTokens":1000`+kept+`}`)
	if s.one(10) {
		return
	}
	s.entry("user", `"message":{"role":"user","content":"This session is being continued. SUMMARY"},"isVisibleInTranscriptOnly":true,"isCompactSummary":true`)
	if s.one(3) {
		s.turn()
		s.step(func() { s.leaf = s.some() }, s.lastPrompt, s.rewind)
	}
}

// clockwork sets the clock back or far ahead.
func (s *claudeDraft) clockwork() {
	s.clock += []int64{-3000, -60_000, 3_600_000, -1}[s.rnd.IntN(4)]
	s.turn()
}
