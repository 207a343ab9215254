package gen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
)

// ClaudeOptions describe a session of Claude Code that is converted from one that Session made.
type ClaudeOptions struct {
	// ID is the session's id; "" keeps the id of the source.
	ID string
	// Agent, if set, makes the log of a sub-agent of the session with that ID.
	Agent string
	// Costs are the costs so far with which the session begins: those that a fork copied.
	Costs float64
	// Parent is the parent of the first entry.
	Parent string
}

// Claude returns the session in the format of Claude Code. An answer has a line for each of its blocks, which all repeat its usage; the
// parent of a parallel call's result is its call.
func Claude(log []byte) []byte {
	out, _ := ClaudeLog(log, ClaudeOptions{})
	return out
}

// ClaudeLog is Claude with options. It also returns the totals of the log.
func ClaudeLog(log []byte, o ClaudeOptions) ([]byte, Told) {
	list := entries(log)
	c := claude{o: o, cwd: quote(list[0].CWD), at: map[string]string{}, calls: map[string]string{}, told: Told{Sessions: 1}}
	if c.o.ID == "" {
		c.o.ID = list[0].ID
	}
	c.out.Grow(len(log) + len(log)/2)
	c.seed = fmt.Sprint(c.o.ID, o.Agent, o.Parent)
	if o.Agent == "" {
		c.metadata(`"mode","mode":"normal"`)
	}
	for i := range list[1:] {
		c.entry(&list[1+i])
	}
	if o.Agent == "" {
		c.costs()
		c.metadata(fmt.Sprintf(`"custom-title","customTitle":%s`, quote("Session "+c.o.ID[:8])))
		c.leaf()
	}
	return c.out.Bytes(), c.told
}

// claude is the state of writing a log.
type claude struct {
	o         ClaudeOptions
	out       bytes.Buffer
	told      Told
	cwd, seed string
	n         int               // lines with a uuid
	last      string            // uuid of the last one
	at        map[string]string // uuids of entries
	calls     map[string]string // uuids of calls
	prompts   int
	spent     float64
	model     string
}

// quote encodes a text as JSON.
func quote(text string) string { return `"` + escaped(text) + `"` }

// uuid makes the next uuid from the seed.
func (c *claude) uuid() string {
	h := fnv.New64a()
	fmt.Fprint(h, c.seed, c.n)
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", uint32(h.Sum64()), uint16(h.Sum64()>>32), h.Sum64()>>48&0xfff, c.n&0xfff, c.n)
}

// parent returns the uuid of an entry's parent.
func (c *claude) parent(e *entry) string {
	if e.ParentID == nil {
		return c.o.Parent
	}
	if uuid, ok := c.at[*e.ParentID]; ok {
		return uuid
	}
	return c.o.Parent // the entries before it have no line
}

// line writes an entry of the tree, with the members that the program gives all of them.
func (c *claude) line(e *entry, parent, body string) string {
	c.n++
	c.last = c.uuid()
	agent := ""
	if c.o.Agent != "" {
		agent = fmt.Sprintf(`"agentId":%q,`, c.o.Agent)
	}
	up := "null"
	if parent != "" {
		up = quote(parent)
	}
	fmt.Fprintf(&c.out, `{"parentUuid":%s,"isSidechain":%t,%s%s,"uuid":%q,"timestamp":%q,"userType":"external","entrypoint":"cli","cwd":%s,`+
		`"sessionId":%q,"version":"2.1.325","gitBranch":"main"}`+"\n", up, c.o.Agent != "", agent, body, c.last, e.Timestamp, c.cwd, c.o.ID)
	return c.last
}

// metadata writes a line outside the tree.
func (c *claude) metadata(body string) {
	fmt.Fprintf(&c.out, `{"type":%s,"sessionId":%q}`+"\n", body, c.o.ID)
}

// leaf names the leaf, as the program does after each turn.
func (c *claude) leaf() {
	c.metadata(fmt.Sprintf(`"last-prompt","lastPrompt":"prompt %d","leafUuid":%q`, c.prompts, c.last))
}

// costs writes the costs so far.
func (c *claude) costs() {
	if c.model != "" {
		total := c.o.Costs + c.spent
		c.metadata(fmt.Sprintf(`"cost-state","totalCostUSD":%v,"modelUsage":{%q:{"costUSD":%v}}`, total, c.model, total))
		c.told.Cost = c.spent
	}
}

