package gen

import (
	"bytes"
	"fmt"
)

// Hostile is a dimension in which a log can grow while everything else stays small. An operation that is quadratic in one of
// them takes hours on a file of some megabytes.
type Hostile struct {
	Name string
	// record appends the nth of count records.
	record func(b *bytes.Buffer, n, count int)
	agent  agent
}

// agent is the path of an agent's session, and its beginning.
type agent struct{ path, header string }

var (
	omp  = agent{".omp/agent/sessions/-hostile/a.jsonl", `{"type":"session","version":3,"id":"hostile","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/hostile"}` + "\n"}
	wave = agent{".wave/projects/hostile/1efaa2c8-90b1-6d30-8000-5b7c9e1d2f3a.jsonl", `{"type":"metadata","workdir":"/hostile","createdAt":"2026-03-01T08:00:00.000Z"}` + "\n"}
	gem  = agent{".gemini/tmp/hostile/chats/session-2026-05-01T10-00-hostile0.jsonl", `{"sessionId":"hostile","projectHash":"h","startTime":"2026-05-01T10:00:00.000Z","lastUpdated":"2026-05-01T10:00:00.000Z","kind":"main"}` + "\n"}
	cdx  = agent{".codex/sessions/2026/05/01/rollout-2026-05-01T10-00-00-019cab00-0000-7000-8000-00000000000a.jsonl", `{"timestamp":"2026-05-01T10:00:00.000Z","type":"session_meta","payload":{"id":"019cab00-0000-7000-8000-00000000000a","timestamp":"2026-05-01T10:00:00.000Z","cwd":"/hostile","originator":"codex_cli_rs","cli_version":"0.120.0","source":"cli","model_provider":"openai"}}` + "\n"}
	cld  = agent{".claude/projects/-hostile/00000000-0000-4000-8000-000000000001.jsonl", ""}
	qwn  = agent{".qwen/projects/-hostile/chats/00000000-0000-4000-8000-000000000001.jsonl", ""}
	oper = agent{".operator/sessions/a.jsonl", `{"type":"session","version":3,"id":"hostile","timestamp":1755000000.25,"cwd":"/hostile"}` + "\n"}
)

// Path returns where the agent keeps the log, below the home folder.
func (h Hostile) Path() string { return h.agent.path }

