package gen

import (
	"fmt"
	"time"
)

// models are provider, id and API of real models, so that sums by model have several groups.
var models = [...][3]string{
	{"anthropic", "claude-sonnet-4-5", "anthropic-messages"},
	{"openai", "gpt-5.1-codex", "openai-responses"},
	{"anthropic", "claude-opus-4-5", "anthropic-messages"},
	{"google", "gemini-3-pro", "google-generative-ai"},
}

// A toolCall waits for its result, which names its id. The file is the one that it edits or reads.
type toolCall struct {
	id, tool, file string
}

// header writes the members in the order of the agents.
func (s *session) header() {
	s.fill(`{"type":"session","version":3,"id":"%v","timestamp":"%v","cwd":"%v`, escaped(s.o.ID), s.timestamp(), s.cwd)
	if !s.o.Pi {
		s.fill(`","title":"%v`, escaped(s.o.Title))
	}
	s.add("\"}\n")
}

func (s *session) timestamp() string {
	return time.UnixMilli(s.now).UTC().Format("2006-01-02T15:04:05.000Z")
}

// id returns the id of an entry: eight hexadecimal digits that look random and never repeat, since each step is invertible
// (an odd factor, a shift to the right).
func (s *session) id(entry int) string {
	x := uint32(entry) ^ uint32(s.o.Seed*0x9e3779b97f4a7c15>>32)
	x *= 0x9e3779b1
	x ^= x >> 15
	x *= 0x85ebca77
	x ^= x >> 13
	return fmt.Sprintf("%08x", x)
}

// begin opens the record of the next entry, 20 to pause+20 milliseconds after the last.
func (s *session) begin(kind string, pause int) {
	s.now += int64(20 + s.pick(pause))
	s.entries++
	parent := "null"
	if s.parent != 0 {
		parent = `"` + s.id(s.parent) + `"`
	}
	s.fill(`{"type":"%v","id":"%v","parentId":%v,"timestamp":"%v"`, kind, s.id(s.entries), parent, s.timestamp())
	s.parent = s.entries
}

func (s *session) end() { s.add("}\n") }

// message opens a record of a message.
func (s *session) message(role string, pause int) {
	s.begin("message", pause)
	s.fill(`,"message":{"role":"%v"`, role)
}

// endMessage closes a message with its own time, which is a little earlier.
func (s *session) endMessage() {
	s.fill(`,"timestamp":%v}`, int(s.now-7))
	s.end()
}

// prompt begins a turn. Branches and compactions return to prompts.
func (s *session) prompt() {
	s.turns = append(s.turns, turn{s.entries + 1, s.parent})
	s.message("user", 90_000)
	s.add(`,"content":[{"type":"text","text":"`)
	s.prose(s.length(80, 170, 2500))
	s.add(`"}]`)
	s.endMessage()
}

// toolStep writes an assistant message that calls tools, and their results. Some are aborted, as in real sessions.
func (s *session) toolStep(image bool) {
	at := len(s.buf)
	s.message("assistant", 12_000)
	s.add(`,"content":[`)
	if !image && s.chance(30) { // aborted before the first word
		s.add(`]`)
		s.usage(0)
		s.add(`,"stopReason":"aborted","errorMessage":"Request was aborted."`)
		s.endMessage()
		return
	}
	if s.chance(130) {
		s.thinking()
	}
	if s.chance(480) {
		s.add(`{"type":"text","text":"`)
		s.prose(s.length(85, 208, 12_000))
		s.add(`"},`)
	}
	calls := 1
	if !image && s.chance(25) {
		calls = 2 + s.pick(5)
	}
	s.called = s.called[:0]
	for i := range calls {
		if i > 0 {
			s.add(",")
		}
		s.call(image)
	}
	s.add("]")
	s.usage(len(s.buf) - at)
	s.add(`,"stopReason":"toolUse"`)
	s.endMessage()
	for _, c := range s.called {
		s.result(c, image)
	}
}

// thinking writes thinking with a signature that is a little longer than the text, a multiple of four digits.
func (s *session) thinking() {
	n := s.length(390, 180, 8000)
	s.add(`{"type":"thinking","thinking":"`)
	s.prose(n)
	s.add(`","thinkingSignature":"`)
	s.base64(s.limit(200 + n&^3))
	s.add(`"},`)
}

// call writes one tool call, in the proportions of real ones: half are commands, a third are edits.
func (s *session) call(image bool) {
	id := []byte("toolu_01")
	for range 22 {
		id = append(id, base64Digits[s.pick(62)])
	}
	c := toolCall{id: string(id), file: s.file()}
	switch p := s.bits(10); {
	case image:
		c.tool, c.file = "read", "docs/"+s.word()+".png"
	case p < 490:
		c.tool = "bash"
	case p < 810:
		c.tool = "edit"
	case p < 1000:
		c.tool = "read"
	default:
		c.tool = "write"
	}
	s.called = append(s.called, c)
	s.fill(`{"type":"toolCall","id":"%v","name":"%v","arguments":{`, c.id, c.tool)
	if c.tool == "bash" {
		s.command()
	} else {
		s.fill(`"path":"%v"`, c.file)
	}
	switch c.tool {
	case "edit":
		s.add(`,"oldText":"`)
		n := s.length(270, 190, 12_000)
		s.code(n)
		s.add(`","newText":"`)
		s.code(s.limit(n + n/4))
		s.add(`"`)
	case "write":
		s.add(`,"content":"`)
		s.code(s.length(3000, 170, 40_000))
		s.add(`"`)
	case "read":
		if s.bits(1) == 0 && !image {
			s.fill(`,"offset":%900d,"limit":`)
			s.number(10 + s.pick(190))
		}
	}
	s.add("}}")
}

