package page_test

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/treeline-dev/treeline/internal/diff"
	"github.com/treeline-dev/treeline/page"
	"github.com/treeline-dev/treeline/page/chart"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/transcript"
	"github.com/treeline-dev/treeline/wire"
)

// The values of a small machine, for the tests and for viewing pages (see TestPages).

var now = time.Date(2026, 11, 16, 14, 30, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

func row(key, dialect, title, cwd string, ago time.Duration, messages int, tokens int64, cost float64) page.Row {
	return page.Row{
		Key: key, When: now.Add(-ago),
		Row: wire.Row{
			ID: session.ID(key), Dialect: dialect, Title: title, CWD: cwd, Messages: &messages,
			Known: &wire.Known{Entries: messages, Branches: 1, Cost: cost, Tokens: wire.Tokens{Total: tokens}},
		},
	}
}

func sessions() page.SessionsPage {
	const day = 24 * time.Hour
	rows := []page.Row{
		row("0199a7", "omp", "Prices are off by a cent", "/home/you/shop", 2*time.Minute, 14, 58_100, 0.21),
		row("0199a8", "omp", "Prices are off by a cent (fork)", "/home/you/shop", 20*time.Hour, 9, 21_400, 0.08),
		row("f3c1", "claude", "Flaky websocket reconnect", "/home/you/gateway", 26*time.Hour, 206, 1_240_000, 4.87),
		row("019a", "codex", "Rewrite the parser without recursion", "/home/you/lang", 4*day, 1018, 9_120_000, 9.12),
		row("77aa", "pi", "Why is the import slow?", "/home/you/etl", 5*day, 48, 310_000, 0.64),
		row("op-1", "operator", "Upgrade to Go 1.26", "/home/you/shop", 7*day, 33, 120_000, 0.40),
		row("wv-1", "wave", "Describe the release process", "/home/you/docs", 9*day, 12, 18_000, 0.05),
		row("cd-1", "codelia", "Nightly: triage open bugs", "/home/you/gateway", 11*day, 61, 402_000, 1.02),
		row("zz-9", "elsewhere", "", "", 400*day, 3, 0, 0),
	}
	rows[0].Live, rows[0].Known.Branches, rows[0].Known.Has = true, 2, []string{"label", "branch", "compaction"}
	rows[1].Row.Depth = ptr(1)
	rows[2].Known.Branches, rows[2].Tasks = 3, 2
	rows[5].Known.Problems = 1
	return page.SessionsPage{
		Rows: rows, Matched: 312, Total: 312, Tokens: 61_800_000, Cost: 212.4,
		Agents:   []page.Choice{{Value: "claude", Count: 141}, {Value: "codex", Count: 88}, {Value: "omp", Count: 83}},
		Models:   []page.Choice{{Value: "anthropic/claude-opus-4.6", Count: 141}, {Value: "openai/gpt-6-codex", Count: 88}},
		Projects: []page.Choice{{Value: "/home/you/shop", Count: 120}, {Value: "/home/you/gateway", Count: 97}},
	}
}

func at(minute int) time.Time { return time.Date(2026, 3, 2, 14, minute, 0, 0, time.UTC) }

const tableText = `The loop adds prices as ` + "`float64`" + `. Three places do it:

| file | what | off by |
|---|---|---|
| pricing/sum.go | total of a basket | 1 cent in 40 |
| pricing/tax.go | tax on the net price | 1 cent in 9 |

` + "```go\n// Sum adds the prices of all items.\nfunc Sum(items []Item) float64 {\n\tvar total float64\n\tfor _, it := range items {\n\t\ttotal += it.Price * float64(it.Count)\n\t}\n\treturn total\n}\n```" + `

- [x] find the cause
- [ ] decide: **round at the end** or count in cents`

func document() page.SessionPage {
	fork := &transcript.Fork{
		At: "5a60be28", Count: 2, Current: 2,
		Branches: []transcript.Branch{
			{Number: 1, First: "e01", Tip: "e03", Entries: 3, Label: "Round at the end."},
			{Number: 2, First: "b7125ec8", Tip: "9ab0c312", Entries: 6, Label: "Count in cents."},
		},
	}
	hunks := []diff.Hunk{{OldLine: 11, NewLine: 11, Section: "func Sum", Lines: []diff.Line{
		{Text: "func Sum(items []Item) Cents {"}, {Op: diff.Removed, Text: "\tvar total float64"}, {Op: diff.Added, Text: "\tvar total Cents"},
		{Text: "\tfor _, it := range items {"}, {Op: diff.Removed, Text: "\t\ttotal += it.Price * float64(it.Count)"},
		{Op: diff.Added, Text: "\t\ttotal += it.Price * Cents(it.Count)"}, {Text: "\t}"},
	}}}
	edit := transcript.Edit{Path: "pricing/sum.go", Hunks: hunks, Added: 2, Removed: 2}
	blocks := []transcript.Block{
		{Kind: transcript.Note, ID: "00aa", Line: "model claude-sonnet-4", Time: at(2)},
		{ID: "2f81d9e0", Role: session.RoleUser, Prompt: true, Time: at(2), Unseen: true, Pieces: []transcript.Piece{transcript.Text{Text: "Some prices are off by one cent. Find out why."}}},
		{ID: "c40b6a12", Role: session.RoleAssistant, Time: at(3), Unseen: true, Model: "claude-sonnet-4", Usage: session.Usage{Input: 900, Output: 300, Total: 1200}, Pieces: []transcript.Piece{
			transcript.Thinking{Text: "Money as float64, most likely."},
			transcript.Text{Text: "I look at how prices are computed."},
			transcript.Tools{Calls: []transcript.Tool{
				{Name: "grep", Title: "float64 pricing/", Input: session.Raw(`{"pattern":"float64","path":"pricing/"}`), Answered: true, Took: 100 * time.Millisecond, Call: "c40b6a12", Result: "c40c",
					Output: []transcript.Piece{transcript.Text{Text: "pricing/sum.go:14:  var total float64\npricing/sum.go:21:  return total * 1.19\npricing/tax.go:9:   func Tax(net float64) float64"}}},
			}},
		}},
		{ID: "5a60be28", Role: session.RoleAssistant, Time: at(3), Label: "decision", Final: true, Model: "claude-sonnet-4", Usage: session.Usage{Total: 2100, Cost: 0.0041}, Pieces: []transcript.Piece{transcript.Text{Text: tableText}}},
		{ID: "b7125ec8", Role: session.RoleUser, Prompt: true, Time: at(6), Fork: fork, Pieces: []transcript.Piece{transcript.Text{Text: "Count in cents."}}},
		{ID: "38c9d0ea", Role: session.RoleAssistant, Time: at(7), Model: "claude-sonnet-4", Usage: session.Usage{Total: 3400, Cost: 0.02}, Pieces: []transcript.Piece{
			transcript.Thinking{Text: strings.Repeat("The type Cents needs a parser and a printer, and the JSON form has to stay a decimal number, since the web shop reads it. ", 4)},
			transcript.Tools{Calls: []transcript.Tool{
				{Name: "edit", Title: "pricing/sum.go", Answered: true, Call: "38c9d0ea", Result: "38ca", Edits: []transcript.Edit{edit}, Output: []transcript.Piece{transcript.Text{Text: "ok"}}},
				{Name: "bash", Title: "go test ./...", Input: session.Raw(`{"command":"cd pricing && go test ./... 2>&1 | tail -n 20","timeout":60}`), Answered: true, Failed: true, Took: 3100 * time.Millisecond, Call: "38c9d0ea", Result: "38cb",
					Output: []transcript.Piece{transcript.Text{Text: "--- FAIL: TestTax (0.00s)\n    tax_test.go:17: Tax(100) = 18.99, want 19.00\nFAIL\nFAIL\tshop/pricing\t0.012s"}}},
			}},
			transcript.Tools{Calls: []transcript.Tool{
				{Name: "read", Title: "pricing/tax.go", Answered: true, Output: []transcript.Piece{transcript.Text{Text: "package pricing\n"}}},
				{Name: "read", Title: "pricing/tax_test.go", Answered: true, Output: []transcript.Piece{transcript.Text{Text: "package pricing\n"}}},
				{Name: "read", Title: "web/basket.ts", Answered: true, Output: []transcript.Piece{transcript.Text{Text: "export {}\n"}}},
				{Name: "task", Title: "Check the invoices for the same mistake", Answered: true, Child: &transcript.Child{Session: "sub-1", Title: "Check the invoices", Entries: 14, Tokens: 20_100, Cost: 0.03}},
			}},
			transcript.Text{Text: "All amounts are int64 cents now. 214 tests pass."},
		}},
		{Kind: transcript.Compaction, ID: "cc01", Time: at(20), Pieces: []transcript.Piece{transcript.Compacted{Before: 41_200, After: 1_900, Summary: transcript.Text{Text: "## Done\n\nPrices are counted in cents.\n\n## Next\n\nThe invoices."}}}},
		{ID: "9ab0c312", Role: session.RoleUser, Prompt: true, Time: now.Add(-2 * time.Minute), Pieces: []transcript.Piece{transcript.Text{Text: "Now the invoices."}, transcript.Image{MIME: "image/png", Size: 48_200}}},
	}
	rail := []transcript.Row{
		{Entry: "2f81d9e0", Above: -1, Text: "Some prices are off by one cent. Find out why.", Role: session.RoleUser, Active: true},
		{Entry: "c40b6a12", Above: 0, Text: "I look at how prices are computed.", Role: session.RoleAssistant, Active: true},
		{Kind: transcript.RowRun, Entry: "c40c", Above: 1, Count: 3, Active: true},
		{Entry: "5a60be28", Above: 2, Text: "Prices are float64, so 0.1 + 0.2 is not 0.3.", Label: "decision", Role: session.RoleAssistant, Active: true, Fork: true},
		{Entry: "e01", Link: "e03", Above: 3, Column: 1, Text: "Round at the end.", Role: session.RoleUser, Number: 1},
		{Entry: "e02", Link: "e03", Above: 4, Column: 1, Text: "Done, but two tests still fail", Role: session.RoleAssistant},
		{Entry: "e03", Link: "e03", Above: 5, Column: 1, Text: "go test · 2 failed", Role: session.RoleAssistant},
		{Entry: "b7125ec8", Above: 3, Text: "Count in cents.", Role: session.RoleUser, Active: true, Number: 2},
		{Entry: "38c9d0ea", Above: 7, Text: "All amounts are int64 cents now. 214 tests pass.", Role: session.RoleAssistant, Active: true},
		{Entry: "cc01", Above: 8, Block: transcript.Compaction, Text: "compaction", Active: true},
		{Entry: "9ab0c312", Above: 9, Text: "Now the invoices.", Role: session.RoleUser, Active: true, Leaf: true, Here: true},
	}
	for i := range rail {
		if rail[i].Link == "" {
			rail[i].Link = "9ab0c312"
		}
	}
	parent, sub := row("0198ff", "omp", "Where do prices come from?", "/home/you/shop", time.Hour, 4, 0, 0), row("sub-1", "omp", "Check the invoices", "/home/you/shop", time.Hour, 14, 20_100, 0.03)
	return page.SessionPage{
		Head: page.Head{
			Key: "0199a7", ID: "0199a7c2-5f0e-7cc3-a1b2-1f8e0d4c9b11", Title: "Prices are off by a cent", Dialect: "omp", CWD: "/home/you/shop",
			Path: "/home/you/.omp/agent/sessions/--home-you-shop--/2026-03-02T14-02-00_0199a7c2.jsonl", Created: at(2), Entries: 14, Messages: 14, Branches: 2,
			Tokens: wire.Tokens{Total: 58_100}, Cost: 0.21, Live: true,
		},
		Mode:   page.Everything,
		Window: &transcript.Window{Blocks: blocks, Leaf: "9ab0c312", First: "00aa", Last: "9ab0c312", Total: 14},
		Rail:   &transcript.Rail{Rows: rail, Columns: 2, Branches: 2, Entries: 14},
		Here:   &page.Here{Messages: 2, Tokens: 1950, Model: "claude-sonnet-4"},
		Resume: "cd ~/shop && omp --resume 0199a7c2", ResumeIn: []page.Command{{Agent: "claude", Command: "treeline resume 0199a7c2 --in claude"}},
		Exports: []page.Export{{Format: "html", Safe: true}, {Format: "md", Safe: true}, {Format: "json"}, {Format: "txt"}}, Events: "/events",
		Parent: &parent, Tasks: []page.Row{sub},
		SessionKey: func(id session.ID) string { return string(id) },
		Files: []transcript.FileChange{
			{Edit: edit, Edits: 1, Entries: []session.EntryID{"38c9d0ea"}},
			{Edit: transcript.Edit{Path: "pricing/cents.go", New: true, Added: 3, Hunks: []diff.Hunk{{OldLine: 0, NewLine: 1, Lines: []diff.Line{
				{Op: diff.Added, Text: "package pricing"}, {Op: diff.Added}, {Op: diff.Added, Text: "type Cents int64"}}}}}, Edits: 2, Entries: []session.EntryID{"38c9d0ea", "38ca"}},
			{Edit: transcript.Edit{Path: "pricing/tax.go", Partial: "the file was written by a command in between; the edits are shown one after the other", Added: 1, Removed: 1, Hunks: []diff.Hunk{
				{Lines: []diff.Line{{Op: diff.Removed, Text: "func Tax(net float64) float64 {"}, {Op: diff.Added, Text: "func Tax(net Cents) Cents {"}}}}}, Edits: 1, Entries: []session.EntryID{"38c9d0ea"}},
		},
		Problems: []session.Problem{{Line: 14, Offset: 20_121, Kind: session.ProblemTorn, Message: "the last record was cut off in the middle", Advice: "what came before it is kept; the next append moves it aside"}},
	}
}

func search() page.SearchPage {
	hit := func(key, agent, title, entry, snippet, word string) page.Hit {
		i := utf8.RuneCountInString(snippet[:strings.Index(snippet, word)])
		return page.Hit{Key: key, Hit: wire.Hit{
			Session: ptr(session.ID(key)), Entry: ptr(session.EntryID(entry)), Dialect: agent, Title: title, CWD: "/home/you/shop", Kind: "message", Role: ptr("assistant"),
			Time: ptr("2026-11-12T09:14:00.000Z"), OnPath: entry != "e02", Snippet: snippet, Marks: [][2]int{{i, i + len(word)}},
		}}
	}
	return page.SearchPage{Query: "cent", Matched: "words", More: true, Limit: 50, Hits: []page.Hit{
		hit("0199a7", "omp", "Prices are off by a cent", "2f81d9e0", "Some prices are off by one cent. Find out why.", "cent"),
		hit("0199a7", "omp", "Prices are off by a cent", "e02", "… the total differs by one cent in two tests, both of them about tax …", "cent"),
		hit("f3c1", "claude", "Flaky websocket reconnect", "77", "… <b>99.9 per cent</b> of reconnects succeed at the first attempt …", "cent"),
	}}
}

func usagePage() page.UsagePage {
	group := func(name string, sessions int, tokens int64, cost float64) wire.Group {
		return wire.Group{Name: name, Amount: wire.Amount{Sessions: sessions, Messages: sessions * 12, Tokens: wire.Tokens{Total: tokens, Input: tokens / 10, Output: tokens / 20, CacheRead: tokens * 8 / 10, CacheWrite: tokens / 20}, Cost: cost}}
	}
	agents := []wire.Group{group("claude", 141, 38_200_000, 131.02), group("codex", 88, 17_900_000, 61.44), group("omp", 83, 5_700_000, 19.94)}
	var days []wire.Group
	series := []chart.Series{{Name: "claude"}, {Name: "codex"}, {Name: "omp"}}
	for i := range 28 {
		day := time.Date(2026, 10, 20+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
		if i%9 == 5 {
			continue
		}
		sum := 0.0
		for j := range series {
			cost := float64((i*7+j*5)%11) * 0.6 / float64(j+1)
			series[j].Days = append(series[j].Days, group(day, 2, int64(cost*300_000), cost))
			sum += cost
		}
		days = append(days, group(day, 6, int64(sum*300_000), sum))
	}
	return page.UsagePage{
		Query: page.UsageQuery{Since: "30d"}, ByAgent: series,
		Stats: wire.Stats{
			Amount: group("", 312, 61_800_000, 212.4).Amount, Agents: &agents, Days: &days,
			Models:   &[]wire.Group{group("anthropic/claude-opus-4.6", 141, 38_200_000, 131.02), group("openai/gpt-6-codex", 88, 17_900_000, 61.44), group("", 12, 1000, 0)},
			Projects: &[]wire.Group{group("/home/you/gateway", 97, 28_000_000, 99.1), group("/home/you/shop", 120, 20_100_000, 70.2), group("", 4, 0, 0)},
		},
	}
}

func runsPage() page.RunsPage {
	run := func(id, prompt, outcome string, ago time.Duration) page.RunRow {
		r := page.RunRow{Run: wire.Run{ID: id, CWD: "/home/you/gateway", Model: "gpt-6", Prompt: prompt, Size: 48_000}, When: now.Add(-ago)}
		if outcome != "" {
			r.Outcome = &outcome
		}
		return r
	}
	return page.RunsPage{Total: 3, Rows: []page.RunRow{
		run("run-01", "Triage the open bugs", "completed", time.Hour), run("run-02", "Triage the open bugs", "error", 25*time.Hour), run("run-03", "", "", 49*time.Hour),
	}}
}

func sources() []wire.Source {
	return []wire.Source{
		{Dialect: ptr("omp"), Path: "/home/you/.omp/agent/sessions", Exists: true}, {Dialect: ptr("claude"), Path: "/home/you/.claude/projects"},
		{Dialect: ptr("codex"), Path: "/home/you/.codex/sessions"},
	}
}

func rawPage() page.RawPage {
	return page.RawPage{
		Key: "0199a7", Title: "Prices are off by a cent", Entry: "c40b6a12", Type: "message", Path: "/home/you/.omp/agent/sessions/x.jsonl", Line: 3, Offset: 412,
		JSON:     []byte(`{"type":"message","id":"c40b6a12","parentId":"2f81d9e0","timestamp":"2026-03-02T14:03:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"I look at how prices are computed."}],"usage":{"input":900,"output":300,"cost":{"total":0.004}}}}`),
		Previous: "2f81d9e0", Next: "c40c",
	}
}

// runLog is a run with a few steps.
const runLog = `{"type":"header","schema_version":1,"run_id":"run-01","started_at":"2026-11-16T13:00:00Z","model":{"provider":"openai","name":"gpt-6"}}
{"type":"run.start","run_id":"run-01","ts":"2026-11-16T13:00:00Z","input":{"type":"text","text":"Triage the open bugs"}}
{"type":"run.status","run_id":"run-01","ts":"2026-11-16T13:00:00.1Z","status":"running"}
{"type":"llm.request","run_id":"run-01","ts":"2026-11-16T13:00:00.2Z","seq":1,"input":{"messages":[]}}
{"type":"llm.response","run_id":"run-01","ts":"2026-11-16T13:00:04Z","seq":1,"output":{"messages":[],"usage":{"input_tokens":900,"output_tokens":120,"total_tokens":1020},"stop_reason":"tool_use"}}
{"type":"agent.event","run_id":"run-01","ts":"2026-11-16T13:00:04.1Z","seq":1,"event":{"type":"tool_call","tool":"bash","tool_call_id":"c1","args":{"command":"gh issue list"}}}
{"type":"tool.output","run_id":"run-01","ts":"2026-11-16T13:00:09Z","tool":"bash","tool_call_id":"c1","result_raw":"#12 crash on start\n#14 typo","is_error":false}
{"type":"agent.event","run_id":"run-01","ts":"2026-11-16T13:00:09.2Z","seq":2,"event":{"type":"tool_result","tool":"bash","tool_call_id":"c1","result":"#12"}}
{"type":"llm.request","run_id":"run-01","ts":"2026-11-16T13:00:09.5Z","seq":2,"input":{"messages":[]}}
{"type":"llm.response","run_id":"run-01","ts":"2026-11-16T13:00:16Z","seq":2,"output":{"messages":[],"usage":{"input_tokens":1900,"output_tokens":620,"total_tokens":2520},"stop_reason":"tool_use"}}
{"type":"agent.event","run_id":"run-01","ts":"2026-11-16T13:00:16.1Z","seq":3,"event":{"type":"tool_call","tool":"label","tool_call_id":"c2","args":{"issue":12,"label":"bug"}}}
{"type":"tool.output","run_id":"run-01","ts":"2026-11-16T13:00:17Z","tool":"label","tool_call_id":"c2","result_raw":"403: no permission","is_error":true}
{"type":"agent.event","run_id":"run-01","ts":"2026-11-16T13:00:18Z","seq":4,"event":{"type":"final","content":"#12 is a crash and goes first. I may not set labels."}}
{"type":"run.end","run_id":"run-01","ts":"2026-11-16T13:00:18.2Z","outcome":"completed"}
`

type logSource string

func (s logSource) Bytes(offset, length int64) ([]byte, error) {
	return []byte(s[offset : offset+length]), nil
}

func runPage() page.RunPage {
	d := run.NewDecoder(logSource(runLog))
	offset, n := int64(0), 0
	for line := range strings.Lines(runLog) {
		n++
		d.Line([]byte(strings.TrimSuffix(line, "\n")), offset, n, false)
		offset += int64(len(line))
	}
	log, err := d.Finish()
	if err != nil {
		panic(err)
	}
	report, err := run.Audit(log)
	if err != nil {
		panic(err)
	}
	return page.RunPage{RunRow: runsPage().Rows[0], Audit: wire.NewAudit(report), Log: log}
}
