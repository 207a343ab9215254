package gen

import (
	"strconv"
	"time"
)

// models, as provider, id and API.
// They are real names, so that what sums by model has something to sum.
var models = [...][3]string{
	{"anthropic", "claude-sonnet-4-5", "anthropic-messages"},
	{"openai", "gpt-5.1-codex", "openai-responses"},
	{"anthropic", "claude-opus-4-5", "anthropic-messages"},
	{"google", "gemini-3-pro", "google-generative-ai"},
}

// A toolCall waits for its result.
// The id is what results name it by; the file is what edits and reads are about.
type toolCall struct {
	id, tool, file string
}

// Members stand in the order in which the agents write them.
func (s *session) header() {
	s.add(`{"type":"session","version":3,"id":"`)
	s.add(escaped(s.o.ID))
	s.add(`","timestamp":"`)
	s.timestamp()
	s.add(`","cwd":"`)
	s.add(s.cwd)
	if !s.o.Pi {
		s.add(`","title":"`)
		s.add(escaped(s.o.Title))
	}
	s.add("\"}\n")
}

func (s *session) timestamp() {
	s.buf = time.UnixMilli(s.now).UTC().AppendFormat(s.buf, "2006-01-02T15:04:05.000Z")
}

// id writes the id of an entry: eight hexadecimal digits that look random and never repeat, since each step can be
// undone (an odd factor, a shift to the right).
func (s *session) id(entry int) {
	x := uint32(entry) ^ uint32(s.o.Seed*0x9e3779b97f4a7c15>>32)
	x *= 0x9e3779b1
	x ^= x >> 15
	x *= 0x85ebca77
	x ^= x >> 13
	for shift := 28; shift >= 0; shift -= 4 {
		s.buf = append(s.buf, hexDigits[x>>shift&15])
	}
}

// begin opens a record of the next entry; some time has passed.
// pause is the most that can have passed, in milliseconds; at least 20 do.
func (s *session) begin(kind string, pause int) {
	s.now += int64(20 + s.pick(pause))
	s.entries++
	s.add(`{"type":"`)
	s.add(kind)
	s.add(`","id":"`)
	s.id(s.entries)
	if s.parent == 0 {
		s.add(`","parentId":null`)
	} else {
		s.add(`","parentId":"`)
		s.id(s.parent)
		s.add(`"`)
	}
	s.add(`,"timestamp":"`)
	s.timestamp()
	s.add(`"`)
	s.parent = s.entries
}

func (s *session) end() { s.add("}\n") }

// message opens a record of a message and its content.
func (s *session) message(role string, pause int) {
	s.begin("message", pause)
	s.add(`,"message":{"role":"`)
	s.add(role)
	s.add(`"`)
}

// endMessage closes a message with its own time, which is a little earlier.
func (s *session) endMessage() {
	s.add(`,"timestamp":`)
	s.buf = strconv.AppendInt(s.buf, s.now-7, 10)
	s.add("}")
	s.end()
}

// prompt begins a turn. Branches and compactions go back to these.
func (s *session) prompt() {
	s.turns = append(s.turns, turn{s.entries + 1, s.parent})
	s.message("user", 90_000)
	s.add(`,"content":[{"type":"text","text":"`)
	s.prose(s.limit(s.size(80, 170, 2500)))
	s.add(`"}]`)
	s.endMessage()
}

