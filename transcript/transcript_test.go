package transcript_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/transcript"
)

func TestMain(m *testing.M) { os.Exit(soaktest.Main(m)) }

// talk writes a session of pi and opens it. Each line is "id parent kind text".
func talk(t *testing.T, lines ...string) *transcript.Document {
	t.Helper()
	w := world.New(t)
	return open(t, w, w.Put("talk.jsonl", talkLog(lines...)))
}

func talkLog(lines ...string) string {
	var b strings.Builder
	b.WriteString(`{"type":"session","version":3,"id":"talk","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/garden"}` + "\n")
	for n, line := range lines {
		f := strings.SplitN(line, " ", 4)
		id, parent, kind, text := f[0], `"`+f[1]+`"`, f[2], ""
		if f[1] == "-" {
			parent = "null"
		}
		if len(f) > 3 {
			text = f[3]
		}
		rest := ""
		switch kind {
		case "user":
			rest = fmt.Sprintf(`"type":"message","message":{"role":"user","content":[{"type":"text","text":%q}]}`, text)
		case "answer":
			rest = fmt.Sprintf(`"type":"message","message":{"role":"assistant","content":[{"type":"text","text":%q}],"provider":"p","model":"m","stopReason":"stop"}`, text)
		case "call": // text is "id name arguments"
			c := strings.SplitN(text, " ", 3)
			rest = fmt.Sprintf(`"type":"message","message":{"role":"assistant","content":[{"type":"toolCall","id":%q,"name":%q,"arguments":%s}],"stopReason":"toolUse"}`, c[0], c[1], c[2])
		case "result", "failure": // text is "id text"
			c := strings.SplitN(text, " ", 2)
			rest = fmt.Sprintf(`"type":"message","message":{"role":"toolResult","toolCallId":%q,"content":[{"type":"text","text":%q}],"isError":%t}`, c[0], c[1], kind == "failure")
		case "label":
			c := strings.SplitN(text, " ", 2)
			rest = fmt.Sprintf(`"type":"label","targetId":%q,"label":%q`, c[0], c[1])
		case "custom":
			rest = fmt.Sprintf(`"type":"custom","customType":%q`, text)
		case "model":
			rest = fmt.Sprintf(`"type":"model_change","provider":"p","modelId":%q`, text)
		case "compaction":
			rest = fmt.Sprintf(`"type":"compaction","summary":%q,"firstKeptEntryId":"u1","tokensBefore":1000`, text)
		}
		fmt.Fprintf(&b, `{"id":%q,"parentId":%s,"timestamp":"2026-03-02T14:%02d:%02d.000Z",%s}`+"\n", id, parent, n/60%60, n%60, rest)
	}
	return b.String()
}

