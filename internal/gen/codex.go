package gen

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
)

// CodexOptions describe a rollout of Codex that is converted from a session that Session made.
type CodexOptions struct {
	// ID is the thread's id; "" keeps the id of the source.
	ID string
	// Paginated writes ordinals and records of usage, as version 0.166 does. Otherwise the format is that of 0.100.
	Paginated bool
	// Meta are more members of the header, with a comma before them.
	Meta string
	// From is the first ordinal, and Used the usage of the base: both are 0 unless the rollout continues another one.
	From int
	Used Told
}

// Codex returns the session in the format of Codex: items of the Responses API, and events that repeat some of them.
func Codex(log []byte) []byte {
	out, _, _ := CodexLog(log, CodexOptions{})
	return out
}

// CodexLog is Codex with options. It also returns the totals of the log, and the ordinal after its last line.
func CodexLog(log []byte, o CodexOptions) ([]byte, Told, int) {
	list := entries(log)
	c := codex{o: o, cwd: quote(list[0].CWD), told: Told{Sessions: 1}, ordinal: o.From, turnOf: map[string]int{}, sum: o.Used}
	if c.o.ID == "" {
		c.o.ID = list[0].ID
	}
	c.out.Grow(len(log) + len(log)/2)
	mode, version := "legacy", "0.100.0"
	if o.Paginated {
		mode, version = "paginated", "0.166.0"
	}
	c.line(list[0].Timestamp, fmt.Sprintf(`"session_meta","payload":{"id":%q,"timestamp":%q,"cwd":%s,"originator":"codex_cli_rs","cli_version":%q,`+
		`"source":"cli","model_provider":"openai","history_mode":%q%s}`, c.o.ID, list[0].Timestamp, c.cwd, version, mode, o.Meta))
	for i := range list[1:] {
		c.entry(&list[1+i])
	}
	c.endTurn(list[len(list)-1].Timestamp)
	return c.out.Bytes(), c.told, c.ordinal
}

// codex is the state of writing a rollout.
type codex struct {
	o       CodexOptions
	out     bytes.Buffer
	cwd     string
	told    Told
	ordinal int
	sum     Told // tokens of the thread and its base
	now     Told // tokens of the last answer
	last    string
	// turns are the turns on the path; turnOf maps entries to their positions in turns.
	turns  []string
	turnOf map[string]int
	open   bool
}

// line writes a record.
func (c *codex) line(at, rest string) {
	ordinal := ""
	if c.o.Paginated {
		ordinal = fmt.Sprintf(`"ordinal":%d,`, c.ordinal)
	}
	c.ordinal++
	fmt.Fprintf(&c.out, `{"timestamp":%q,%s"type":%s}`+"\n", at, ordinal, rest)
}

func (c *codex) event(at, payload string) { c.line(at, `"event_msg","payload":{"type":`+payload+`}`) }

// item writes an item, which counts as a message.
func (c *codex) item(at, payload string) {
	c.told.Messages++
	c.line(at, `"response_item","payload":{"type":`+payload+`}`)
}

// entry writes the lines of an entry. An entry that the program has no line for is left out.
func (c *codex) entry(e *entry) {
	if c.last != "" && e.ParentID != nil && *e.ParentID != c.last {
		c.rollBack(e)
	}
	c.last = e.ID
	switch {
	case e.Message != nil:
		c.message(e)
	case e.Type == "compaction":
		c.line(e.Timestamp, fmt.Sprintf(`"compacted","payload":{"message":%s,"replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":%s}]}]}`,
			e.Summary, e.Summary))
	}
	c.turnOf[e.ID] = len(c.turns) - 1
}

// rollBack abandons the turns after an entry's parent.
func (c *codex) rollBack(e *entry) {
	c.endTurn(e.Timestamp)
	keep := c.turnOf[*e.ParentID] + 1
	if n := len(c.turns) - keep; n > 0 {
		c.event(e.Timestamp, fmt.Sprintf(`"thread_rolled_back","num_turns":%d`, n))
		c.turns = c.turns[:keep]
	}
}

// beginTurn writes the lines around a prompt.
func (c *codex) beginTurn(e *entry, text string) {
	c.endTurn(e.Timestamp)
	c.turns, c.open = append(c.turns, e.ID), true
	c.event(e.Timestamp, fmt.Sprintf(`"task_started","turn_id":%q,"model_context_window":258400`, e.ID))
	if c.ordinal-c.o.From < 3 { // the first instructions to the model
		c.item(e.Timestamp, fmt.Sprintf(`"message","role":"user","content":[{"type":"input_text","text":%s}]`,
			quote("<environment_context>\n  <cwd>"+c.o.ID+"</cwd>\n</environment_context>")))
	}
	c.line(e.Timestamp, fmt.Sprintf(`"turn_context","payload":{"turn_id":%q,"cwd":%s,"approval_policy":"never","model":"gpt-5.1-codex","summary":"auto"}`, e.ID, c.cwd))
	c.item(e.Timestamp, fmt.Sprintf(`"message","role":"user","content":[{"type":"input_text","text":%s}]`, text))
	if c.o.Paginated {
		c.event(e.Timestamp, fmt.Sprintf(`"item_completed","turn_id":%q,"item":{"type":"UserMessage","content":[{"type":"text","text":%s}]}`, e.ID, text))
	} else {
		c.event(e.Timestamp, fmt.Sprintf(`"user_message","message":%s,"images":[]`, text))
	}
}