// HostileLogs are all such dimensions.
var HostileLogs = []Hostile{
	{Name: "labels", agent: omp, record: func(b *bytes.Buffer, n, count int) {
		if n == 0 {
			said(b, "e0", "", "first")
			return
		}
		label(b, n, before("l", n), []string{"e0", fmt.Sprint("l", n/2)}[n%2], fmt.Sprint("label ", n))
	}},
	{Name: "equal ids", agent: omp, record: func(b *bytes.Buffer, n, _ int) { said(b, "same", "", fmt.Sprint("word", n)) }},
	{Name: "equal parents", agent: omp, record: func(b *bytes.Buffer, n, _ int) { said(b, "same", "same", fmt.Sprint("word", n)) }},
	// Every id twice, so that no new id may be chosen where one is mentioned.
	{Name: "pairs", agent: omp, record: func(b *bytes.Buffer, n, _ int) { said(b, fmt.Sprint("e", n/2), before("e", n/2), "pair") }},
	{Name: "branches", agent: omp, record: func(b *bytes.Buffer, n, _ int) {
		parent := "e0"
		if n == 0 {
			parent = ""
		}
		said(b, fmt.Sprint("e", n), parent, "branch")
	}},
	{Name: "orphans", agent: omp, record: func(b *bytes.Buffer, n, _ int) { said(b, fmt.Sprint("e", n), fmt.Sprint("gone", n), "orphan") }},
	{Name: "compactions", agent: omp, record: func(b *bytes.Buffer, n, count int) {
		if n%2 == 0 {
			said(b, fmt.Sprint("e", n), before("e", n), "kept")
			return
		}
		// Each keeps everything from the first entry on.
		fmt.Fprintf(b, `{"type":"compaction","id":"e%d","parentId":"e%d","timestamp":"2026-03-02T14:00:00.000Z","summary":"summary %d","firstKeptEntryId":"e0","tokensBefore":1}`+"\n",
			n, n-1, n)
	}},
	{Name: "blank lines", agent: omp, record: func(b *bytes.Buffer, n, count int) {
		if n == 0 || n == count-1 {
			said(b, fmt.Sprint("e", n), "", "text")
			return
		}
		b.WriteString("  \t                                                     \n")
	}},
	// Entries that are each other's parents, in one cycle.
	{Name: "cycles", agent: omp, record: func(b *bytes.Buffer, n, count int) {
		said(b, fmt.Sprint("e", n), fmt.Sprint("e", (n+1)%count), "cycle")
	}},
	{Name: "short cycles", agent: omp, record: func(b *bytes.Buffer, n, _ int) { said(b, fmt.Sprint("e", n), fmt.Sprint("e", n^1), "cycle") }},
	{Name: "summaries", agent: omp, record: func(b *bytes.Buffer, n, _ int) {
		fmt.Fprintf(b, `{"type":"branch_summary","id":"e%d","parentId":%s,"timestamp":"2026-03-02T14:00:00.000Z","fromId":"e0","summary":"summary %d"}`+"\n",
			n, quoted(before("e", n)), n)
	}},
	// A chain, which is the usual case, for comparison.
	{Name: "messages", agent: omp, record: func(b *bytes.Buffer, n, _ int) { said(b, fmt.Sprint("e", n), before("e", n), "text") }},
	{Name: "unlabels", agent: omp, record: func(b *bytes.Buffer, n, count int) {
		// Half of the labels are given, then all are taken away in the same order.
		switch {
		case n == 0:
			said(b, "e0", "", "first")
		case n < count/2:
			label(b, n, before("l", n), fmt.Sprint("l", n), "x")
		default:
			label(b, n, before("l", n), fmt.Sprint("l", n-count/2), "")
		}
	}},
	{Name: "label branches", agent: omp, record: func(b *bytes.Buffer, n, _ int) {
		if n%2 == 0 {
			said(b, fmt.Sprint("e", n), "", "root")
			return
		}
		label(b, n, fmt.Sprint("missing", n), fmt.Sprint("e", n-1), "x")
	}},
	{Name: "malformed", agent: omp, record: func(b *bytes.Buffer, n, _ int) { fmt.Fprintf(b, `{"type":"message","id":"e%d","parentId`+"\n", n) }},
	{Name: "glued", agent: omp, record: func(b *bytes.Buffer, n, count int) {
		said(b, fmt.Sprint("e", n), before("e", n), "glued")
		if n < count-1 {
			b.Truncate(b.Len() - 1)
		}
	}},
	{Name: "wave repeats", agent: wave, record: func(b *bytes.Buffer, n, _ int) {
		fmt.Fprintf(b, `{"timestamp":"2026-03-01T08:00:01.000Z","id":"same","role":"user","blocks":[{"type":"text","content":"word%d","stage":"end"}]}`+"\n", n)
	}},
	{Name: "wave compactions", agent: wave, record: func(b *bytes.Buffer, n, _ int) {
		fmt.Fprintf(b, `{"timestamp":"2026-03-01T08:00:01.000Z","id":"m%d","role":"assistant","blocks":[{"type":"compact","content":"summary %d"}]}`+"\n", n, n)
	}},
	{Name: "operator leaves", agent: oper, record: func(b *bytes.Buffer, n, _ int) {
		if n%2 == 0 {
			fmt.Fprintf(b, `{"id":"e%d","timestamp":1755000001.25,"parent_id":%s,"type":"message","message":{"contents":[{"type":"text","content":"text"}],"id":"m","timestamp":1755000000.75,"role":"user"}}`+"\n",
				n, quoted(before("e", n)))
			return
		}
		fmt.Fprintf(b, `{"id":"e%d","timestamp":1755000001.25,"parent_id":"e%d","type":"leaf","target_id":"e%d"}`+"\n", n, n-1, n-1)
	}},
	{Name: "tool calls", agent: omp, record: func(b *bytes.Buffer, n, _ int) {
		if n%2 == 0 {
			fmt.Fprintf(b, `{"type":"message","id":"e%d","parentId":%s,"timestamp":"2026-03-02T14:00:00.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c%d","name":"bash","arguments":{"command":"ls"}}]}}`+"\n",
				n, quoted(before("e", n)), n)
			return
		}
		fmt.Fprintf(b, `{"type":"message","id":"e%d","parentId":"e%d","timestamp":"2026-03-02T14:00:00.000Z","message":{"role":"toolResult","toolCallId":"c%d","toolName":"bash","content":[{"type":"text","text":"a"}]}}`+"\n",
			n, n-1, n/2*2)
	}},
	// One answer, and its results from the last call to the first.
	{Name: "results backwards", agent: omp, record: func(b *bytes.Buffer, n, count int) {
		if n > 0 {
			fmt.Fprintf(b, `{"type":"message","id":"e%d","parentId":"e%d","timestamp":"2026-03-02T14:00:00.000Z","message":{"role":"toolResult","toolCallId":"c%d","toolName":"bash","content":[{"type":"text","text":"done"}]}}`+"\n",
				n, n-1, count-n)
			return
		}
		b.WriteString(`{"type":"message","id":"e0","parentId":null,"timestamp":"2026-03-02T14:00:00.000Z","message":{"role":"assistant","content":[`)
		for c := 1; c < count; c++ {
			if c > 1 {
				b.WriteByte(',')
			}
			fmt.Fprintf(b, `{"type":"toolCall","id":"c%d","name":"bash","arguments":{}}`, c)
		}
		b.WriteString("]}}\n")
	}},
	// The program continues the path above each line with the line before it, whatever parent it names.
	{Name: "claude gaps", agent: cld, record: func(b *bytes.Buffer, n, _ int) {
		fmt.Fprintf(b, `{"type":"user","uuid":"u%d","parentUuid":"gone","sessionId":"00000000-0000-4000-8000-000000000001","cwd":"/hostile","version":"2.0.0","timestamp":"2026-03-02T14:00:0%d.000Z","isSidechain":false,"message":{"role":"user","content":"word"}}`+"\n",
			n, n%5)
	}},
	// Each $set repeats the one message, which stands after all the updates.
	{Name: "gemini sets", agent: gem, record: func(b *bytes.Buffer, n, count int) {
		switch {
		case n == count/2:
			asked(b, "m")
		case n < count/2:
			b.WriteString(`{"$set":{"lastUpdated":"2026-05-01T10:00:00.000Z"}}` + "\n")
		default:
			b.WriteString(`{"$set":{"messages":[{"id":"m"}]}}` + "\n")
		}
	}},
	{Name: "gemini repeats", agent: gem, record: func(b *bytes.Buffer, n, count int) {
		if n == count-1 {
			b.WriteString(`{"$rewindTo":"m0"}` + "\n")
			return
		}
		asked(b, fmt.Sprint("m", n%(count/2)))
	}},
	// A second header with a message for each record.
	{Name: "gemini headers", agent: gem, record: func(b *bytes.Buffer, n, count int) {
		if n == 0 {
			b.WriteString(`{"sessionId":"hostile","projectHash":"h","messages":[`)
		}
		fmt.Fprintf(b, `{"id":"m%d"}`, n)
		if n == count-1 {
			b.WriteString("]}\n")
			return
		}
		b.WriteByte(',')
	}},
	// An answer and many updates, then messages after it, each of which is removed.
	{Name: "gemini rewinds", agent: gem, record: func(b *bytes.Buffer, n, count int) {
		switch {
		case n == 0:
			b.WriteString(`{"id":"a","timestamp":"2026-05-01T10:00:00.000Z","type":"gemini","content":"answer","tokens":{"input":5,"output":3,"total":8},"model":"m"}` + "\n")
		case n < count/3:
			b.WriteString(`{"$set":{"lastUpdated":"2026-05-01T10:00:00.000Z"}}` + "\n")
		case n%2 == 0:
			asked(b, fmt.Sprint("m", n))
		default:
			fmt.Fprintf(b, `{"$rewindTo":"m%d"}`+"\n", n-1)
		}
	}},
	// A chain, from whose end each message is replaced by another one.
	{Name: "gemini chain", agent: gem, record: func(b *bytes.Buffer, n, count int) {
		chain := count / 3
		switch at := n - chain; {
		case at < 0:
			asked(b, fmt.Sprint("m", n))
		case at%2 == 0:
			fmt.Fprintf(b, `{"$rewindTo":"m%d"}`+"\n", max(chain-1-at/2, 0))
		default:
			asked(b, fmt.Sprint("n", n))
		}
	}},
	// Two records, of many lines each.
	{Name: "qwen repeats", agent: qwn, record: func(b *bytes.Buffer, n, _ int) {
		parent := ""
		if n > 0 {
			parent = fmt.Sprint("u", (n-1)%2)
		}
		fmt.Fprintf(b, `{"uuid":"u%d","parentUuid":%s,"sessionId":"00000000-0000-4000-8000-000000000001","timestamp":"2026-05-01T10:00:00.000Z","type":"user","cwd":"/hostile","version":"0.1.0","message":{"role":"user","parts":[{"text":"word%d"}]}}`+"\n",
			n%2, quoted(parent), n)
	}},
	// What each event says is a problem: no item beside it says it to the model.
	{Name: "codex events", agent: cdx, record: func(b *bytes.Buffer, n, _ int) {
		fmt.Fprintf(b, `{"timestamp":"2026-05-01T10:00:00.000Z","type":"event_msg","payload":{"type":"user_message","message":"word%d","images":[]}}`+"\n", n)
	}},
	{Name: "leaf moves", agent: omp, record: func(b *bytes.Buffer, n, _ int) {
		if n%2 == 0 {
			said(b, fmt.Sprint("e", n), before("e", n), "text")
			return
		}
		fmt.Fprintf(b, `{"type":"custom","id":"e%d","parentId":"e0","timestamp":"2026-03-02T14:00:00.000Z","customType":"treeline.leaf","data":{}}`+"\n", n)
	}},
}

