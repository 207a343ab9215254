package draft

import (
	"fmt"
	"strings"
)

// claudeDraft is a session of Claude Code in the making.
type claudeDraft struct {
	chance
	id      string
	lines   []string
	entries []claudeEntry
	leaf    int // position of the next entry's parent, or -1
	clock   int64
	made    int // numbers of texts, answers and calls
}

// claudeEntry is what later lines may refer to.
type claudeEntry struct {
	id    string
	calls []string // calls without a result so far
}

// Claude makes a session of Claude Code.
func Claude(seed uint64) Session {
	s := &claudeDraft{chance: newChance(seed, 10), leaf: -1}
	s.id = s.uuid(4)
	if s.one(8) {
		s.meta()
	}
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
	if s.one(3) {
		lines = s.damage(lines)
	}
	return Session{ID: s.id, Log: s.join(lines)}
}

func (s *claudeDraft) number() int { s.made++; return s.made }

// tick advances the clock. Most lines are a second apart; a bridge over a missing parent spans five.
func (s *claudeDraft) tick() {
	steps := []int64{1000, 1000, 1000, 1000, 1000, 1000, 0, 7, 4999, 5000, 5001, 90_000}
	s.clock += steps[s.rnd.IntN(len(steps))]
}

// entry writes a line of the tree behind the leaf and moves the leaf to it.
func (s *claudeDraft) entry(kind, members string, calls ...string) string {
	parent := "null"
	if s.leaf >= 0 {
		parent = quote(s.entries[s.leaf].id)
	}
	return s.hang(parent, kind, members, calls...)
}

// hang writes a line of the tree; parent is JSON.
func (s *claudeDraft) hang(parent, kind, members string, calls ...string) string {
	s.tick()
	id := fmt.Sprintf("%08x-0000-4000-8000-%012x", s.number(), s.made)
	version := s.pick("2.1.325", "2.1.100", "1.0.44")
	s.lines = append(s.lines, fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"userType":"external","cwd":"/home/user/project","sessionId":%q,"version":%q,"gitBranch":"main","type":%q,%s,"uuid":%q,"timestamp":%q}`,
		parent, s.id, version, kind, members, id, stamp(s.clock)))
	s.entries = append(s.entries, claudeEntry{id, calls})
	s.leaf = len(s.entries) - 1
	return id
}

// some returns the position of a random entry.
func (s *claudeDraft) some() int { return s.rnd.IntN(len(s.entries)) }

// turn writes a prompt and what follows it.
func (s *claudeDraft) turn() {
	s.prompt()
	for range s.rnd.IntN(3) {
		s.calls()
	}
	if !s.one(8) {
		s.answer(s.text(s.number()))
	}
}

// prompt writes what the user typed.
func (s *claudeDraft) prompt() {
	text := quote(s.text(s.number()))
	image := `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + png + `"}}`
	content := s.pick(text, text, text, text, `[{"type":"text","text":`+text+`}]`, `[`+image+`,{"type":"text","text":`+text+`}]`,
		`[{"type":"text","text":`+text+`},{"type":"text","text":"more"}]`,
		`[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}},{"type":"text","text":`+text+`}]`)
	s.entry("user", `"message":{"role":"user","content":`+content+`}`+s.pick("", "", "", `,"permissionMode":"default"`, `,"promptId":"p"`, `,"isMeta":true`))
}

// piece writes a line of an answer.
func (s *claudeDraft) piece(answer, block string, calls ...string) string {
	stop := "end_turn"
	if len(calls) > 0 {
		stop = "tool_use"
	}
	return s.entry("assistant", fmt.Sprintf(`"message":{"model":"claude-opus-4-6","id":%q,"type":"message","role":"assistant","content":[%s],"stop_reason":%q,"stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":5}},"requestId":"req_%s"`,
		answer, block, stop, answer), calls...)
}

