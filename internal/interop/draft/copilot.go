package draft

import (
	"fmt"
	"strings"
)

// copilot is the state of making a session of Copilot CLI.
type copilot struct {
	chance
	id    string
	lines []string
	last  string // id of the last event
	agent string // the sub-agent whose events these are
	calls []string
	n     int
}

// Copilot makes a session of Copilot CLI: calls with results that are late, missing or repeated, compactions, and events of sub-agents.
func Copilot(seed uint64) Session {
	c := &copilot{chance: newChance(seed, 5)}
	c.id = c.uuid(4)
	c.event("session.start", fmt.Sprintf(`{"sessionId":"%s","version":1,"producer":"copilot-agent","copilotVersion":"1.0.102","startTime":"%s","selectedModel":"gpt-5","context":{"cwd":"/home/user/project"}}`, c.id, stamp(0)))
	for range 2 + c.rnd.IntN(5) {
		c.prompt()
		c.step(c.answer, c.answer, c.call, c.call, c.call, c.subagent, c.odd)
		c.step(func() {}, func() {}, c.compact, c.resume, c.late, c.notify, c.clear, c.odd)
	}
	if c.one(4) {
		c.lines = c.damage(c.lines)
	}
	return Session{ID: c.id, Log: c.join(c.lines)}
}

// event writes an event, sometimes with members that mean nothing.
func (c *copilot) event(typ, data string) {
	c.n++
	id, parent, more := c.uuid(4), "null", ""
	if c.last != "" {
		parent = `"` + c.last + `"`
	}
	if c.agent != "" {
		more = `,"agentId":"` + c.agent + `"`
	}
	if c.one(40) {
		more += `,"ephemeral":` + c.pick("true", "false")
	}
	c.lines = append(c.lines, fmt.Sprintf(`{"type":"%s","data":%s,"id":"%s","timestamp":"%s","parentId":%s%s}`, typ, data, id, stamp(int64(c.n)*1000), parent, more))
	c.last = id
}

func (c *copilot) said() string { return quote(c.text(c.n)) }

func (c *copilot) prompt() {
	more := c.pick("", "", "", `,"transformedContent":`+quote(c.text(c.n)+" and more"), `,"transformedContent":""`, `,"source":"user"`, `,"source":"skill-frog"`,
		`,"source":"system"`, `,"attachments":[]`, `,"agentMode":"plan"`, `,"interactionId":"x"`)
	content := c.said()
	if c.one(12) {
		content = c.pick(`""`, `" "`)
	}
	c.event("user.message", `{"content":`+content+more+`}`)
}

func (c *copilot) answer() {
	c.event("assistant.turn_start", `{"turnId":"0"}`)
	content := c.said()
	if c.one(8) {
		content = c.pick(`""`, `" "`, `"\n"`)
	}
	c.event("assistant.message", fmt.Sprintf(`{"messageId":"m-%d","model":"gpt-5","content":%s%s}`, c.n, content,
		c.pick(`,"toolRequests":[]`, "", `,"toolRequests":[],"reasoningText":"hm","reasoningOpaque":"sig"`, `,"toolRequests":[],"phase":"final"`)))
	c.event("assistant.turn_end", `{"turnId":"0"}`)
}

// call writes an answer with calls, and their results: in another order, missing, failed or twice.
func (c *copilot) call() {
	var requests, ids []string
	for k := range 1 + c.rnd.IntN(3) {
		id := fmt.Sprintf("call-%d-%d", c.n, k)
		requests = append(requests, fmt.Sprintf(`{"toolCallId":"%s","name":"bash"%s}`, id, c.pick(`,"arguments":{"command":"ls"},"type":"function"`,
			`,"arguments":{"command":"ls"}`, `,"arguments":{},"type":"function"`, `,"type":"function"`, `,"arguments":"text","type":"custom"`,
			`,"arguments":"{\"a\":1}","type":"function"`, `,"arguments":[1],"type":"function"`, `,"arguments":{"b":1,"a":[1.50]},"toolTitle":"List"`)))
		ids = append(ids, id)
	}
	c.event("assistant.message", fmt.Sprintf(`{"messageId":"m-%d","model":"gpt-5","content":%s,"toolRequests":[%s]}`, c.n, c.pick(`""`, c.said()), strings.Join(requests, ",")))
	c.calls = append(c.calls, ids...)
	if c.one(4) {
		c.rnd.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	}
	for _, id := range ids {
		if c.one(3) {
			c.event("tool.execution_start", fmt.Sprintf(`{"toolCallId":"%s","toolName":"bash","arguments":{"command":"ls"}}`, id))
		}
		if c.one(8) {
			continue
		}
		c.result(id)
		if c.one(10) {
			c.result(id)
		}
		if c.one(10) {
			c.prompt()
		}
	}
	if !c.one(3) {
		c.answer()
	}
}