func (c *codex) endTurn(at string) {
	if c.open {
		c.event(at, fmt.Sprintf(`"task_complete","turn_id":%q`, c.turns[len(c.turns)-1]))
	}
	c.open = false
}

// message writes the items of a message.
func (c *codex) message(e *entry) {
	m := e.Message
	switch m.Role {
	case "user":
		c.beginTurn(e, string(orEmpty(firstText(m))))
	case "bashExecution":
		c.item(e.Timestamp, fmt.Sprintf(`"message","role":"user","content":[{"type":"input_text","text":%s}]`, m.Output))
	case "toolResult":
		c.item(e.Timestamp, fmt.Sprintf(`"function_call_output","call_id":%q,"output":%s`, m.ToolCallID, orEmpty(firstText(m))))
	case "assistant":
		if len(m.Content) > 0 {
			c.answer(e, m)
		}
	}
}

// answer writes the items of an answer and its usage. The token count is repeated, as the program does.
func (c *codex) answer(e *entry, m *message) {
	if !slices.ContainsFunc(m.Content, func(b block) bool { return b.Type == "thinking" }) {
		c.reasoning(e, "")
	}
	for _, b := range m.Content {
		switch b.Type {
		case "thinking":
			c.reasoning(e, fmt.Sprintf(`{"type":"summary_text","text":%s}`, b.Thinking))
		case "text":
			if !c.o.Paginated {
				c.event(e.Timestamp, fmt.Sprintf(`"agent_message","message":%s`, b.Text))
			}
			c.item(e.Timestamp, fmt.Sprintf(`"message","role":"assistant","content":[{"type":"output_text","text":%s}]`, b.Text))
		case "toolCall":
			c.item(e.Timestamp, fmt.Sprintf(`"function_call","name":%s,"arguments":%s,"call_id":%s`, b.Name, quote(string(b.Arguments)), b.ID))
		}
	}
	c.told.use(m.Usage)
	before, again := c.sum, c.now
	c.sum.use(m.Usage)
	now := Told{}
	now.use(m.Usage)
	c.now = now
	if c.o.Paginated {
		c.line(e.Timestamp, fmt.Sprintf(`"token_usage_record","payload":{"thread_id":%q,"response_id":"resp_%s","usage":%s,"thread_token_usage":%s}`,
			c.o.ID, e.ID, codexUsage(now), codexUsage(c.sum)))
	} else if again.Total > 0 {
		// Before it counts the answer, the program repeats the previous count.
		c.tokens(e.Timestamp, again, before)
	}
	c.tokens(e.Timestamp, now, c.sum)
	if c.ordinal%3 == 0 {
		c.tokens(e.Timestamp, now, c.sum)
	}
}

// reasoning writes the model's reasoning. The program requests it with every answer and gets it encrypted: about a kilobyte, and a summary
// for some answers.
func (c *codex) reasoning(e *entry, summary string) {
	h := fnv.New64a()
	h.Write([]byte(e.ID))
	random := rand.New(rand.NewPCG(h.Sum64(), 0))
	secret := make([]byte, 450+random.IntN(675))
	for i := range secret {
		secret[i] = byte(random.Uint32())
	}
	c.item(e.Timestamp, fmt.Sprintf(`"reasoning","summary":[%s],"content":null,"encrypted_content":"gAAAAAB%s"`, summary, base64.RawURLEncoding.EncodeToString(secret)))
}

func (c *codex) tokens(at string, now, sum Told) {
	c.event(at, fmt.Sprintf(`"token_count","info":{"total_token_usage":%s,"last_token_usage":%s,"model_context_window":258400},"rate_limits":null`,
		codexUsage(sum), codexUsage(now)))
}

// codexUsage formats tokens. The input includes what was read from the cache and written to it.
func codexUsage(t Told) string {
	input := t.Input + t.CacheRead + t.CacheWrite
	return fmt.Sprintf(`{"input_tokens":%d,"cached_input_tokens":%d,"cache_write_input_tokens":%d,"output_tokens":%d,"reasoning_output_tokens":0,"total_tokens":%d}`,
		input, t.CacheRead, t.CacheWrite, t.Output, input+t.Output)
}