func (s *claudeDraft) newAnswer() string { return fmt.Sprintf("msg_%04d", s.number()) }

func (s *claudeDraft) answer(text string) {
	id := s.newAnswer()
	if s.one(5) {
		s.piece(id, `{"type":"thinking","thinking":`+quote("thought "+text)+`,"signature":"c2ln"}`)
	}
	s.piece(id, `{"type":"text","text":`+quote(text)+`}`)
}

// use returns a block with a call.
func (s *claudeDraft) use(call string) string {
	name := s.pick("Bash", "Bash", "Read", "mcp__x__y", "Grep")
	return fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":{"command":"ls","n":%d}}`, call, name, s.made)
}

func (s *claudeDraft) newCall() string { return fmt.Sprintf("toolu_%04d", s.number()) }

// calls writes an answer with calls and their results.
func (s *claudeDraft) calls() {
	id := s.newAnswer()
	if s.one(4) {
		s.piece(id, `{"type":"text","text":`+quote(s.text(s.number()))+`}`)
	}
	if s.one(6) { // all calls in one line
		a, b := s.newCall(), s.newCall()
		s.piece(id, s.use(a)+","+s.use(b), a, b)
		s.results(s.leaf, a, b)
		return
	}
	var lines []int
	for range 1 + s.rnd.IntN(1+s.rnd.IntN(3)) {
		call := s.newCall()
		s.piece(id, s.use(call), call)
		lines = append(lines, s.leaf)
	}
	if s.one(4) {
		s.rnd.Shuffle(len(lines), func(i, k int) { lines[i], lines[k] = lines[k], lines[i] })
	}
	for _, line := range lines {
		if !s.one(12) { // otherwise the call stays open
			s.results(line, s.entries[line].calls...)
		}
	}
}

// results writes results behind the line of their calls.
func (s *claudeDraft) results(line int, calls ...string) {
	if s.one(4) && len(calls) > 1 { // all in one line
		var blocks []string
		for _, c := range calls {
			blocks = append(blocks, s.result(c))
		}
		s.under(line, strings.Join(blocks, ","))
		return
	}
	for _, c := range calls {
		s.under(line, s.result(c))
	}
}

// under writes a user line with blocks behind an entry.
func (s *claudeDraft) under(line int, blocks string) {
	parent := s.entries[line].id
	s.hang(quote(parent), "user", `"message":{"role":"user","content":[`+blocks+`]}`+s.pick("", `,"toolUseResult":{"stdout":"x"}`, `,"toolUseResult":"Error: x"`)+
		s.pick("", `,"sourceToolAssistantUUID":`+quote(parent)))
}

// result returns a block with a result.
func (s *claudeDraft) result(call string) string {
	text := quote(s.text(s.number()))
	content := s.pick(text, text, text, text, `[{"type":"text","text":`+text+`}]`, `[{"type":"text","text":`+text+`},{"type":"text","text":"more"}]`, `[]`, `""`,
		`[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`+png+`"}}]`)
	return fmt.Sprintf(`{"tool_use_id":%q,"type":"tool_result","content":%s%s}`, call, content, s.pick("", "", `,"is_error":false`, `,"is_error":true`))
}

// meta writes a line without a place in the tree.
func (s *claudeDraft) meta() {
	leaf := `"leafUuid":"00000000-0000-0000-0000-000000000000"`
	if len(s.entries) > 0 {
		leaf = `"leafUuid":` + quote(s.entries[s.some()].id)
	}
	members := s.pick(`"type":"custom-title","customTitle":"A title"`, `"type":"ai-title","aiTitle":"Another"`, `"type":"mode","mode":"normal"`,
		`"type":"tag","tag":"x"`, `"type":"queue-operation","operation":"enqueue","content":"later"`, `"type":"summary","summary":"Old title",`+leaf,
		`"type":"file-history-snapshot","messageId":"x","snapshot":{}`, `"type":"unheard-of","x":1`, `"type":"permission-mode","permissionMode":"plan"`,
		`"type":"cost-state","totalCostUSD":1`, `"type":"agent-name","agentName":"n"`)
	s.lines = append(s.lines, `{`+members+`,"sessionId":`+quote(s.id)+`}`)
}

