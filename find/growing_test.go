package find

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// A log of each family grows in all ways that its agent uses, and in damaged ones, cut at any byte. The index must then be as if all of the
// log had been read: summary, signatures, ids and what is needed to continue.

// growingFamily describes how a family writes.
type growingFamily struct {
	name, path, header string
	// line returns a record of a kind, "" for a kind that the family does not have.
	line func(g *growing, kind string) string
	// runs: the logs are those of runs, which only a search reads.
	runs bool
	// roots, if set, are used instead of the agents' own places.
	roots string
}

var growingFamilies = []*growingFamily{
	{name: "omp", path: ".omp/agent/sessions/-p/a.jsonl", header: fmt.Sprintf(header, "s1", ""), line: piLine},
	{name: "omp with a title", path: ".omp/agent/sessions/-p/a.jsonl",
		header: `{"type":"title","title":"a title slot                "}` + "\n" + fmt.Sprintf(header, "s1", ""), line: piLine},
	{name: "pi", path: ".pi/agent/sessions/--p--/a.jsonl", header: fmt.Sprintf(header, "s1", ""), line: piLine},
	{name: "operator", path: ".operator/sessions/a.jsonl", line: operatorLine,
		header: `{"type":"session","version":3,"id":"o1","timestamp":1755000000.25,"cwd":"/p"}` + "\n"},
	{name: "operator-doc", path: ".operator/profiles/default/sessions/a.jsonl", line: operatorLine,
		header: `{"type":"session_header","id":"o1","timestamp":"2025-08-12T12:00:00Z","cwd":"/p"}` + "\n"},
	{name: "wave", path: ".wave/projects/p/0f8fad5b-d9cb-469f-a165-70867728950e.jsonl", line: waveLine,
		header: `{"type":"metadata","workdir":"/p","createdAt":"2026-03-01T08:00:00.000Z"}` + "\n"},
	{name: "wave-doc", path: ".wave/projects/-q/1efaa2b0-1111-6222-8333-444455556666.jsonl", line: waveLine,
		header: `{"role":"user","blocks":[{"type":"text","content":"the first words"}],"timestamp":"2026-03-01T08:00:00.000Z"}` + "\n"},
	{name: "codelia", path: ".codelia/sessions/2026/04/01/a0a0a014-0000-4000-8000-000000000014.jsonl", line: codeliaLine, runs: true,
		header: codeliaHeader},
	{name: "codelia as sessions", path: "copied/a0a0a014-0000-4000-8000-000000000014.jsonl", line: codeliaLine,
		header: codeliaHeader, roots: "copied"},
	{name: "claude", path: ".claude/projects/-p/c1a0de00-0000-4000-8000-000000000001.jsonl", line: claudeLine, header: claudeHeader},
	{name: "codex", path: codexPath, header: fmt.Sprintf(codexHeader, "", "legacy"), line: codexLine},
	{name: "gemini", path: geminiPath, header: geminiHeader, line: geminiLine},
	{name: "qwen", path: qwenPath, header: qwenHeader, line: qwenLine},
	{name: "copilot", path: copilotPath, header: copilotHeader, line: copilotLine},
	{name: "codex with ordinals", path: codexPath, header: fmt.Sprintf(codexHeader, `"ordinal":0,`, "paginated"), line: codexLine},
}

const (
	codexPath   = ".codex/sessions/2026/05/01/rollout-2026-05-01T10-00-00-0f8fad5b-d9cb-469f-a165-70867728950e.jsonl"
	codexHeader = `{"timestamp":"2026-05-01T10:00:00.000Z",%s"type":"session_meta","payload":{"id":"0f8fad5b-d9cb-469f-a165-70867728950e",` +
		`"timestamp":"2026-05-01T10:00:00.000Z","cwd":"/p","originator":"codex_cli_rs","cli_version":"0.100.0","history_mode":%q}}` + "\n"
)

const codeliaHeader = `{"type":"header","schema_version":1,"run_id":"a0a0a014-0000-4000-8000-000000000014","started_at":"2026-04-01T23:59:58.000Z"}` + "\n"

// What is appended. The wild kinds are damage, or change what older entries mean.
var (
	plainKinds = []string{"user", "assistant", "assistant", "assistant", "tool", "branch", "label", "unlabel", "name", "unname",
		"compaction", "opaque", "silent", "blob", "leaf", "labelled"}
	wildKinds = []string{"root", "orphan", "found", "again", "no id", "garbage", "glued", "nul", "header", "blank", "crlf", "made", "forward",
		"label nowhere", "odd"}
)