// command writes the arguments of a shell command. Paths, quotes and heredocs make commands hard to search and to escape.
func (s *session) command() {
	s.fill(`"command":"cd %v && `, s.cwd)
	switch s.bits(2) {
	case 0:
		s.fill(`grep -rn \"%n\" %f | head -%90d`)
	case 1:
		s.fill("make test 2>&1 | tail -%90d")
	case 2:
		s.fill("sed -n '%400d,900p' %f")
	default:
		s.fill(`cat > %f <<'EOF'\n`)
		s.code(s.length(120, 224, 8000))
		s.add(`EOF`)
	}
	s.add(`"`)
	if s.chance(250) {
		s.fill(`,"timeout":%v`, 30+s.pick(270))
	}
}

// result writes the result of a tool call. Some results are errors.
func (s *session) result(c toolCall, image bool) {
	at := len(s.buf)
	failed := !image && s.chance(40)
	s.message("toolResult", 4000)
	s.fill(`,"toolCallId":"%v","toolName":"%v","content":[{"type":"text","text":"`, c.id, c.tool)
	switch {
	case image:
		s.add("Read image file [image/png]")
	case failed:
		s.fill(`Error: %8w: %v\n\nCommand exited with code 1`, c.file)
	case c.tool == "bash":
		s.output(s.length(260, 222, 30_000))
	case c.tool == "read":
		s.code(s.length(2400, 188, 50_000))
	case c.tool == "edit":
		s.fill("Successfully replaced text in %v.", c.file)
	default:
		s.fill("Successfully wrote %90000d bytes to %v", c.file)
	}
	s.add(`"}`)
	if image {
		s.add(`,{"type":"image","data":"iVBORw0KGgo`)
		// At least one digit, and a multiple of four with the eleven above.
		s.base64(max(1, s.limit(s.o.ImageBytes)&^3-11))
		s.add(`","mimeType":"image/png"}`)
	}
	s.add("]")
	if c.tool == "edit" && !failed {
		s.add(`,"details":{"diff":"`)
		s.diff(s.length(620, 192, 40_000))
		s.add(`"}`)
	}
	s.fill(`,"isError":%v`, failed)
	s.endMessage()
	s.tokens += (len(s.buf) - at) / 4
}

// answer writes the answer that ends a turn.
func (s *session) answer() {
	at := len(s.buf)
	s.message("assistant", 15_000)
	s.add(`,"content":[`)
	if s.chance(130) {
		s.thinking()
	}
	s.add(`{"type":"text","text":"`)
	s.prose(s.length(300, 170, 12_000))
	s.add(`"}]`)
	s.usage(len(s.buf) - at)
	s.add(`,"stopReason":"stop"`)
	s.endMessage()
}

// lastAnswer writes an answer that fills the session to the requested number of bytes. It writes nothing if there is no room.
func (s *session) lastAnswer() {
	before, at := s.state, len(s.buf)
	s.message("assistant", 15_000)
	s.add(`,"content":[{"type":"text","text":"`)
	head := len(s.buf)
	s.add(`"}]`)
	s.usage(400)
	s.add(`,"stopReason":"stop"`)
	s.endMessage()
	missing := s.o.Bytes - s.written()
	if missing < 0 {
		s.state, s.buf = before, s.buf[:at]
		return
	}
	tail := string(s.buf[head:])
	s.buf = s.buf[:head]
	s.plain(int(missing))
	s.add(tail)
}

// usage writes the usage of a message of n bytes. The context grows with each message, and the next message reads it from the cache. Prices
// are in units of 1/10,000,000 dollar.
func (s *session) usage(n int) {
	m := models[s.model]
	in, out, cached, stored := 3+s.bits(3), n/4, s.tokens, n/3
	if n == 0 {
		in, cached, stored = 0, 0, 0
	}
	s.tokens += stored
	s.fill(`,"api":"%v","provider":"%v","model":"%v"`, m[2], m[0], m[1])
	s.fill(`,"usage":{"input":%v,"output":%v,"cacheRead":%v,"cacheWrite":%v,"totalTokens":%v`, in, out, cached, stored,
		in+out+cached+stored)
	dollars := func(n int) float64 { return float64(n) / 1e7 }
	s.fill(`,"cost":{"input":%v,"output":%v,"cacheRead":%v,"cacheWrite":%v,"total":%v}}`, dollars(in*30), dollars(out*150),
		dollars(cached*3), dollars(stored*38), dollars(in*30+out*150+cached*3+stored*38))
}