// lastPrompt writes a line that names a leaf.
func (s *claudeDraft) lastPrompt() {
	leaf := s.entries[s.some()].id
	switch s.rnd.IntN(8) {
	case 0:
		leaf = "00000000-0000-0000-0000-000000000000"
	case 1:
		leaf = "deadbeef-0000-4000-8000-000000000000"
	case 2, 3:
		leaf = s.entries[s.leaf].id
	}
	s.lines = append(s.lines, fmt.Sprintf(`{"type":"last-prompt",%s"leafUuid":%q%s,"sessionId":%q}`,
		s.pick("", `"lastPrompt":"p",`), leaf, s.pick("", "", `,"explicit":true`, `,"explicit":false`), s.id))
}

// oddity writes something unusual.
func (s *claudeDraft) oddity() {
	s.step(s.rewind, s.rewind, s.rewind, s.lastPrompt, s.lastPrompt, s.lastPrompt, s.compact, s.compact, s.system, s.system, s.attachment,
		s.meta, s.unknown, s.orphan, s.orphan, s.again, s.side, s.progress, s.open, s.stray, s.failure, s.odd, s.content, s.clockwork, s.regenerate)
}

// rewind goes back to an earlier entry.
func (s *claudeDraft) rewind() {
	s.leaf = s.some()
	if s.one(8) {
		s.leaf = -1
	}
	s.turn()
	if s.one(3) {
		s.leaf = s.some()
		s.lastPrompt()
	}
}

// system writes a system line.
func (s *claudeDraft) system() {
	s.entry("system", s.pick(`"subtype":"local_command","content":"<command-name>/x</command-name>","level":"info"`, `"subtype":"local_command","content":"<local-command-stdout>out</local-command-stdout>"`,
		`"subtype":"turn_duration","durationMs":5,"messageCount":2`, `"subtype":"informational","content":"note","level":"info"`, `"subtype":"api_error","level":"error"`,
		`"subtype":"microcompact_boundary","content":"Context microcompacted","microcompactMetadata":{"trigger":"auto","compactedToolIds":[]}`)+`,"isMeta":false`)
}

// attachment writes an attachment.
func (s *claudeDraft) attachment() {
	s.entry("attachment", s.pick(`"attachment":{"type":"date"}`, `"attachment":{"type":"prompt_snapshot","x":[]}`,
		`"attachment":{"type":"environment"},"rendered":[{"content":"<system-reminder>\nenvironment\n</system-reminder>"}],"renderedRole":"user"`,
		`"attachment":{"type":"model"},"rendered":[{"content":"<system-reminder>\\nmodel\\n</system-reminder>"}],"renderedRole":"system"`))
}

// unknown writes a line of an unknown type with a place in the tree, on which the next entry may hang.
func (s *claudeDraft) unknown() {
	before := s.leaf
	s.entry("unheard-of", `"x":1`)
	if s.one(2) {
		s.leaf = before
	}
}

// orphan makes the next entry's parent one that does not exist, the entry itself, or a later one.
func (s *claudeDraft) orphan() {
	parent := s.pick(`"deadbeef-0000-4000-8000-000000000001"`, `"deadbeef-0000-4000-8000-000000000001"`, fmt.Sprintf(`"%08x-0000-4000-8000-%012x"`, s.made+1, s.made+1),
		fmt.Sprintf(`"%08x-0000-4000-8000-%012x"`, s.made+3, s.made+3), `""`, `42`)
	s.hang(parent, "user", `"message":{"role":"user","content":`+quote(s.text(s.made+1))+`}`)
	if s.one(2) {
		s.answer(s.text(s.number()))
	}
}