// growing is a log in the making.
type growing struct {
	r      *rand.Rand
	family *growingFamily
	text   string
	ids    []string
	lost   []string // ids that are named, but missing
	labels []string
	n      int
	parent string // of the next entry
}

func (g *growing) words() string {
	var b strings.Builder
	for range 20 + g.r.IntN(400) {
		fmt.Fprintf(&b, "word%d ", g.r.IntN(5000))
	}
	return b.String()
}

func (g *growing) some(list []string) string {
	if len(list) == 0 {
		return "nobody"
	}
	// Usually one of the last entries: an agent goes back a few steps.
	if g.r.IntN(4) > 0 {
		list = list[max(0, len(list)-10):]
	}
	return list[g.r.IntN(len(list))]
}

// next returns the id and the parent of an entry of a kind.
func (g *growing) next(kind string) (id, parent string) {
	g.n++
	id, parent = fmt.Sprintf("e%07d", g.n), g.parent
	switch kind {
	case "branch":
		parent = g.some(g.ids)
	case "root":
		parent = ""
	case "orphan":
		parent = fmt.Sprintf("lost%d", g.n)
		g.lost = append(g.lost, parent)
	case "forward":
		parent = fmt.Sprintf("e%07d", g.n+1+g.r.IntN(3))
	case "found":
		id = g.some(g.lost)
	case "again":
		id = g.some(g.ids)
	case "made": // an id like those that treeline makes up
		id = fmt.Sprintf("%08x", g.r.Uint32())
	}
	g.parent = id
	g.ids = append(g.ids, id)
	return id, parent
}

// append returns the text to append for a kind.
func (g *growing) append(kind string) string {
	switch kind {
	case "garbage":
		return "no record {\n"
	case "nul":
		return "\x00\x00\x00\n"
	case "blank":
		return "\n  \n"
	case "header":
		return g.family.header
	case "crlf":
		return strings.TrimSuffix(g.family.line(g, "user"), "\n") + "\r\n"
	case "glued":
		return strings.ReplaceAll(g.family.line(g, "silent")+g.family.line(g, "user"), "\n", "") + "\n"
	}
	if line := g.family.line(g, kind); line != "" {
		return line
	}
	return g.family.line(g, "assistant")
}

func quoteOrNull(s string) string {
	if s == "" {
		return "null"
	}
	return `"` + s + `"`
}

func piLine(g *growing, kind string) string {
	id, parent := g.next(kind)
	front := fmt.Sprintf(`"id":"%s","parentId":%s,"timestamp":"2026-05-01T10:%02d:00.000Z"`, id, quoteOrNull(parent), g.n%60)
	switch kind {
	case "no id":
		front = fmt.Sprintf(`"parentId":%s,"timestamp":"2026-05-01T10:00:00.000Z"`, quoteOrNull(parent))
		g.ids, g.parent = g.ids[:len(g.ids)-1], parent
	case "name":
		return fmt.Sprintf(`{"type":"session_info",%s,"name":"called %d"}`+"\n", front, g.n)
	case "unname":
		return fmt.Sprintf(`{"type":"session_info",%s,"name":""}`+"\n", front)
	case "label", "label nowhere":
		target := g.some(g.ids)
		if kind != "label" {
			target = "nowhere"
		}
		g.labels = append(g.labels, target)
		return fmt.Sprintf(`{"type":"label",%s,"targetId":"%s","label":"here %d"}`+"\n", front, target, g.n)
	case "unlabel":
		return fmt.Sprintf(`{"type":"label",%s,"targetId":"%s"}`+"\n", front, g.some(append(slices.Clone(g.labels), g.ids[0])))
	case "labelled": // the conversation continues below a label
		return fmt.Sprintf(`{"type":"label",%s,"targetId":"%s","label":"on"}`+"\n", front, id) + piLine(g, "user")
	case "compaction":
		return fmt.Sprintf(`{"type":"compaction",%s,"summary":"%s","shortSummary":"short %d","firstKeptEntryId":"%s"}`+"\n",
			front, g.words(), g.n, g.some(g.ids))
	case "opaque":
		return fmt.Sprintf(`{"type":"sighting",%s,"of":"%s","below":"%s"}`+"\n", front, g.words(), parent)
	case "silent":
		return fmt.Sprintf(`{"type":"thinking_level_change",%s,"thinkingLevel":"high"}`+"\n", front)
	case "leaf":
		return ""
	case "odd":
		return fmt.Sprintf(`{"type":"message",%s,"message":{"role":"user","content":12}}`+"\n", front)
	case "blob":
		return fmt.Sprintf(`{"type":"message",%s,"message":{"role":"user","content":[{"type":"image","data":"blob:sha256:%064x","mimeType":"image/png"}]}}`+"\n", front, g.n)
	case "tool":
		return fmt.Sprintf(`{"type":"message",%s,"message":{"role":"toolResult","toolCallId":"c","toolName":"read","content":[{"type":"text","text":"%s"}]}}`+"\n", front, g.words())
	case "assistant":
		return fmt.Sprintf(`{"type":"message",%s,"message":{"role":"assistant","provider":"p","model":"m%d","content":[{"type":"text","text":"%s"}],`+
			`"usage":{"input":%d,"output":2,"cost":{"total":0.1%d}}}}`+"\n", front, g.r.IntN(1+g.n/20), g.words(), g.n, g.n)
	}
	return fmt.Sprintf(`{"type":"message",%s,"message":{"role":"user","content":"%s"}}`+"\n", front, g.words())
}

