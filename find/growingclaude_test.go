package find

import (
	"fmt"
	"slices"
)

const claudeHeader = `{"type":"mode","mode":"normal","sessionId":"c1a0de00-0000-4000-8000-000000000001"}` + "\n"

// claudeLine returns lines of Claude Code. An answer has several lines with the same message, and metadata stands between them.
func claudeLine(g *growing, kind string) string {
	meta := func(format string, args ...any) string {
		return fmt.Sprintf(`{`+format+`,"sessionId":"c1a0de00-0000-4000-8000-000000000001"}`+"\n", args...)
	}
	switch kind {
	case "name":
		return meta(`"type":"custom-title","customTitle":"called %d"`, g.r.IntN(100))
	case "unname":
		return meta(`"type":"custom-title","customTitle":""`)
	case "silent":
		return meta(`"type":"queue-operation","operation":"enqueue"`)
	case "opaque":
		return meta(`"type":"sighting","of":"%s"`, g.words())
	case "leaf":
		return meta(`"type":"last-prompt","lastPrompt":"%d","leafUuid":"%s"`, g.n, g.some(g.ids))
	case "label", "label nowhere":
		target := g.some(g.ids)
		if kind != "label" {
			target = "nowhere"
		}
		g.labels = append(g.labels, target)
		return meta(`"type":"treeline-label","targetUuid":"%s","label":"here %d"`, target, g.n)
	case "unlabel":
		return meta(`"type":"treeline-label","targetUuid":"%s","label":""`, g.some(append(slices.Clone(g.labels), g.ids[0])))
	case "assistant", "tool":
		return claudeAnswer(g, kind)
	}
	switch kind {
	case "compaction":
		return claudeEntry(g, "root", `"type":"system","subtype":"compact_boundary","content":"Conversation compacted","compactMetadata":{"trigger":"auto"}`) +
			claudeEntry(g, "user", fmt.Sprintf(`"type":"user","isCompactSummary":true,"message":{"role":"user","content":"%s"}`, g.words()))
	case "odd":
		return claudeEntry(g, "user", `"type":"user","message":{"role":"user","content":12}`)
	case "blob":
		return claudeEntry(g, "user", fmt.Sprintf(`"type":"user","message":{"role":"user","content":[{"type":"image","source":{"type":"url","url":"blob:sha256:%064x"}}]}`, g.n))
	case "labelled": // the conversation continues below metadata
		return claudeLine(g, "label") + claudeLine(g, "user")
	}
	return claudeEntry(g, kind, fmt.Sprintf(`"type":"user","message":{"role":"user","content":"%s"}`, g.words()))
}

// claudeEntry returns an entry of the tree with the members that all entries have.
func claudeEntry(g *growing, kind, body string) string {
	id, parent := g.next(kind)
	uuid := fmt.Sprintf(`"uuid":"%s",`, id)
	if kind == "no id" {
		uuid = ""
		g.ids, g.parent = g.ids[:len(g.ids)-1], parent
	}
	return fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,%s,%s"timestamp":"2026-05-01T10:%02d:00.000Z","cwd":"/p","sessionId":"c1a0de00-0000-4000-8000-000000000001"}`+"\n",
		quoteOrNull(parent), body, uuid, g.n%60)
}

// claudeAnswer returns an answer of one to three lines, or two calls with their results. Its usage grows from line to line.
func claudeAnswer(g *growing, kind string) (text string) {
	message, model := g.n, g.r.IntN(1+g.n/20)
	piece := func(block string) {
		text += claudeEntry(g, "assistant", fmt.Sprintf(`"type":"assistant","message":{"id":"msg_%d","role":"assistant","model":"m%d","content":[%s],"usage":{"input_tokens":%d,"output_tokens":%d}}`,
			message, model, block, message, g.n))
		if g.r.IntN(3) == 0 {
			text += claudeLine(g, "silent")
		}
	}
	if kind == "assistant" {
		for range 1 + g.r.IntN(3) {
			piece(fmt.Sprintf(`{"type":"text","text":"%s"}`, g.words()))
		}
		return text
	}
	var calls []string
	for k := range 2 {
		piece(fmt.Sprintf(`{"type":"tool_use","id":"call_%d_%d","name":"Read","input":{"path":"a"}}`, message, k))
		calls = append(calls, g.parent)
	}
	for k, call := range calls {
		g.parent = call
		text += claudeEntry(g, "user", fmt.Sprintf(`"type":"user","message":{"role":"user","content":[{"tool_use_id":"call_%d_%d","type":"tool_result","content":"%s"}]}`, message, k, g.words()))
	}
	return text
}