// again writes an earlier line again, as it was or with a change.
func (s *claudeDraft) again() {
	if len(s.lines) == 0 {
		return
	}
	line := s.lines[s.rnd.IntN(len(s.lines))]
	switch s.rnd.IntN(4) {
	case 0:
		line = strings.Replace(line, `"text `, `"changed `, 1)
	case 1:
		if _, old, ok := strings.Cut(line, `"parentUuid":`); ok {
			old, _, _ = strings.Cut(old, ",")
			line = strings.Replace(line, `"parentUuid":`+old, `"parentUuid":`+quote(s.entries[s.some()].id), 1)
		}
	case 2:
		if _, old, ok := strings.Cut(line, `"timestamp":"`); ok {
			s.tick()
			line = strings.Replace(line, old[:24], stamp(s.clock), 1)
		}
	}
	s.lines = append(s.lines, line)
}

// side writes lines of a sub-agent.
func (s *claudeDraft) side() {
	leaf := s.leaf
	if s.one(2) {
		s.leaf = -1
	}
	from := len(s.lines)
	s.entry("user", `"message":{"role":"user","content":"side prompt"}`)
	s.answer("side answer")
	if s.one(3) {
		from++
	}
	for i := from; i < len(s.lines); i++ {
		s.lines[i] = strings.Replace(s.lines[i], `"isSidechain":false`, `"isSidechain":true,"agentId":"a1"`, 1)
	}
	if !s.one(3) {
		s.leaf = leaf
	}
}

// progress writes a line that is only a link.
func (s *claudeDraft) progress() {
	s.entry("progress", `"data":{"type":"hook_progress"},"toolUseID":"x"`)
	s.turn()
}

// open writes calls that have no result, followed by an answer, a prompt or nothing.
func (s *claudeDraft) open() {
	id := s.newAnswer()
	var text string
	if s.one(2) {
		text = `{"type":"text","text":"before the call"},`
	}
	for range 1 + s.rnd.IntN(2) {
		call := s.newCall()
		s.piece(id, text+s.use(call), call)
	}
	s.step(func() {}, func() {}, func() { s.answer("after open calls") }, func() { s.results(s.leaf, s.entries[s.leaf].calls...) })
}

// stray writes a result that is late, that is there twice, or that has no call.
func (s *claudeDraft) stray() {
	call := "toolu_none"
	for range 10 {
		if e := s.entries[s.some()]; e.calls != nil {
			call = e.calls[0]
			break
		}
	}
	blocks := s.result(call)
	if s.one(3) {
		blocks = s.pick(blocks+`,{"type":"text","text":"beside a result"}`, `{"type":"text","text":"before a result"},`+blocks)
	}
	s.under(s.pickEntry(), blocks)
}

func (s *claudeDraft) pickEntry() int {
	if s.one(2) {
		return s.leaf
	}
	return s.some()
}

// failure writes an answer that is an error of the provider, or of no model.
func (s *claudeDraft) failure() {
	s.entry("assistant", `"message":{"id":"`+s.newAnswer()+`","model":"<synthetic>","role":"assistant","type":"message","content":[{"type":"text","text":"API Error: 529"}],"stop_reason":"stop_sequence"}`+
		s.pick(`,"isApiErrorMessage":true`, `,"isApiErrorMessage":true,"error":"overloaded"`, `,"isApiErrorMessage":false`, ``))
}

// regenerate answers a call or a prompt a second time on another branch.
func (s *claudeDraft) regenerate() {
	var with []int
	for i, e := range s.entries {
		if e.calls != nil {
			with = append(with, i)
		}
	}
	if with == nil {
		s.rewind()
		return
	}
	at := with[s.rnd.IntN(len(with))]
	s.under(at, s.result(s.entries[at].calls[0]))
	if !s.one(3) {
		s.answer("after another result")
	}
}