func window(t *testing.T, d *transcript.Document, r transcript.Request) *transcript.Window {
	t.Helper()
	w, err := d.Window(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func ids(w *transcript.Window) (list []session.EntryID) {
	for _, b := range w.Blocks {
		list = append(list, b.ID)
	}
	return list
}

func rail(t *testing.T, d *transcript.Document, r transcript.RailRequest) *transcript.Rail {
	t.Helper()
	got, err := d.Rail(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Labels, leaf markers, changes of the model and their descendants make no fork of their own.
func TestWhatIsNoFork(t *testing.T) {
	d := talk(t,
		"u1 - user Dig.",
		"a1 u1 answer Dug.",
		"l1 a1 label a1 good",
		"c1 a1 custom treeline.leaf",
		"m1 a1 model other",
		"u2 m1 user Deeper.",
		"a2 u2 answer Done.",
	)
	w := window(t, d, transcript.Request{})
	for _, b := range w.Blocks {
		if b.Fork != nil {
			t.Errorf("a fork before %s: %+v", b.ID, b.Fork)
		}
	}
	if n := d.Skeleton().Branches(); n != 1 {
		t.Errorf("%d branches", n)
	}
	if d := difftest.Diff([]session.EntryID{"u1", "a1", "m1", "u2", "a2"}, ids(w)); d != "" {
		t.Error(d)
	}
	if w.Blocks[1].Label != "good" || w.Blocks[2].Kind != transcript.Note || w.Blocks[2].Line != "p/other" {
		t.Errorf(`%+v; want w.Blocks[1].Label == "good", w.Blocks[2].Kind == transcript.Note, w.Blocks[2].Line == "p/other"`, w.Blocks[1:3])
	}
}

// A fork has the same number and label in the window, in the rail, and seen from another branch.
func TestForkIsTheSameEverywhere(t *testing.T) {
	d := talk(t,
		"u1 - user Dig.",
		"a1 u1 answer Dug.",
		"u2 a1 user Deeper, please.",
		"a2 u2 answer Deep.",
		"l1 a1 label a1 here", // the next branch has a label as its parent
		"m1 l1 model other",
		"u3 m1 user Wider!",
		"a3 u3 answer Wide.",
	)
	w := window(t, d, transcript.Request{})
	want := &transcript.Fork{At: "a1", Count: 2, Current: 2, Branches: []transcript.Branch{
		{Number: 1, First: "u2", Tip: "a2", Entries: 2, Label: "Deeper, please."},
		{Number: 2, First: "u3", Tip: "a3", Entries: 2, Label: "Wider!"},
	}}
	forks := 0
	for _, b := range w.Blocks {
		if b.Fork != nil {
			forks++
			if d := difftest.Diff(want, b.Fork); d != "" {
				t.Error(d)
			}
		}
	}
	if forks != 1 {
		t.Errorf("%d forks:\n%s", forks, dump(w))
	}
	leaf := want.Branches[0].Tip
	other := window(t, d, transcript.Request{Leaf: &leaf})
	want.Current = 1
	if d := difftest.Diff(want, other.Blocks[2].Fork); d != "" {
		t.Error(d)
	}
	for _, r := range rail(t, d, transcript.RailRequest{}).Rows {
		if r.Number > 0 && (r.Text != want.Branches[r.Number-1].Label || r.Entry != want.Branches[r.Number-1].First) {
			t.Errorf("%+v; want not (r.Number > 0 && (r.Text != want.Branches[r.Number-1].Label || r.Entry != want.Branches[r.Number-1].First))", r)
		}
	}
	// If the path ends at the fork, both branches are continuations.
	leaf = "a1"
	short := window(t, d, transcript.Request{Leaf: &leaf})
	want.Current = 0
	if d := difftest.Diff(want, short.Onward); d != "" {
		t.Error(d)
	}
	for id, leaf := range map[session.EntryID]session.EntryID{"u2": "a2", "a1": "a3", "m1": "a3", "l1": "a3"} {
		if got, err := d.Skeleton().Through(id); err != nil || got != leaf {
			t.Errorf("through %s: %s, %v", id, got, err)
		}
	}
	if _, err := d.Skeleton().Through("nothing"); !errors.Is(err, session.ErrUnknownEntry) {
		t.Error(err)
	}
}

// Several roots form a fork before the first entry.
func TestRootsAreAFork(t *testing.T) {
	d := talk(t, "u1 - user One.", "a1 u1 answer 1.", "u2 - user Two.", "a2 u2 answer 2.")
	w := window(t, d, transcript.Request{})
	f := w.Blocks[0].Fork
	if f == nil || f.At != "" || f.Count != 2 || f.Current != 2 || f.Branches[0].Label != "One." {
		t.Errorf(`%+v; want f != nil, f.At == "", f.Count == 2, f.Current == 2, f.Branches[0].Label == "One."`, f)
	}
}

// A compaction without a parent continues the log before it, unless that is below the compaction itself: a record with an id that was used
// before becomes the parent of earlier entries.
func TestCompactionAboveWhatCameBefore(t *testing.T) {
	d := talk(t, "u1 - user One.", "a1 u1 answer 1.", "c1 - compaction Sum.", "u1 c1 user One.", "a2 u1 answer 2.")
	k := d.Skeleton()
	want := []transcript.Stretch{
		{First: "", Tip: "a2", Number: 1, Of: 1},
		{From: "", First: "u1", Tip: "u1@0", Number: 1, Of: 2}, // the second u1 has the id
		{From: "u1", First: "a1", Tip: "a1", Number: 1, Of: 2},
	}
	if d := difftest.Diff(want, k.Stretches(nil)); d != "" {
		t.Error(d)
	}
	if k.Branches() != 3 || k.Entries() != 5 {
		t.Errorf("%d branches of %d entries, not 3 of 5", k.Branches(), k.Entries())
	}
	if got := ids(window(t, d, transcript.Request{})); !slices.Equal(got, []session.EntryID{"c1", "u1", "a2"}) {
		t.Errorf("the window shows %v, not c1, u1 and a2", got)
	}
}

// A result may come much later, in another record, twice, or never, and may have no call.
func TestResultsFindTheirCalls(t *testing.T) {
	lines := []string{"u1 - user Both.", `k1 u1 call c1 bash {"command":"sleep"}`, `k2 k1 call c2 read {"path":"x"}`}
	for n := range 30 {
		lines = append(lines, fmt.Sprintf("p%d %s user Wait %d.", n, cmpOr(n == 0, "k2", fmt.Sprintf("p%d", n-1)), n))
	}
	lines = append(lines, "r1 p29 result c1 slept", "r2 r1 result c1 again", "r3 r2 failure c9 lost", "a1 r3 answer End.")
	d := talk(t, lines...)
	for _, limit := range []int{1, 2, 5, 100} {
		calls := map[string]transcript.Tool{}
		for _, b := range page(t, d, transcript.Request{Limit: limit, First: true}, true) {
			for _, p := range b.Pieces {
				if tools, ok := p.(transcript.Tools); ok {
					for _, c := range tools.Calls {
						calls[string(c.Call)+" "+string(c.Result)] = c
					}
				}
			}
		}
		if len(calls) != 4 {
			t.Fatalf("limit %d: %d calls: %v", limit, len(calls), calls)
		}
		if c := calls["k1 r1"]; !c.Answered || c.Title != "sleep" || c.Took <= 0 || c.Output[0].(transcript.Text).Text != "slept" {
			t.Errorf("limit %d: %+v", limit, c)
		}
		if c := calls["k2 "]; c.Answered {
			t.Errorf("limit %d: %+v", limit, c)
		}
		if c := calls[" r2"]; !c.Answered || c.Name != "bash" {
			t.Errorf("limit %d: %+v", limit, c)
		}
		if c := calls[" r3"]; !c.Failed {
			t.Errorf("limit %d: %+v", limit, c)
		}
	}
}

func cmpOr(is bool, a, b string) string {
	if is {
		return a
	}
	return b
}

// All shows notes, except those that repeat what another entry says.
func TestAll(t *testing.T) {
	w := world.New(t)
	d := open(t, w, "../dialect/codex/testdata/codex/compacted.jsonl")
	all := window(t, d, transcript.Request{All: true})
	if len(all.Blocks) <= len(window(t, d, transcript.Request{}).Blocks) {
		t.Error(dump(all))
	}
	for _, b := range all.Blocks {
		if strings.HasPrefix(b.Line, "user_message") || strings.HasPrefix(b.Line, "agent_message") {
			t.Errorf("%s says %q again", b.ID, b.Line)
		}
		if b.OnlyNote != (b.Kind == transcript.Note) {
			t.Errorf("%s: a %s, note %t", b.ID, b.Kind, b.OnlyNote)
		}
	}
}

func TestAroundAnEntry(t *testing.T) {
	lines := []string{"u0 - user 0"}
	for n := 1; n < 50; n++ {
		lines = append(lines, fmt.Sprintf("u%d u%d user %d", n, n-1, n))
	}
	d := talk(t, lines...)
	w := window(t, d, transcript.Request{Around: "u20", Limit: 5})
	if d := difftest.Diff([]session.EntryID{"u18", "u19", "u20", "u21", "u22"}, ids(w)); d != "" {
		t.Error(d)
	}
	if !w.Earlier || !w.Later || w.Position != 18 || w.Total != 50 {
		t.Errorf("%+v; want w.Earlier, w.Later, w.Position == 18, w.Total == 50", w)
	}
	if w := window(t, d, transcript.Request{Around: "u1", Limit: 5}); w.Earlier || !w.Later || w.First != "u0" {
		t.Errorf(`%v; want not w.Earlier, w.Later, w.First == "u0"`, ids(w))
	}
	model := window(t, d, transcript.Request{Around: "u20", Limit: 5, Mode: transcript.Model})
	if d := difftest.Diff([]session.EntryID{"u18", "u19", "u20", "u21", "u22"}, ids(model)); d != "" {
		t.Error(d)
	}
	if model.Total != 50 || model.Estimate < 50 || model.Position != 18 {
		t.Errorf("%d messages, %d tokens, from %d", model.Total, model.Estimate, model.Position)
	}
	for _, r := range []transcript.Request{{First: true}, {}} {
		r.Limit, r.Mode = 7, transcript.Model
		if list := page(t, d, r, r.First); len(list) != 50 || list[0].ID != "u0" || list[49].ID != "u49" {
			t.Errorf("%d messages", len(list))
		}
	}
}

// The focused view has prompts and the last text of each turn.
func TestFocused(t *testing.T) {
	d := talk(t,
		"u1 - user Find it.",
		"a1 u1 answer I look.",
		`k1 a1 call c1 bash {"command":"ls"}`,
		"r1 k1 result c1 x",
		"a2 r1 answer Found.",
		"u2 a2 user Thanks.",
		`k2 u2 call c2 bash {"command":"rm"}`,
	)
	w := window(t, d, transcript.Request{Mode: transcript.Focused})
	if d := difftest.Diff([]session.EntryID{"u1", "a2", "u2"}, ids(w)); d != "" {
		t.Error(d)
	}
}

// Of very long texts, the beginning is shown without splitting a character, and the entry with the rest is named.
func TestLongTextsAreCut(t *testing.T) {
	long := strings.Repeat("é", 3<<20)
	d := talk(t, "u1 - user "+long, `k1 u1 call c1 write {"path":"x","content":"`+strings.Repeat(`line\n`, 100_000)+`"}`, "r1 k1 result c1 "+long)
	w := window(t, d, transcript.Request{MaxText: 1001})
	text := w.Blocks[0].Pieces[0].(transcript.Text)
	if text.Text != strings.Repeat("é", 500) || text.Cut != len(long)-1000 || text.Entry != "u1" {
		t.Errorf("%d bytes, %d cut", len(text.Text), text.Cut)
	}
	c := w.Blocks[1].Pieces[0].(transcript.Tools).Calls[0]
	if out := c.Output[0].(transcript.Text); len(out.Text) != 1000 || out.Entry != "r1" || c.InputCut == 0 {
		t.Errorf("%d bytes of output, %d of input cut", len(out.Text), c.InputCut)
	}
	lines := window(t, talk(t, "u1 - user hi", `k1 u1 call c1 bash {"command":"seq 3000"}`, "r1 k1 result c1 "+strings.Repeat("line\n", 3000)), transcript.Request{MaxText: 21})
	if out := lines.Blocks[1].Pieces[0].(transcript.Tools).Calls[0].Output[0].(transcript.Text); out.Text != "line\nline\nline\nline\nl" || out.Lines() != 3000 {
		t.Errorf("%q has %d lines with those that are cut", out.Text, out.Lines())
	}
	if e := c.Edits[0]; e.Added != 100_000 || len(e.Hunks[0].Lines) != 2000 || !strings.Contains(e.Partial, "first 2000 lines") {
		t.Errorf("%d added, %d shown, %s", e.Added, len(e.Hunks[0].Lines), e.Partial)
	}
	if whole := window(t, d, transcript.Request{MaxText: -1}); whole.Blocks[0].Pieces[0].(transcript.Text).Text != long {
		t.Error("the whole text is not whole")
	}
}

// A drawing of a tree of any shape has at most the requested number of rows, and includes the leaf and the reader's position.
func TestRailIsBounded(t *testing.T) {
	shapes := map[string]func(n int) string{ // the parent of entry n
		"a line":     func(n int) string { return fmt.Sprintf("e%d", n-1) },
		"a star":     func(int) string { return "e0" },
		"a comb":     func(n int) string { return fmt.Sprintf("e%d", max(n-1-n%2, 0)) },
		"a tree":     func(n int) string { return fmt.Sprintf("e%d", (n-1)/2) },
		"only roots": func(int) string { return "-" },
	}
	for name, parent := range shapes {
		t.Run(name, func(t *testing.T) {
			lines := []string{"e0 - user 0"}
			for n := 1; n < 3000; n++ {
				lines = append(lines, fmt.Sprintf("e%d %s user %d", n, parent(n), n))
			}
			d := talk(t, lines...)
			for _, most := range []int{4, 10, 50, 301} {
				r := rail(t, d, transcript.RailRequest{MaxRows: most, Here: "e700"})
				checkRail(t, r, most)
			}
		})
	}
}

// A row of the rail has no Markdown syntax, and a call has the title of its block.
func TestRailTexts(t *testing.T) {
	d := talk(t, "a - user # Make `Cents` a **type** in /garden/cents.go", `b a call c1 edit {"path":"/garden/cents.go","oldText":"a","newText":"b"}`,
		"c b result c1 ok", `d c call c2 bash {"command":"go test ./...","timeout":60}`, "e d result c2 ok", "f e answer - [x](https://y.z) is _done_")
	var got []string
	for _, r := range rail(t, d, transcript.RailRequest{}).Rows {
		got = append(got, r.Text)
	}
	want := []string{"Make Cents a type in cents.go", "edit cents.go", "bash go test ./...", "x is done"}
	if d := difftest.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func checkRail(t *testing.T, r *transcript.Rail, most int) {
	t.Helper()
	if len(r.Rows) > most || len(r.Rows) < 2 {
		t.Fatalf("%d rows instead of %d", len(r.Rows), most)
	}
	leaf, here := false, false
	for n, w := range r.Rows {
		if w.Above >= n || w.Above < -1 || w.Entry == "" || w.Link == "" || w.Column >= r.Columns {
			t.Errorf("row %d: %+v", n, w)
		}
		if w.Kind == transcript.RowRun && w.Count <= 0 {
			t.Errorf("row %d: an empty run", n)
		}
		leaf, here = leaf || w.Leaf, here || w.Here
	}
	if most >= 10 && !(leaf && here) {
		t.Errorf("%d rows without leaf or position:\n%s", most, dumpRail(r))
	}
}

// A long path needs no recursion and no quadratic time.
func TestDeep(t *testing.T) {
	const n = 100_000
	lines := make([]string, n)
	lines[0] = "e0 - user 0"
	for i := 1; i < n; i++ {
		lines[i] = fmt.Sprintf("e%d e%d user %d", i, i-1, i)
	}
	d := talk(t, lines...)
	w := window(t, d, transcript.Request{Limit: 10})
	if w.Total != n || len(w.Blocks) != 10 || w.Position != n-10 {
		t.Errorf("%d entries, %d blocks, from %d", w.Total, len(w.Blocks), w.Position)
	}
	checkRail(t, rail(t, d, transcript.RailRequest{Here: "e100"}), 300)
}

// Answers that do not say where they end form one block, but its length is limited.
func TestNothingButAnswers(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"timestamp":"2026-03-01T08:00:00.000Z","type":"session_meta","payload":{"id":"019a2f00-0000-7000-8000-000000000001","timestamp":"2026-03-01T08:00:00.000Z","cwd":"/garden","originator":"codex_cli_rs","cli_version":"0.50.0"}}` + "\n")
	const n = 1000
	for i := range n {
		fmt.Fprintf(&b, `{"timestamp":"2026-03-01T08:00:01.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"%d"}]}}`+"\n", i)
	}
	w := world.New(t)
	d := open(t, w, w.Put("answers.jsonl", b.String()))
	checkPaging(t, d, d.Session().Leaf(), transcript.Everything)
	shown := 0
	for _, b := range window(t, d, transcript.Request{}).Blocks {
		if len(b.Pieces) > 2*64 {
			t.Errorf("%d answers in one block", len(b.Pieces))
		}
		shown += len(b.Pieces)
	}
	if shown != n {
		t.Errorf("%d answers", shown)
	}
}

// Very many notes report the tokens of one answer. In quadratic time, this would take minutes.
func TestManyTokenNotes(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"timestamp":"2026-03-01T08:00:00.000Z","type":"session_meta","payload":{"id":"019a2f00-0000-7000-8000-000000000001","timestamp":"2026-03-01T08:00:00.000Z","cwd":"/garden","originator":"codex_cli_rs","cli_version":"0.50.0"}}` + "\n")
	b.WriteString(`{"timestamp":"2026-03-01T08:00:01.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Dug."}]}}` + "\n")
	const n = 100_000
	for i := range n {
		fmt.Fprintf(&b, `{"timestamp":"2026-03-01T08:00:01.000Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":%d,"output_tokens":1,"total_tokens":1},"last_token_usage":{"input_tokens":1,"output_tokens":1}}}}`+"\n", i)
	}
	b.WriteString(`{"timestamp":"2026-03-01T08:00:01.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Thanks."}]}}` + "\n")
	w := world.New(t)
	blocks := window(t, open(t, w, w.Put("notes.jsonl", b.String())), transcript.Request{}).Blocks
	if len(blocks) != 2 || blocks[0].Usage.Total != 2*n {
		t.Errorf("%d blocks, want two and %d tokens: %+v", len(blocks), 2*n, blocks)
	}
}

func TestCancel(t *testing.T) {
	d := talk(t, "u1 - user One.", "a1 u1 answer 1.")
	why := errors.New("the reader left")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := d.Window(ctx, transcript.Request{}); !errors.Is(err, why) {
		t.Error(err)
	}
	if _, err := d.Changes(ctx, nil); !errors.Is(err, why) {
		t.Error(err)
	}
	if _, err := d.Rail(ctx, transcript.RailRequest{}); !errors.Is(err, why) {
		t.Error(err)
	}
}

// A record that can no longer be read becomes a block with a problem; all others are shown.
func TestUnreadable(t *testing.T) {
	w := world.New(t)
	log := talkLog("u1 - user One.", "a1 u1 answer 1.", "u2 a1 user Two.", "a2 u2 answer 2.", "u3 a1 user Three.")
	path := w.Put("talk.jsonl", log)
	d := open(t, w, path)
	w.Must(os.Truncate(path, int64(strings.Index(log, `{"id":"a2"`))))
	leaf := session.EntryID("a2")
	win := window(t, d, transcript.Request{Leaf: &leaf})
	if len(win.Blocks) != 4 || len(win.Problems) == 0 {
		t.Fatal(dump(win))
	}
	if b := win.Blocks[3]; b.Kind != transcript.Opaque || len(b.Problems) != 1 || b.Problems[0].Kind != session.ProblemUnreadable {
		t.Errorf("%+v; want b.Kind == transcript.Opaque, len(b.Problems) == 1, b.Problems[0].Kind == session.ProblemUnreadable", b)
	}
	if r := rail(t, d, transcript.RailRequest{Leaf: &leaf}); r.Rows[3].Text != "(cannot be read)" {
		t.Error(dumpRail(r))
	}
}

func TestUnknownLeaf(t *testing.T) {
	d := talk(t, "u1 - user One.")
	leaf := session.EntryID("nothing")
	if _, err := d.Window(t.Context(), transcript.Request{Leaf: &leaf}); !errors.Is(err, session.ErrUnknownEntry) {
		t.Error(err)
	}
	leaf = ""
	w := window(t, d, transcript.Request{Leaf: &leaf})
	if len(w.Blocks) != 0 || w.Onward == nil || w.Onward.Count != 1 {
		t.Errorf("%s; want len(w.Blocks) == 0, w.Onward != nil, w.Onward.Count == 1", dump(w))
	}
}

// TestModelWalk: the pages of what the model sees have every message, even if one entry stands for many of them.
func TestModelWalk(t *testing.T) {
	t.Parallel()
	const messages = 25
	user := func(n int) string {
		return fmt.Sprintf(`{"type":"message","role":"user","content":[{"type":"input_text","text":"Prompt %d."}]}`, n)
	}
	var kept, want []string
	for n := range messages {
		kept, want = append(kept, user(n)), append(want, fmt.Sprintf("Prompt %d.", n))
	}
	lines := []string{
		`{"timestamp":"2026-03-01T08:00:00.000Z","type":"session_meta","payload":{"id":"019a2f00-0000-7000-8000-000000000001","timestamp":"2026-03-01T08:00:00.000Z","cwd":"/garden","originator":"codex_cli_rs","cli_version":"0.166.0","source":"cli"}}`,
		`{"timestamp":"2026-03-01T08:00:02.000Z","type":"response_item","payload":` + user(0) + `}`,
		`{"timestamp":"2026-03-01T08:00:03.000Z","type":"event_msg","payload":{"type":"user_message","message":"Prompt 0."}}`,
		`{"timestamp":"2026-03-01T08:00:09.000Z","type":"compacted","payload":{"message":"Roses.","replacement_history":[` + strings.Join(kept, ",") + `]}}`,
	}
	for n := messages; n < messages+5; n++ {
		lines = append(lines, `{"timestamp":"2026-03-01T08:00:10.000Z","type":"response_item","payload":`+user(n)+`}`)
		want = append(want, fmt.Sprintf("Prompt %d.", n))
	}
	w := world.New(t)
	d := open(t, w, w.Put("rollout.jsonl", strings.Join(lines, "\n")+"\n"))
	texts := func(w *transcript.Window) (list []string) {
		for _, b := range w.Blocks {
			list = append(list, b.Pieces[0].(transcript.Text).Text)
		}
		return list
	}
	r := transcript.Request{Mode: transcript.Model, Limit: 10}
	var got []string
	for range messages {
		page := window(t, d, r)
		if got = append(texts(page), got...); !page.Earlier {
			break
		}
		r.Before = page.First
	}
	if diff := difftest.Diff(want, got); diff != "" {
		t.Errorf("from the end: %s", diff)
	}
	r, got = transcript.Request{Mode: transcript.Model, Limit: 10, First: true}, nil
	for range messages {
		page := window(t, d, r)
		if got = append(got, texts(page)...); !page.Later {
			break
		}
		r.First, r.After = false, page.Last
	}
	if diff := difftest.Diff(want, got); diff != "" {
		t.Errorf("from the beginning: %s", diff)
	}
}

// A later label has the id of a message that the path still has above a compaction: paging finds the message in its place. Another message
// has the id that a window might use for that place.
func TestRepeatedIDs(t *testing.T) {
	d := talk(t, "a1@2 - user Zero.", "u1 a1@2 user One.", "a1 u1 answer 1.", "c1 - compaction Sum.", "u2 c1 user Two.", "a2 u2 answer 2.", "a1 u1 label u1 mark", "u3 a2 user Three.")
	want := []session.EntryID{"a1@2", "u1", "a1", "c1", "u2", "a2", "u3"}
	for _, mode := range []transcript.Mode{transcript.Everything, transcript.Focused} {
		checkPages(t, d, mode, want)
		if got := ids(window(t, d, transcript.Request{Around: "a1", Limit: 1, Mode: mode})); !slices.Equal(got, want[2:3]) {
			t.Errorf("mode %d: the window around a1 shows %v", mode, got)
		}
	}
}

// Two messages of a conversation have the same id.
func TestRepeatedMessages(t *testing.T) {
	log := `{"session":{"id":"ses_e1ff00000013ffeFixture0013xx","slug":"fix","directory":"/garden","title":"a title","version":"1.18.33","time_created":1794750000000}}` + "\n"
	want := []session.EntryID{"m1", "m2", "m1", "m3", "m2", "m4"}
	for n, id := range want {
		log += fmt.Sprintf(`{"message":{"id":%q,"session_id":"ses_e1ff00000013ffeFixture0013xx","time_created":%d,"time_updated":1794750001500,`+
			`"data":{"role":"user","time":{"created":1794750001000},"agent":"build","model":{"providerID":"fake","modelID":"m1"}}},`+
			`"part":[{"id":"prt_%[3]d","message_id":%[1]q,"session_id":"ses_e1ff00000013ffeFixture0013xx","time_created":1794750001000,"time_updated":1794750001000,`+
			`"data":{"type":"text","text":"Prompt %[3]d."}}]}`+"\n", id, 1794750001000+n, n)
	}
	w := world.New(t)
	d := open(t, w, w.Put("ses_e1ff00000013ffeFixture0013xx.jsonl", log))
	for _, mode := range []transcript.Mode{transcript.Everything, transcript.Focused, transcript.Model} {
		checkPages(t, d, mode, want)
	}
}

// checkPages pages through the blocks of a document in both directions.
func checkPages(t *testing.T, d *transcript.Document, mode transcript.Mode, want []session.EntryID) {
	t.Helper()
	for _, forth := range []bool{true, false} {
		for _, limit := range []int{1, 2} {
			paged := page(t, d, transcript.Request{Limit: limit, First: forth, Mode: mode}, forth)
			if got := ids(&transcript.Window{Blocks: paged}); !slices.Equal(got, want) {
				t.Errorf("mode %d, forth %t, limit %d: %v, want %v", mode, forth, limit, got, want)
			}
		}
	}
}