// entry writes the lines of an entry. An entry that the program has no line for is left out: its children get its parent.
func (c *claude) entry(e *entry) {
	parent := c.parent(e)
	switch {
	case e.Message != nil:
		c.at[e.ID] = c.message(e, parent)
	case e.Type == "compaction":
		c.line(e, "", fmt.Sprintf(`"logicalParentUuid":%q,"type":"system","subtype":"compact_boundary","content":"Conversation compacted","isMeta":false,`+
			`"compactMetadata":{"trigger":"auto","preTokens":%s}`, parent, e.TokensBefore))
		c.told.Messages++
		c.at[e.ID] = c.line(e, c.last, fmt.Sprintf(`"type":"user","message":{"role":"user","content":%s},"isCompactSummary":true,"isVisibleInTranscriptOnly":true`, e.Summary))
	case e.Type == "custom_message":
		c.at[e.ID] = c.line(e, parent, fmt.Sprintf(`"type":"attachment","attachment":{"type":"queued_command"},"rendered":[{"content":%s}],"renderedRole":"user"`, e.Content))
	default:
		c.at[e.ID] = parent
	}
}

// message writes the lines of a message and returns the uuid of the last.
func (c *claude) message(e *entry, parent string) string {
	m := e.Message
	c.told.Messages++
	switch m.Role {
	case "user":
		return c.prompt(e, parent)
	case "toolResult":
		text := orEmpty(firstText(m))
		call := c.calls[m.ToolCallID]
		return c.line(e, call, fmt.Sprintf(`"type":"user","message":{"role":"user","content":[{"tool_use_id":%q,"type":"tool_result","content":%s,"is_error":%t}]},`+
			`"toolUseResult":{"stdout":%s,"interrupted":false},"sourceToolAssistantUUID":%q`, m.ToolCallID, text, m.IsError, text, call))
	case "bashExecution":
		return c.line(e, parent, fmt.Sprintf(`"type":"user","message":{"role":"user","content":%s}`, m.Output))
	}
	return c.answer(e, parent)
}

// prompt begins a turn. The program records what was queued before it and the state of files after it.
func (c *claude) prompt(e *entry, parent string) string {
	if c.o.Agent == "" {
		if c.prompts > 0 {
			c.leaf()
		}
		if c.prompts%4 == 1 {
			c.costs()
		}
		fmt.Fprintf(&c.out, `{"type":"queue-operation","operation":"enqueue","timestamp":%q,"sessionId":%q}`+"\n", e.Timestamp, c.o.ID)
	}
	c.prompts++
	at := c.line(e, parent, fmt.Sprintf(`"type":"user","message":{"role":"user","content":%s}`, orEmpty(firstText(e.Message))))
	fmt.Fprintf(&c.out, `{"type":"file-history-snapshot","messageId":%q,"snapshot":{"messageId":%q,"trackedFileBackups":{},"timestamp":%q},"isSnapshotUpdate":false}`+"\n",
		at, at, e.Timestamp)
	return at
}

// firstText returns the first text of a message.
func firstText(m *message) json.RawMessage {
	for _, b := range m.Content {
		if b.Type == "text" {
			return b.Text
		}
	}
	return nil
}

// answer writes a line for each block of an answer. An aborted turn has a line that no model wrote.
func (c *claude) answer(e *entry, parent string) string {
	m := e.Message
	if len(m.Content) == 0 {
		return c.line(e, parent, `"type":"assistant","isApiErrorMessage":true,"message":{"id":"`+c.uuid()+`","model":"<synthetic>","role":"assistant",`+
			`"type":"message","content":[{"type":"text","text":"API Error: Request was aborted."}],"usage":{"input_tokens":0,"output_tokens":0}}`)
	}
	c.model = "claude-opus-4-5"
	c.told.use(m.Usage)
	c.spent += float64(m.Usage.TotalTokens) / 1e6 // one dollar per million tokens of any kind
	u := fmt.Sprintf(`{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":%d,"service_tier":"standard"}`,
		m.Usage.Input, m.Usage.CacheWrite, m.Usage.CacheRead, m.Usage.Output)
	id := c.uuid()[:13]
	for i, b := range m.Content {
		body := ""
		switch b.Type {
		case "text":
			body = fmt.Sprintf(`{"type":"text","text":%s}`, b.Text)
		case "thinking":
			body = fmt.Sprintf(`{"type":"thinking","thinking":%s,"signature":%s}`, b.Thinking, orEmpty(b.ThinkingSignature))
		case "toolCall":
			body = fmt.Sprintf(`{"type":"tool_use","id":%s,"name":%s,"input":%s}`, b.ID, b.Name, b.Arguments)
		}
		parent = c.line(e, parent, fmt.Sprintf(`"message":{"id":"msg_%s","type":"message","role":"assistant","model":%q,"content":[%s],"stop_reason":"end_turn",`+
			`"stop_sequence":null,"usage":%s},"requestId":"req_%s","apiBlockIndex":%d,"type":"assistant"`, id, c.model, body, u, id, i))
		if b.Type == "toolCall" {
			var call string
			_ = json.Unmarshal(b.ID, &call) // it is a string
			c.calls[call] = parent
		}
	}
	return parent
}