// toolStep is an assistant message that calls tools, and their results.
// An aborted turn now and then: real sessions have them, and contexts may drop them.
func (s *session) toolStep(image bool) {
	at := len(s.buf)
	s.message("assistant", 12_000)
	s.add(`,"content":[`)
	if !image && s.chance(30) { // stopped before a word was said
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
		s.prose(s.limit(s.size(85, 208, 12_000)))
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

// thinking has a signature that is a little longer than the text.
func (s *session) thinking() {
	n := s.limit(s.size(390, 180, 8000))
	s.add(`{"type":"thinking","thinking":"`)
	s.prose(n)
	s.add(`","thinkingSignature":"`)
	// a multiple of four, as base64 is
	s.base64(s.limit(200 + n&^3))
	s.add(`"},`)
}

// call writes one tool call, in the proportions of real ones: half of them commands, a third edits.
// The id is drawn before anything is written, since the record says it twice: in the call and in the result.
func (s *session) call(image bool) {
	at := len(s.buf)
	s.add("toolu_01")
	for range 22 {
		s.buf = append(s.buf, base64Digits[s.pick(62)])
	}
	c := toolCall{id: string(s.buf[at:]), file: s.file()}
	s.buf = s.buf[:at]
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
	s.add(`{"type":"toolCall","id":"`)
	s.add(c.id)
	s.add(`","name":"`)
	s.add(c.tool)
	s.add(`","arguments":{`)
	if c.tool == "bash" {
		s.command()
	} else {
		s.add(`"path":"`)
		s.add(c.file)
		s.add(`"`)
	}
	switch c.tool {
	case "edit":
		s.add(`,"oldText":"`)
		n := s.limit(s.size(270, 190, 12_000))
		s.code(n)
		s.add(`","newText":"`)
		s.code(s.limit(n + n/4))
		s.add(`"`)
	case "write":
		s.add(`,"content":"`)
		s.code(s.limit(s.size(3000, 170, 40_000)))
		s.add(`"`)
	case "read":
		if s.bits(1) == 0 && !image {
			s.add(`,"offset":`)
			s.digits(900)
			s.add(`,"limit":`)
			s.number(10 + s.pick(190))
		}
	}
	s.add("}}")
}

// command writes the arguments of a shell command.
// Paths, quotes and heredocs are what makes commands hard to search and to escape.
func (s *session) command() {
	s.add(`"command":"cd `)
	s.add(s.cwd)
	switch s.bits(2) {
	case 0:
		s.add(` && grep -rn \"`)
		s.add(s.name())
		s.add(`\" `)
		s.add(s.file())
		s.add(" | head -")
		s.digits(90)
	case 1:
		s.add(" && make test 2>&1 | tail -")
		s.digits(90)
	case 2:
		s.add(" && sed -n '")
		s.digits(400)
		s.add(",900p' ")
		s.add(s.file())
	default:
		s.add(` && cat > `)
		s.add(s.file())
		s.add(` <<'EOF'\n`)
		s.code(s.limit(s.size(120, 224, 8000)))
		s.add(`EOF`)
	}
	s.add(`"`)
	if s.chance(250) {
		s.add(`,"timeout":`)
		s.number(30 + s.pick(270))
	}
}

// result answers one tool call.
// Some fail: what reads sessions must know results that are errors.
func (s *session) result(c toolCall, image bool) {
	at := len(s.buf)
	failed := !image && s.chance(40)
	s.message("toolResult", 4000)
	s.add(`,"toolCallId":"`)
	s.add(c.id)
	s.add(`","toolName":"`)
	s.add(c.tool)
	s.add(`","content":[{"type":"text","text":"`)
	switch {
	case image:
		s.add("Read image file [image/png]")
	case failed:
		s.add("Error: ")
		s.words(8)
		s.add(`: `)
		s.add(c.file)
		s.add(`\n\nCommand exited with code 1`)
	case c.tool == "bash":
		s.output(s.limit(s.size(260, 222, 30_000)))
	case c.tool == "read":
		s.code(s.limit(s.size(2400, 188, 50_000)))
	case c.tool == "edit":
		s.add("Successfully replaced text in ")
		s.add(c.file)
		s.add(".")
	default:
		s.add("Successfully wrote ")
		s.digits(90_000)
		s.add(" bytes to ")
		s.add(c.file)
	}
	s.add(`"}`)
	if image {
		s.add(`,{"type":"image","data":"iVBORw0KGgo`)
		// At least one digit, and with the head a multiple of four.
		s.base64(max(1, s.limit(s.o.ImageBytes)&^3-11))
		s.add(`","mimeType":"image/png"}`)
	}
	s.add("]")
	if c.tool == "edit" && !failed {
		s.add(`,"details":{"diff":"`)
		s.diff(s.limit(s.size(620, 192, 40_000)))
		s.add(`"}`)
	}
	if failed {
		s.add(`,"isError":true`)
	} else {
		s.add(`,"isError":false`)
	}
	s.endMessage()
	s.tokens += (len(s.buf) - at) / 4
}

// answer ends a turn.
func (s *session) answer() {
	at := len(s.buf)
	s.message("assistant", 15_000)
	s.add(`,"content":[`)
	if s.chance(130) {
		s.thinking()
	}
	s.add(`{"type":"text","text":"`)
	s.prose(s.limit(s.size(300, 170, 12_000)))
	s.add(`"}]`)
	s.usage(len(s.buf) - at)
	s.add(`,"stopReason":"stop"`)
	s.endMessage()
}

// lastAnswer is an answer of the length that is missing, or nothing where not even that has room.
// It is how a session gets exactly as many bytes as were asked for: the text is as long as what is missing.
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

// usage tells what a message of n bytes cost.
// The context grows with each message and is read from the cache by the next, as providers count it. Prices are
// those of a usual model.
func (s *session) usage(n int) {
	m := models[s.model]
	s.add(`,"api":"`)
	s.add(m[2])
	s.add(`","provider":"`)
	s.add(m[0])
	s.add(`","model":"`)
	s.add(m[1])
	in, out, cached, stored := 3+s.bits(3), n/4, s.tokens, n/3
	if n == 0 {
		in, cached, stored = 0, 0, 0
	}
	s.tokens += stored
	s.add(`","usage":{"input":`)
	s.number(in)
	s.add(`,"output":`)
	s.number(out)
	s.add(`,"cacheRead":`)
	s.number(cached)
	s.add(`,"cacheWrite":`)
	s.number(stored)
	s.add(`,"totalTokens":`)
	s.number(in + out + cached + stored)
	s.add(`,"cost":{"input":`)
	s.dollars(in * 30)
	s.add(`,"output":`)
	s.dollars(out * 150)
	s.add(`,"cacheRead":`)
	s.dollars(cached * 3)
	s.add(`,"cacheWrite":`)
	s.dollars(stored * 38)
	s.add(`,"total":`)
	s.dollars(in*30 + out*150 + cached*3 + stored*38)
	s.add(`}}`)
}

// dollars writes a price given in units of 1/10,000,000.
func (s *session) dollars(n int) {
	s.buf = strconv.AppendFloat(s.buf, float64(n)/1e7, 'f', -1, 64)
}
