package find

import "fmt"

const (
	geminiPath   = ".gemini/tmp/p/chats/session-2026-05-01T10-00-0f8fad5b.jsonl"
	geminiHeader = `{"sessionId":"0f8fad5b-d9cb-469f-a165-70867728950e","projectHash":"x","startTime":"2026-05-01T10:00:00.000Z","lastUpdated":"2026-05-01T10:00:00.000Z","kind":"main"}` + "\n"
	qwenPath     = ".qwen/projects/-p/chats/0f8fad5b-d9cb-469f-a165-70867728950e.jsonl"
	qwenHeader   = `{"uuid":"first","parentUuid":null,"sessionId":"0f8fad5b-d9cb-469f-a165-70867728950e","timestamp":"2026-05-01T10:00:00.000Z","type":"user","cwd":"/p","version":"0.24.4","message":{"role":"user","parts":[{"text":"begin"}]}}` + "\n"
)

// geminiLine returns lines of Gemini CLI: messages, some of them repeated. Lines that take messages back or replace them are wild: the log
// is read anew after them.
func geminiLine(g *growing, kind string) string {
	switch kind {
	case "silent":
		return fmt.Sprintf(`{"$set":{"lastUpdated":"2026-05-01T10:%02d:00.000Z"}}`+"\n", g.n%60)
	case "name":
		return fmt.Sprintf(`{"$set":{"summary":"called %d"}}`+"\n", g.r.IntN(100))
	case "unname":
		return `{"$set":{"summary":""}}` + "\n"
	case "root", "orphan", "found", "forward":
		return fmt.Sprintf(`{"$rewindTo":"%s"}`+"\n", g.some(g.ids))
	case "opaque":
		return fmt.Sprintf(`{"sighting":"%s"}`+"\n", g.words())
	}
	id, _ := g.next(kind)
	at := fmt.Sprintf(`"timestamp":"2026-05-01T10:%02d:00.000Z"`, g.n%60)
	switch kind {
	case "made":
		return fmt.Sprintf(`{"$set":{"messages":[{"id":"%s",%s,"type":"user","content":[{"text":"%s"}]}]}}`+"\n", id, at, g.words())
	case "assistant":
		answer := fmt.Sprintf(`{"id":"%s",%s,"type":"gemini","tokens":{"input":%d,"output":2,"cached":0,"thoughts":0,"tool":0,"total":9},"model":"m%d"`, id, at, g.n, g.r.IntN(1+g.n/20))
		text := answer + `,"content":"` + g.words() + `"}` + "\n"
		if g.r.IntN(3) > 0 {
			return text
		}
		return text + answer + `,"content":"","toolCalls":[{"id":"c","name":"read","args":{},"result":"x"}]}` + "\n"
	case "tool":
		return fmt.Sprintf(`{"id":"%s",%s,"type":"user","content":[{"functionResponse":{"id":"c","name":"read","response":{"output":"%s"}}}]}`+"\n", id, at, g.words())
	case "odd":
		return fmt.Sprintf(`{"id":"%s",%s,"type":"gemini","content":7}`+"\n", id, at)
	}
	return fmt.Sprintf(`{"id":"%s",%s,"type":"user","content":[{"text":"%s"}]}`+"\n", id, at, g.words())
}

// qwenLine returns lines of Qwen Code.
func qwenLine(g *growing, kind string) string {
	id, parent := g.next(kind)
	up := "null"
	if parent != "" {
		up = `"` + parent + `"`
	}
	line := func(typ, more string, args ...any) string {
		return fmt.Sprintf(`{"uuid":"%s","parentUuid":%s,"sessionId":"0f8fad5b-d9cb-469f-a165-70867728950e","timestamp":"2026-05-01T10:%02d:00.000Z","type":"%s","cwd":"/p","version":"0.24.4"%s}`+"\n",
			id, up, g.n%60, typ, fmt.Sprintf(more, args...))
	}
	switch kind {
	case "silent", "label", "unlabel", "label nowhere", "labelled", "leaf":
		return line("system", `,"subtype":"ui_telemetry","systemPayload":{"uiEvent":{"n":%d}}`, g.n)
	case "name":
		return line("system", `,"subtype":"custom_title","systemPayload":{"customTitle":"called %d"}`, g.r.IntN(100))
	case "compaction":
		return line("system", `,"subtype":"chat_compression","systemPayload":{"compressedHistory":[{"role":"user","parts":[{"text":"%s"}]}]}`, g.words())
	case "opaque":
		return line("sighting", `,"of":"%s"`, g.words())
	case "odd":
		return line("assistant", `,"message":{"role":"model","parts":7}`)
	case "tool":
		return line("tool_result", `,"message":{"role":"user","parts":[{"functionResponse":{"id":"c","name":"read","response":{"output":"%s"}}}]}`, g.words())
	case "assistant":
		return line("assistant", `,"message":{"role":"model","parts":[{"text":"%s"}]},"model":"m%d","usageMetadata":{"promptTokenCount":%d,"candidatesTokenCount":2,"totalTokenCount":9}`,
			g.words(), g.r.IntN(1+g.n/20), g.n)
	}
	return line("user", `,"message":{"role":"user","parts":[{"text":"%s"}]}`, g.words())
}