func operatorLine(g *growing, kind string) string {
	id, parent := g.next(kind)
	front := fmt.Sprintf(`"id":"%s","timestamp":%d.25`, id, 1755000000+g.n)
	if parent != "" {
		front += fmt.Sprintf(`,"parent_id":"%s"`, parent)
	}
	role := "user"
	switch kind {
	case "no id":
		front = fmt.Sprintf(`"timestamp":%d.25,"parent_id":"%s"`, 1755000000+g.n, parent)
		g.ids, g.parent = g.ids[:len(g.ids)-1], parent
	case "name":
		return fmt.Sprintf(`{%s,"type":"session_info","name":"called %d"}`+"\n", front, g.n)
	case "unname":
		return fmt.Sprintf(`{%s,"type":"session_info","name":""}`+"\n", front)
	case "label", "label nowhere":
		target := g.some(g.ids)
		if kind != "label" {
			target = "nowhere"
		}
		g.labels = append(g.labels, target)
		return fmt.Sprintf(`{%s,"type":"label","label":"here %d","target_id":"%s"}`+"\n", front, g.n, target)
	case "unlabel":
		return fmt.Sprintf(`{%s,"type":"label","label":null,"target_id":"%s"}`+"\n", front, g.some(append(slices.Clone(g.labels), g.ids[0])))
	case "leaf":
		return fmt.Sprintf(`{%s,"type":"leaf","target_id":"%s"}`+"\n", front, g.some(g.ids)) + operatorLine(g, "branch")
	case "compaction":
		return fmt.Sprintf(`{%s,"type":"compaction","summary":"%s","first_kept_entry_id":"%s","tokens_before":5,"from_hook":false}`+"\n",
			front, g.words(), g.some(g.ids))
	case "opaque":
		return fmt.Sprintf(`{%s,"type":"otter_sighting","where":"%s","below":"%s"}`+"\n", front, g.words(), parent)
	case "silent":
		return fmt.Sprintf(`{%s,"type":"thinking_level_change","thinking_level":"high"}`+"\n", front)
	case "assistant":
		role = "assistant"
	}
	return fmt.Sprintf(`{%s,"type":"message","message":{"contents":[{"type":"text","content":"%s"}],"id":"m%d","timestamp":1755000000.75,"role":"%s",`+
		`"model":{"provider_id":"p","model_id":"m%d"},"usage":{"input_tokens":%d,"output_tokens":3,"cost":{"total":0.1%d}}}}`+"\n",
		front, g.words(), g.n, role, g.r.IntN(1+g.n/20), g.n, g.n)
}

func waveLine(g *growing, kind string) string {
	id, _ := g.next(kind)
	front := fmt.Sprintf(`"timestamp":"2026-03-01T08:%02d:01.000Z","id":"%s"`, g.n%60, id)
	switch kind {
	case "no id":
		front = fmt.Sprintf(`"timestamp":"2026-03-01T08:%02d:01.000Z"`, g.n%60)
		g.ids = g.ids[:len(g.ids)-1]
	case "compaction": // the kept messages are written again after it
		text := fmt.Sprintf(`{%s,"role":"assistant","blocks":[{"type":"compact","content":"%s"}]}`+"\n", front, g.words())
		for _, kept := range g.ids[max(0, len(g.ids)-1-g.r.IntN(4)) : len(g.ids)-1] {
			if !strings.Contains(text, `"`+kept+`"`) {
				text += fmt.Sprintf(`{"timestamp":"2026-03-01T08:00:01.000Z","id":"%s","role":"user","blocks":[{"type":"text","content":"kept %s"}]}`+"\n", kept, kept)
			}
		}
		return text
	case "opaque":
		return fmt.Sprintf(`{"type":"sighting",%s,"of":"%s"}`+"\n", front, g.words())
	case "silent":
		return fmt.Sprintf(`{%s,"role":"assistant","blocks":[]}`+"\n", front)
	case "odd":
		return fmt.Sprintf(`{%s,"role":"nobody","blocks":[{"type":"text","content":7}]}`+"\n", front)
	case "tool":
		return fmt.Sprintf(`{%s,"role":"assistant","blocks":[{"type":"tool","id":"t%d","name":"Read","parameters":"{\"path\":\"a\"}","result":"%s","stage":"end"}]}`+"\n", front, g.n, g.words())
	case "assistant":
		return fmt.Sprintf(`{%s,"role":"assistant","blocks":[{"type":"text","content":"%s"}],"usage":{"prompt_tokens":%d,"completion_tokens":2,"total_tokens":%d,"model":"m%d"}}`+"\n",
			front, g.words(), g.n, g.n+2, g.r.IntN(1+g.n/20))
	}
	return fmt.Sprintf(`{%s,"role":"user","blocks":[{"type":"text","content":"%s"}]}`+"\n", front, g.words())
}