func (c *copilot) result(id string) {
	c.event("tool.execution_complete", fmt.Sprintf(`{"toolCallId":"%s",%s}`, id, c.pick(
		`"success":true,"result":{"content":`+c.said()+`}`, `"success":true,"result":{"content":`+c.said()+`,"detailedContent":"long"}`,
		`"success":true,"result":{"content":""}`, `"success":true`, `"success":false,"error":{"message":`+c.said()+`,"code":"x"}`,
		`"success":false,"error":{"message":""}`, `"success":false`, `"success":false,"result":{"content":"partly"},"error":{"message":"e"}`)))
}

// late writes a result where none is expected.
func (c *copilot) late() {
	if len(c.calls) > 0 {
		c.result(c.pick(append(c.calls, "nobody")...))
	}
}

func (c *copilot) compact() {
	c.event("session.compaction_start", `{}`)
	c.event("session.compaction_complete", c.pick(`{"success":true,"preCompactionTokens":900,"summaryContent":`+c.said()+`,"messagesRemoved":2}`,
		`{"success":true,"preCompactionTokens":900,"summaryContent":`+c.said()+`}`, `{"success":true}`, `{"success":true,"summaryContent":""}`, `{"success":false,"error":"e","summaryContent":"no"}`))
}

func (c *copilot) resume() {
	c.event("session.resume", fmt.Sprintf(`{"resumeTime":"%s","eventCount":%d%s}`, stamp(int64(c.n)*1000), len(c.lines), c.pick("", "", `,"sessionWasActive":true`, `,"continuePendingWork":true`, `,"sessionWasActive":false`)))
}

func (c *copilot) notify() {
	c.event("system.notification", fmt.Sprintf(`{"content":%s,"kind":%s}`, c.said(), c.pick(`{"type":"agent_completed","agentId":"a","agentType":"explore","status":"completed"}`,
		`{"type":"shell_completed","shellId":"1"}`, `{"type":"shell_detached_completed","shellId":"1"}`)))
}

func (c *copilot) clear() { c.event("session.context_cleared", `{"messagesCleared":3}`) }

// subagent writes a call, the events of the sub-agent, and the result.
func (c *copilot) subagent() {
	call := fmt.Sprintf("call-%d", c.n)
	c.event("assistant.message", fmt.Sprintf(`{"messageId":"m-%d","model":"gpt-5","content":"","toolRequests":[{"toolCallId":"%s","name":"task","arguments":{},"type":"function"}]}`, c.n, call))
	c.agent = c.uuid(4)
	c.event("subagent.started", fmt.Sprintf(`{"toolCallId":"%s","agentName":"explore","agentDisplayName":"Explore","agentDescription":"looks"}`, call))
	c.prompt()
	c.step(c.answer, c.call, c.compact)
	c.event("subagent.completed", fmt.Sprintf(`{"toolCallId":"%s","agentName":"explore","agentDisplayName":"Explore"}`, call))
	c.agent = ""
	c.result(call)
}

func (c *copilot) odd() {
	c.step(
		func() { c.event("future.event", `{"any":1}`) },
		func() {
			c.event("session.truncation", `{"tokenLimit":1,"preTruncationTokensInMessages":9,"preTruncationMessagesLength":3,"postTruncationTokensInMessages":1,"postTruncationMessagesLength":1,"tokensRemovedDuringTruncation":8,"messagesRemovedDuringTruncation":2,"performedBy":"x"}`)
		},
		func() { c.event("session.model_change", `{"newModel":"gpt-5"}`) },
		func() { c.event("session.title_changed", `{"title":"A title"}`) },
		func() { c.event("system.message", `{"role":"system","content":"prompt"}`) },
		func() { c.event("user.message", `{"content":`+quote("line\u2028break")+`}`) },
		func() {
			c.event("user.message", `{"content":"look","attachments":[{"type":"blob","data":"`+png+`","mimeType":"image/png"}]}`)
		},
		func() { c.event("assistant.idle", `{}`) },
		c.answer, c.prompt,
	)
}
