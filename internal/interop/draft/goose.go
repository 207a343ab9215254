package draft

import (
	"fmt"
	"strings"
)

// goose is the state of making a session of Goose.
type goose struct {
	chance
	id    string
	lines []string
	calls []string
	n     int
}

// Goose makes a session of Goose: contents of all types, rows that the model or people do not see, and calls without their results.
func Goose(seed uint64) Session {
	g := &goose{chance: newChance(seed, 6), id: fmt.Sprintf("20260301_%d", seed)}
	model := g.pick(`,"provider_name":"openai","model_config_json":"{\"model_name\":\"gpt-4o\"}"`, "")
	g.lines = append(g.lines, fmt.Sprintf(`{"sessions":{"id":"%s","name":"A name","working_dir":"/work","created_at":"2026-03-01 08:00:00"%s}}`, g.id, model),
		fmt.Sprintf(`{"messages":{"message_id":"%s","session_id":"%s","role":"user","content_json":[{"type":"text","text":"begin"}],"created_timestamp":1772352000}}`, g.uuid(4), g.id))
	for range 2 + g.rnd.IntN(5) {
		g.prompt()
		g.step(g.answer, g.answer, g.call, g.call, g.call, g.odd)
		g.step(func() {}, func() {}, g.late, g.odd, g.prompt, g.answer)
	}
	return Session{ID: g.id, Log: []byte(strings.Join(g.lines, "\n") + "\n")}
}

func (g *goose) row(role string, contents ...string) {
	g.n++
	meta := g.pick("", "", "", "", `{"userVisible":true,"agentVisible":true}`, `{"userVisible":false,"agentVisible":true}`)
	if g.one(12) {
		meta = g.pick(`{"userVisible":true,"agentVisible":false}`, `{"agentVisible":false}`, `{"userVisible":false,"agentVisible":false}`, `{}`)
	}
	if meta != "" {
		meta = `,"metadata_json":` + meta
	}
	g.lines = append(g.lines, fmt.Sprintf(`{"messages":{"message_id":"%s","session_id":"%s","role":"%s","content_json":[%s],"created_timestamp":%d%s}}`,
		g.uuid(4), g.id, role, strings.Join(contents, ","), 1772352000+2*g.n, meta))
}

func (g *goose) said() string {
	text := quote(g.text(g.n))
	if g.one(10) {
		text = g.pick(`""`, `" "`, `"\n"`, `"end \t"`, quote("\u00a0pad\u2003"))
	}
	return `{"type":"text","text":` + text + g.pick("", "", "", "", "", `,"annotations":{"audience":["assistant"]}`, `,"annotations":{"audience":["user","assistant"]}`, `,"_meta":{"a":1}`) + `}`
}

// gooseHidden is not for the model. It stands beside other contents: of a row that has nothing else the program sends more than this
// library says.
const gooseHidden = `{"type":"text","text":"hidden","annotations":{"audience":["user"]}}`

const gooseImage = `{"type":"image","data":"` + png + `","mimeType":"image/png"}`

func (g *goose) prompt() {
	g.step(
		func() { g.row("user", g.said()) },
		func() { g.row("user", g.said()) },
		func() { g.row("user", g.said(), g.said()) },
		func() { g.row("user", g.said(), gooseImage) },
		func() { g.row("user", g.said(), gooseHidden) },
		func() { g.row("user", gooseImage, g.said(), g.said()) },
	)
}

func (g *goose) answer() {
	g.step(
		func() { g.row("assistant", g.said()) },
		func() { g.row("assistant", g.said(), g.said()) },
		func() { g.row("assistant", g.said(), gooseHidden, g.said()) },
		func() { g.row("assistant", `{"type":"thinking","thinking":"hm","signature":"s"}`, g.said()) },
		func() { g.row("assistant", g.said(), `{"type":"redactedThinking","data":"x"}`, g.said()) },
		func() { g.row("assistant", g.said(), gooseImage, g.said()) },
		func() {
			g.row("assistant", g.said(), `{"type":"systemNotification","notificationType":"inlineMessage","msg":"NOTE"}`, g.said())
		},
	)
}