func codeliaLine(g *growing, kind string) string {
	g.next(kind)
	front := fmt.Sprintf(`"run_id":"a0a0a014-0000-4000-8000-000000000014","ts":"2026-04-01T23:59:58.%03dZ"`, g.n%1000)
	switch kind {
	case "user":
		return fmt.Sprintf(`{"type":"run.start",%s,"input":{"type":"text","text":"%s"}}`+"\n", front, g.words())
	case "silent":
		return fmt.Sprintf(`{"type":"run.status",%s,"status":"running"}`+"\n", front)
	case "tool":
		return fmt.Sprintf(`{"type":"tool.output",%s,"tool":"read","tool_call_id":"c","result_raw":"%s"}`+"\n", front, g.words())
	case "opaque":
		return fmt.Sprintf(`{"type":"sighting",%s,"of":"a heron"}`+"\n", front)
	case "odd":
		return fmt.Sprintf(`{"type":"llm.response",%s,"output":7}`+"\n", front)
	}
	return fmt.Sprintf(`{"type":"llm.response",%s,"seq":%d,"output":{"messages":[{"role":"assistant","content":"%s"}],"usage":{"model":"m-%d","input_tokens":5,"output_tokens":5,"total_tokens":10}}}`+"\n",
		front, g.n, g.words(), g.r.IntN(1+g.n/20))
}

func codexLine(g *growing, kind string) string {
	g.next(kind)
	line := func(typ, payload string, args ...any) string {
		ordinal, n := "", g.n
		switch {
		case kind == "again":
			n = 1 + g.r.IntN(g.n)
		case kind == "no id":
			n = 0
		}
		if strings.Contains(g.family.header, "ordinal") && n > 0 {
			ordinal = fmt.Sprintf(`"ordinal":%d,`, n)
		}
		return fmt.Sprintf(`{"timestamp":"2026-05-01T10:%02d:00.000Z",%s"type":%q,"payload":{%s}}`+"\n", g.n%60, ordinal, typ, fmt.Sprintf(payload, args...))
	}
	switch kind {
	case "silent":
		return line("event_msg", `"type":"task_started","turn_id":"t%d"`, g.n)
	case "root", "forward", "orphan", "found":
		return line("event_msg", `"type":"thread_rolled_back","num_turns":%d`, g.r.IntN(4))
	case "label":
		return line("turn_context", `"turn_id":"t%d","model":"m"`, g.n)
	case "label nowhere", "made":
		return line("turn_context", `"turn_id":"t%d","model":"m%d"`, g.n, g.r.IntN(3))
	case "unlabel", "odd":
		return line("event_msg", `"type":"token_count","info":{"total_token_usage":{"total_tokens":%d},"last_token_usage":{"input_tokens":%d,"total_tokens":%d}}`,
			g.n-g.n%3, g.n, g.n)
	case "name":
		return line("response_item", `"type":"message","role":"developer","content":[{"type":"input_text","text":"<permissions instructions>%s"}]`, g.words())
	case "unname":
		return line("response_item", `"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>%s</environment_context>"}]`, g.words())
	case "compaction":
		return line("compacted", `"message":"%s","replacement_history":[]`, g.words())
	case "opaque":
		return line("sighting", `"of":"%s"`, g.words())
	case "tool":
		return line("response_item", `"type":"function_call_output","call_id":"c","output":"%s"`, g.words())
	case "user":
		return line("response_item", `"type":"message","role":"user","content":[{"type":"input_text","text":"%s"}]`, g.words())
	}
	return line("response_item", `"type":"message","role":"assistant","content":[{"type":"output_text","text":"%s"}]`, g.words())
}
