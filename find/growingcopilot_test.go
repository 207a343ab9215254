package find

import "fmt"

const (
	copilotPath   = ".copilot/session-state/0f8fad5b-d9cb-469f-a165-70867728950e/events.jsonl"
	copilotHeader = `{"type":"session.start","data":{"sessionId":"0f8fad5b-d9cb-469f-a165-70867728950e","version":1,"producer":"copilot-agent","copilotVersion":"1.0.102",` +
		`"startTime":"2026-05-01T10:00:00.000Z","context":{"cwd":"/p"}},"id":"0f8fad5b-0000-4000-8000-000000000000","timestamp":"2026-05-01T10:00:00.000Z","parentId":null}` + "\n"
)

// copilotLine returns events of Copilot CLI. Those of sub-agents are wild: if a sub-agent wrote before the last chunk, the log is read
// anew.
func copilotLine(g *growing, kind string) string {
	id, parent := g.next(kind)
	agent := ""
	switch kind {
	case "root", "orphan", "found", "forward":
		agent = fmt.Sprintf(`,"agentId":"agent%d"`, g.r.IntN(3))
	}
	line := func(typ, data string, args ...any) string {
		return fmt.Sprintf(`{"type":"%s","data":{%s},"id":"%s","timestamp":"2026-05-01T10:%02d:00.000Z","parentId":"%s"%s}`+"\n",
			typ, fmt.Sprintf(data, args...), id, g.n%60, parent, agent)
	}
	switch kind {
	case "silent", "label", "unlabel", "label nowhere", "labelled", "leaf":
		return line("assistant.turn_end", `"turnId":"%d"`, g.n)
	case "name", "unname":
		return line("session.title_changed", `"title":"called %d"`, g.r.IntN(100))
	case "compaction":
		return line("session.compaction_complete", `"success":true,"summaryContent":"%s"`, g.words())
	case "opaque":
		return line("sighting", `"of":"%s"`, g.words())
	case "odd":
		return line("assistant.message", `"messageId":"m","content":7`)
	case "tool":
		return line("tool.execution_complete", `"toolCallId":"c","success":true,"result":{"content":"%s"}`, g.words())
	case "assistant":
		if g.r.IntN(3) == 0 {
			return line("session.usage_record", `"usage":{"model":"m%d","apiCallId":"call%d","inputTokens":%d,"outputTokens":2}`, g.n/200, g.n, g.n)
		}
		return line("assistant.message", `"messageId":"m%d","content":"%s","model":"m%d"`, g.n, g.words(), g.n/200)
	}
	return line("user.message", `"content":"%s"`, g.words())
}