// call writes an answer with calls, and results in one row or several, some of them missing, twice, or with a text.
func (g *goose) call() {
	contents, ids := []string{}, []string{}
	for k := range 1 + g.rnd.IntN(3) {
		id := fmt.Sprintf("call_%d_%d", g.n, k)
		call := fmt.Sprintf(`{"status":"success","value":{"name":"%s"%s}}`, g.pick("shell", "shell", "developer__shell", "a.b c", "é"),
			g.pick(`,"arguments":{"command":"ls"}`, `,"arguments":{}`, `,"arguments":{"b":1,"a":[1.50,null]}`, `,"arguments":"text"`, `,"arguments":[1]`, ""))
		if g.one(12) {
			call = `{"status":"error","error":"-32602: no JSON"}`
		}
		contents = append(contents, fmt.Sprintf(`{"type":"toolRequest","id":"%s","toolCall":%s}`, id, call))
		ids = append(ids, id)
	}
	if g.one(2) {
		contents = append([]string{g.said()}, contents...)
	}
	if g.one(6) {
		contents = append(contents, g.said())
	}
	g.row("assistant", contents...)
	g.calls = append(g.calls, ids...)
	var results []string
	for _, id := range ids {
		if !g.one(8) {
			results = append(results, g.result(id))
		}
	}
	if g.one(8) && len(results) > 0 {
		results = append(results, results[0])
	}
	if g.one(8) {
		results = append(results, g.said())
	}
	if g.one(2) {
		g.row("user", results...)
	} else {
		for _, r := range results {
			g.row("user", r)
		}
	}
	if !g.one(3) {
		g.answer()
	}
}

func (g *goose) result(id string) string {
	inside := []string{g.said(), `{"type":"text","text":"for people","annotations":{"audience":["user"]}}`, gooseImage, `{"type":"resource","resource":{"uri":"file:///a","text":"of a file"}}`}
	var list []string
	for range g.rnd.IntN(3) {
		list = append(list, g.pick(inside[0], inside[0], inside[0], inside[1], inside[2], inside[3]))
	}
	state := fmt.Sprintf(`{"status":"success","value":{"content":[%s],"isError":%s}}`, strings.Join(list, ","), g.pick("false", "false", "true"))
	if g.one(8) {
		state = `{"status":"error","error":` + g.pick(`"-32002: no"`, `"text"`, `""`) + `}`
	}
	return fmt.Sprintf(`{"type":"toolResponse","id":"%s","toolResult":%s}`, id, state)
}

// late writes a result where none is expected.
func (g *goose) late() {
	g.row(g.pick("user", "user", "assistant"), g.result(g.pick(append(g.calls, "nobody")...)))
}

func (g *goose) odd() {
	g.step(
		func() { g.row(g.pick("user", "assistant")) },
		func() { g.row("tool", g.said()) },
		func() { g.row("user", `{"type":"thinking","thinking":"hm","signature":"s"}`, g.said()) },
		func() { g.row("assistant", `{"type":"thinking","thinking":"alone","signature":""}`) },
		func() {
			g.row("user", `{"type":"toolRequest","id":"u","toolCall":{"status":"success","value":{"name":"x","arguments":{}}}}`)
		},
		func() { g.row("user", g.said(), `{"type":"document","data":"JVBERi0=","mimeType":"application/pdf"}`) },
		func() { g.row("user", `{"type":"text","text":"line`+"\u2028"+`break"}`) },
		func() {
			g.row("user", `{"type":"text","text":"<turn-context>\n</turn-context>"}`)
		},
		func() {
			g.row("assistant", `{"type":"systemNotification","notificationType":"thinkingMessage","msg":"NOTE"}`)
		},
		g.answer, g.prompt,
	)
}