// Log makes a session of so many records in that dimension.
func (h Hostile) Log(count int) []byte {
	b := bytes.NewBufferString(h.agent.header)
	for n := range count {
		h.record(b, n, count)
	}
	return b.Bytes()
}

// said appends a message of the user.
func said(b *bytes.Buffer, id, parent, text string) {
	fmt.Fprintf(b, `{"type":"message","id":"%s","parentId":%s,"timestamp":"2026-03-02T14:00:00.000Z","message":{"role":"user","content":"%s"}}`+"\n",
		id, quoted(parent), text)
}

// asked appends a message of the user in a log of Gemini CLI.
func asked(b *bytes.Buffer, id string) {
	fmt.Fprintf(b, `{"id":"%s","timestamp":"2026-05-01T10:00:00.000Z","type":"user","content":[{"text":"text"}]}`+"\n", id)
}

// label appends the nth record, a label; an empty text removes the label.
func label(b *bytes.Buffer, n int, parent, target, text string) {
	fmt.Fprintf(b, `{"type":"label","id":"l%d","parentId":"%s","timestamp":"2026-03-02T14:00:00.000Z","targetId":"%s"`, n, parent, target)
	if text != "" {
		fmt.Fprintf(b, `,"label":"%s"`, text)
	}
	b.WriteString("}\n")
}

func quoted(id string) string {
	if id == "" {
		return "null"
	}
	return `"` + id + `"`
}

// before returns the id of the record before the nth.
func before(prefix string, n int) string {
	if n == 0 {
		return ""
	}
	if prefix == "l" && n == 1 {
		return "e0"
	}
	return fmt.Sprint(prefix, n-1)
}
