package view

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/internal/demo"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/transcript"
	"github.com/treeline-dev/treeline/tui/look"
)

func TestMain(m *testing.M) { os.Exit(soaktest.Main(m)) }

// generated opens a session of many entries.
func generated(t testing.TB, o gen.Options) *treeline.Session {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log.jsonl")
	if err := os.WriteFile(path, gen.Session(o), 0o600); err != nil {
		t.Fatal(err)
	}
	return openFile(t, path)
}

// all returns the ids of all blocks on the path.
func all(t testing.TB, s *treeline.Session, m transcript.Mode) (list []session.EntryID) {
	t.Helper()
	w, err := transcript.New(s, nil).Window(t.Context(), transcript.Request{First: true, Limit: 1 << 20, Mode: m})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range w.Blocks {
		list = append(list, b.ID)
	}
	return list
}

// Going through a session, by any key and in both directions, passes every block once, in order.
func TestPassesEveryBlock(t *testing.T) {
	s := generated(t, gen.Options{Seed: 3, Entries: soaktest.Part(1600, 1300), Branches: 3})
	for _, c := range []struct {
		mode            string
		of              transcript.Mode
		begin, key, end string
	}{
		{"1", transcript.Everything, "g", "j", "down"}, {"1", transcript.Everything, "G", "k", "up"},
		{"1", transcript.Everything, "g", "pgdown", "down"}, {"2", transcript.Focused, "g", "j", "down"},
	} {
		t.Run(c.mode+" "+c.key, func(t *testing.T) {
			r := ride(t, openFile(t, s.Path()), Options{}, 100, 30)
			r.press(c.mode, c.begin)
			want := all(t, s, c.of)
			if c.of == transcript.Everything && len(want) <= mostItems {
				t.Fatalf("%d blocks, which are loaded at once", len(want))
			}
			var got []session.EntryID
			seen := map[session.EntryID]bool{}
			see := func() {
				for _, at := range r.v.pane.visible() {
					it := r.v.pane.items[at.item]
					if it.block == nil {
						continue
					}
					switch {
					case seen[it.id]:
					case c.end == "down":
						got = append(got, it.id)
					default:
						got = append([]session.EntryID{it.id}, got...)
					}
					seen[it.id] = true
				}
			}
			for n := 0; n < 100000; n++ {
				top, cur := r.v.pane.items[r.v.pane.top.item], r.v.current()
				line := r.v.pane.top
				see()
				r.press(c.key)
				if r.v.pane.items[r.v.pane.top.item] == top && r.v.current() == cur && r.v.pane.top.part == line.part && r.v.pane.top.line == line.line {
					break
				}
			}
			see()
			if len(got) != len(want) {
				t.Errorf("%d blocks of %d", len(got), len(want))
			}
			if c.end == "down" {
				if d := difftest.Diff(want, got); d != "" {
					t.Error(d)
				}
			}
		})
	}
}

// Messages with repeated ids are passed like all others.
func TestPassesRepeatedIDs(t *testing.T) {
	const messages = 2 * mostItems
	log := `{"session":{"id":"ses_e1ff00000013ffeFixture0013xx","slug":"s","directory":"/garden","title":"t","version":"1.18.33","time_created":1794750000000}}` + "\n"
	for n := range messages {
		log += fmt.Sprintf(`{"message":{"id":"m%d","session_id":"ses_e1ff00000013ffeFixture0013xx","time_created":1794750001000,"time_updated":1794750001000,`+
			`"data":{"role":"user","time":{"created":1794750001000},"agent":"build","model":{"providerID":"p","modelID":"m"}}},`+
			`"part":[{"id":"prt_%d","message_id":"m%[1]d","session_id":"ses_e1ff00000013ffeFixture0013xx","time_created":1794750001000,"time_updated":1794750001000,`+
			`"data":{"type":"text","text":"Prompt %[2]d."}}]}`+"\n", n%50, n)
	}
	path := filepath.Join(t.TempDir(), "ses_e1ff00000013ffeFixture0013xx.jsonl")
	if err := os.WriteFile(path, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"1", "2", "3"} {
		for edge, key := range map[string]string{"g": "pgdown", "G": "pgup"} {
			r := ride(t, openFile(t, path), Options{}, 100, 30)
			r.press(mode, edge)
			seen := map[string]bool{}
			for range messages {
				for _, at := range r.v.pane.visible() {
					if b := r.v.pane.items[at.item].block; b != nil {
						seen[b.Pieces[0].(transcript.Text).Text] = true
					}
				}
				r.press(key)
			}
			if len(seen) != messages {
				t.Errorf("mode %s, from %s: %d of %d messages", mode, edge, len(seen), messages)
			}
		}
	}
}

// Whatever is pressed, the frame has its size, the cursor is visible, and actions apply to an existing entry.
func TestRandomKeys(t *testing.T) {
	s := generated(t, gen.Options{Seed: 5, Entries: 600, Branches: 25, CompactEvery: 100})
	random := rand.New(rand.NewPCG(1, 2))
	r := ride(t, s, Options{}, 120, 40)
	keys := strings.Fields("j j j k k J K ] [ e E tab tab c 1 2 3 4 v p g G pgdown pgup ctrl+d ctrl+u ctrl+e ctrl+y enter n N")
	var pressed []string
	for range soaktest.Part(1500, 600) {
		key := keys[random.IntN(len(keys))]
		pressed = append(pressed, key)
		switch random.IntN(20) {
		case 0:
			r.width, r.height = 20+random.IntN(140), 3+random.IntN(50)
		case 1:
			r.wheel(random.IntN(r.width), random.IntN(r.height), random.IntN(2) == 0)
		case 2:
			r.v.needle = []string{"", "the", "error"}[random.IntN(3)]
		}
		r.press(key)
		lines := strings.Split(r.text(), "\n")
		if len(lines) != r.height {
			t.Fatalf("%v: %d lines of %d", pressed, len(lines), r.height)
		}
		for _, l := range lines {
			if look.Width(l) != r.width {
				t.Fatalf("%v: %d columns of %d: %q", pressed, look.Width(l), r.width, l)
			}
		}
		if p := &r.v.pane; len(p.items) > 0 {
			if from, _, _, _ := p.rows(p.cur); from < 0 {
				t.Fatalf("%v: the cursor is not in sight: item %d, top %v of %d, %dx%d, %s", pressed, p.cur, p.top, len(p.items), p.width, p.height, r.text())
			}
		} else if r.v.mode != changes && (r.v.mode != model || seen(t, s, r.v.at) > 0) {
			t.Fatalf("%v: nothing is shown", pressed)
		}
		if target, ok := r.v.target(); !ok || !r.v.src.knows(session.EntryID(target.Entry)) {
			t.Fatalf("%v: %+v; want ok, r.v.src.knows(session.EntryID(target.Entry))", pressed, target)
		}
		if o := r.v.tree.outline; o == nil || r.v.tree.cur < 0 || r.v.tree.cur >= o.Len() {
			t.Fatalf("%v: row %d", pressed, r.v.tree.cur)
		}
	}
}

// A fork is switched by keys and by the mouse; the tree and the transcript show the same branch.
func TestBranches(t *testing.T) {
	s := machine(t)
	r := ride(t, open(t, s, "Prices are off by a cent"), Options{}, 120, 40)
	r.press("[")
	r.sees("‹ branch 1 of 2: Round at the end. ›", "another branch", "▌├─● Round at the end.")
	r.press("[")
	if got := answer[look.Status](r).Text; got != "this is the first branch" {
		t.Error(got)
	}
	r.press("]")
	r.sees("‹ branch 2 of 2: Count in cents. ›", "▌● Count in cents.", "├─○ Round")
	r.click("branch 2 of 2", 0)
	r.sees("‹ branch 1 of 2: Round at the end. ›")
	r.click("›", 0)
	r.sees("‹ branch 2 of 2: Count in cents. ›")
	// A row of another branch leads there.
	r.click("○ Done, but two tests", 0)
	r.sees("▌│ ● Done, but two tests", "rounding twice loses a cent")
}

// The cursor of the tree moves over every row, including those whose entries have no block of their own.
func TestTree(t *testing.T) {
	s := machine(t)
	for _, title := range []string{"Prices are off by a cent", "Customers can return items", "A test fails once a week"} {
		r := ride(t, open(t, s, title), Options{}, 120, 40)
		r.press("tab", "g")
		for n := range r.v.tree.outline.Len() {
			if r.v.tree.cur != n {
				t.Fatalf("%s: row %d after %d steps", title, r.v.tree.cur, n)
			}
			if target, _ := r.v.target(); target.Entry != string(r.v.tree.id) {
				t.Errorf("%s: row %d: the target is %s", title, n, target.Entry)
			}
			r.press("j")
		}
		r.press("tab", "G", "tab", "K")
		if at := r.v.tree.cur; r.v.tree.rows[at-r.v.tree.first].Role != session.RoleUser {
			t.Errorf("%s: K leads to row %d", title, at)
		}
	}
	r := ride(t, open(t, s, "Prices are off by a cent"), Options{}, 120, 40)
	r.press("tab", "E")
	r.sees("├─○ Round at the end.                     ▸5")
	r.press("E")
	r.sees("│ ○ Done, but two")
	r.press("g", "j", "j", "j", "j", "e")
	r.sees("▌├─● Round at the end.                     ▸5")
	r.press("e")
	r.sees("│ ● Done, but two")
}

// J and K go from prompt to prompt, and skip what the agent wrote in the name of the user.
func TestPrompts(t *testing.T) {
	for _, file := range []string{"claude/testdata/claude/commands-and-errors", "claude/testdata/claude/compaction", "codex/testdata/codex/calls"} {
		sess := openFile(t, filepath.Join("../../dialect", file+".jsonl"))
		w, err := transcript.New(sess, nil).Window(t.Context(), transcript.Request{First: true})
		if err != nil {
			t.Fatal(err)
		}
		var want []session.EntryID
		for _, b := range w.Blocks {
			if b.Prompt {
				want = append(want, b.ID)
			}
		}
		r := ride(t, sess, Options{}, 80, 24)
		r.press("g")
		var got []session.EntryID
		if r.v.current().block.Prompt {
			got = append(got, r.v.here())
		}
		for {
			at := r.v.here()
			if r.press("J"); r.v.here() == at {
				break
			}
			got = append(got, r.v.here())
		}
		if d := difftest.Diff(want, got); d != "" || len(want) == 0 {
			t.Errorf(`%s: %s; want d == "", len(want) != 0`, file, d)
		}
		for range len(want) - 1 {
			r.press("K")
		}
		if r.v.here() != want[0] {
			t.Errorf("%s: K leads to %s", file, r.v.here())
		}
	}
}

// What the model sees ends at the entry under the cursor, with an estimate of its tokens.
func TestModelAtTheCursor(t *testing.T) {
	r := ride(t, open(t, machine(t), "Prices are off by a cent"), Options{}, 120, 40)
	r.press("g", "j", "c")
	r.sees("You · 14:02 · about", "Assistant · 14:02 · about", " 1.3k tokens ─")
	r.misses("credit note")
	r.press("c")
	if it := r.v.current(); it.block.Role != session.RoleAssistant || r.v.mode != everything {
		t.Errorf("back at %s in %s", it.id, r.v.mode)
	}
	r.press("c", "esc")
	if r.v.mode != everything {
		t.Error(r.v.mode)
	}
}

// seen returns the number of messages that the model sees at an entry.
func seen(t *testing.T, s *treeline.Session, at session.EntryID) (n int) {
	t.Helper()
	c, err := s.Context(t.Context(), at, treeline.ContextOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range c.Messages() {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// At an entry before the first message, the model sees nothing, and the screen says so.
func TestModelSeesNothing(t *testing.T) {
	info := `{"type":"session_info","id":"a","parentId":null,"timestamp":"2026-03-02T14:00:00.000Z","name":"T"}`
	r := ride(t, log(t, info, said("b", "a", "user", "one")), Options{}, 80, 24)
	r.press("g", "3")
	r.sees("the model sees nothing at this entry")
}

// At 80 columns, the key of a mode shows the mode even from the tree.
func TestModeLeavesTree(t *testing.T) {
	for key, want := range map[string]string{"1": "everything", "2": "focused", "3": "tokens", "4": "changes", "c": "tokens"} {
		r := ride(t, log(t, said("a", "", "user", "one"), said("b", "a", "assistant", "two")), Options{}, 80, 24)
		r.press("tab")
		r.misses("what the model sees")
		r.press(key)
		r.sees("what the model sees", want)
	}
	r := ride(t, log(t, said("a", "", "user", "one"), said("b", "a", "assistant", "two")), Options{}, 120, 24)
	if r.press("tab", "3"); !r.v.onTree {
		t.Error("the keys do not move in the tree any more, which is beside the transcript")
	}
}

func TestFind(t *testing.T) {
	lines := []string{said("a", "", "user", "one needle"), said("b", "a", "assistant", "nothing")}
	lines = append(lines,
		`{"type":"message","id":"c","parentId":"b","timestamp":"2026-03-02T14:00:01.000Z","message":{"role":"assistant","content":[`+
			`{"type":"toolCall","id":"t","name":"bash","arguments":{"command":"ls"}}],"stopReason":"toolUse"}}`,
		`{"type":"message","id":"d","parentId":"c","timestamp":"2026-03-02T14:00:01.000Z","message":{"role":"toolResult","toolCallId":"t","content":[`+
			`{"type":"text","text":"`+strings.Repeat(`line\n`, 200)+`a NEEDLE in the output"}]}}`,
		said("e", "d", "user", "end"), said("f", "b", "user", "another branch with a needle"),
		said("g", "e", "user", "last"))
	r := ride(t, log(t, lines...), Options{}, 80, 24)
	r.press("/")
	r.run(answer[look.Ask](r).Then("Needle"))
	// The search wraps around, since the cursor is at the end.
	for _, want := range []string{"a", "c", "f", "a"} {
		if got := r.v.current(); got == nil || string(got.id) != want {
			t.Fatalf("found %v, want %s", got, want)
		}
		if !strings.Contains(strings.ToLower(r.text()), "needle") {
			t.Errorf("it is not in sight:\n%s", r.text())
		}
		r.press("n")
	}
	r.press("N", "N")
	if got := r.v.current().id; got != "f" {
		t.Errorf("backwards to %s", got)
	}
	r.press("/")
	r.run(answer[look.Ask](r).Then("haystack"))
	if got := answer[look.Status](r); !got.Error || !strings.Contains(got.Text, "not found") {
		t.Error(got)
	}
	r.press("esc")
	if r.v.needle != "" {
		t.Error(r.v.needle)
	}
}

// A long text is shown in part; unfolded, it is complete.
func TestLongText(t *testing.T) {
	text := strings.Repeat("word ", 40_000) + "\n\nTHE END"
	r := ride(t, log(t, said("a", "", "user", text), said("b", "a", "assistant", "yes")), Options{}, 80, 24)
	r.press("G", "k")
	r.sees("… 134 KB more")
	r.misses("THE END")
	r.press("g", "e", "G")
	r.sees("THE END")
	r.misses("KB more")
}

// Requests to the program: sub-agents, relatives, labels, actions.
func TestRequests(t *testing.T) {
	s := machine(t)
	r := ride(t, open(t, s, "Customers can return items"), Options{Store: s}, 120, 40)
	r.press("g", "j", "enter")
	if o := answer[look.Open](r); !strings.Contains(o.Path, "subagents") {
		t.Error(o)
	}
	r.click("sub-agent: Find out how a refund", 3)
	if o := answer[look.Open](r); !strings.Contains(o.Path, "subagents") {
		t.Error(o)
	}
	r.press("a")
	if c := answer[look.Choose](r); len(c.Options) != 2 || c.Options[0].Note != "sub-agent" {
		t.Error(c.Options)
	}

	r = ride(t, open(t, s, "Prices are off by a cent"), Options{Store: s}, 120, 40)
	r.press("a")
	choice := answer[look.Choose](r)
	if len(choice.Options) != 1 || choice.Options[0].Note != "fork" {
		t.Error(choice.Options)
	}
	r.run(choice.Then(0))
	if o := answer[look.Open](r); o.Path == r.v.facts.path || o.Path == "" {
		t.Error(o)
	}
	r.press("m")
	r.run(answer[look.Choose](r).Then(0))
	r.sees("⚑ decision")
	r.press("l")
	if d := answer[look.Do](r); d.Action != look.Label || d.Target.Label != "decision" || d.Target.Entry != string(r.v.here()) {
		t.Errorf(`%+v; want d.Action == look.Label, d.Target.Label == "decision", d.Target.Entry == string(r.v.here())`, d)
	}
	for key, want := range map[string]look.Action{"b": look.BranchHere, "f": look.ForkHere, "r": look.CopyResume, "R": look.ResumeElsewhere, "x": look.Export, "o": look.Browse, "d": look.Delete, "t": look.Rename} {
		r.press(key)
		if d := answer[look.Do](r); d.Action != want {
			t.Errorf("%s does %v", key, d.Action)
		}
	}
	r.press("4", "j", "enter")
	if r.v.mode != everything || r.v.current().block == nil {
		t.Error("enter on a file does not lead to its edit")
	}
	r.sees("write pricing/cents.go")
}

// A session without entries has nothing to move in, and keys do no harm.
func TestEmpty(t *testing.T) {
	r := ride(t, log(t), Options{}, 120, 24)
	r.sees("(no entries yet)")
	for _, k := range r.v.Keys() {
		r.press(k.Keys...)
	}
	r.wheel(3, 3, true)
	r.wheel(100, 3, false)
}

// If the session's leaf is before its last entries, the ending shows how they continue. A reader who moved the leaf there is taken to it.
func TestGoesOn(t *testing.T) {
	reader := log(t, talk(4)...)
	path := reader.Path()
	s, err := treeline.New(demo.Machine(filepath.Dir(path), time.Now))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := ride(t, reader, Options{}, 80, 24)
	r.press("g", "J")
	before := r.text()
	sess, err := s.OpenWrite(t.Context(), path, treeline.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sess.Branch(t.Context(), "a1", treeline.BranchOptions{Durable: true}); err != nil {
		t.Fatal(err)
	}
	if err := sess.Close(); err != nil {
		t.Fatal(err)
	}
	r.run(r.v.renew()) // another program moved the leaf: the reader's position stays
	if r.v.here() != "q1" || strings.ReplaceAll(r.text(), "─ another branch ─", strings.Repeat("─", 18)) != before {
		t.Errorf("it moved:\n%s", r.text())
	}
	target, _ := r.v.target()
	r.send(look.Done{Action: look.BranchHere, Target: target})
	r.sees("continues in 1 branch", "› Question 2?", "4 entries")
	if r.v.here() != "a1" {
		t.Errorf("the cursor is at %s", r.v.here())
	}
	r.press("j", "enter")
	r.sees("Answer 3.", "another branch")
	r.misses("continues in")
}

// No key has two meanings, and each has a help text.
func TestKeys(t *testing.T) {
	r := ride(t, log(t, said("a", "", "user", "x")), Options{}, 80, 24)
	r.v.needle = "x"
	seen := map[string]string{}
	for _, k := range r.v.Keys() {
		if k.Help == "" || k.Run == nil || len(k.Keys) == 0 {
			t.Errorf(`%+v; want k.Help != "", k.Run != nil, len(k.Keys) != 0`, k)
		}
		for _, key := range k.Keys {
			if seen[key] != "" {
				t.Errorf("%s: %s, and %s", key, seen[key], k.Help)
			}
			seen[key] = k.Help
		}
	}
	if got := fmt.Sprint(r.v.Keys()[8].Command()); got != "treeline context s1 --leaf a" {
		t.Error(got)
	}
}

// The mouse scrolls the pane under it, and chooses modes, rows and blocks.
func TestMouse(t *testing.T) {
	r := ride(t, open(t, machine(t), "Prices are off by a cent"), Options{}, 120, 20)
	r.press("g")
	top := r.v.pane.top
	r.wheel(100, 10, true)
	if !top.before(r.v.pane.top) || r.v.tree.top != 0 {
		t.Error("the wheel does not scroll the transcript alone")
	}
	r.click("focused", 1)
	if r.v.mode != focused {
		t.Error(r.v.mode)
	}
	r.click("everything", 1)
	r.press("g")
	r.click("▸ read pricing/sum.go", 2)
	r.sees("pattern: float64")
	r.click("You · 14:02", 0)
	if r.v.pane.cur != 0 {
		t.Error(r.v.pane.cur)
	}
	r.click("tree", 0)
	if !r.v.onTree {
		t.Error("a click does not lead to the tree")
	}
}

// TestHeadingWithoutTitle: a session without a title is named by its first prompt, as in the list.
func TestHeadingWithoutTitle(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{talk(2), "Question 0?"},
		{nil, "(no messages)"},
	} {
		sess := log(t, c.lines...)
		r := ride(t, sess, Options{}, 80, 24)
		if left, _ := r.v.Title(); left != c.want {
			t.Errorf("%d lines: the screen is called %q, want %q", len(c.lines), left, c.want)
		}
	}
	// The list may know more: a command of the agent's program.
	r := ride(t, log(t), Options{}, 80, 24)
	row := treeline.Row{Path: r.v.src.sess.Path()}
	row.Command = "/init"
	r.v.src.kin = []treeline.Row{row}
	if got := r.v.src.facts().title; got != "/init" {
		t.Errorf("the screen is called %q, not as in the list", got)
	}
}

// TestNarrowTabs: the name of the mode stays visible even if there is no room for all of them.
func TestNarrowTabs(t *testing.T) {
	r := ride(t, log(t, talk(2)...), Options{}, 40, 12)
	for m := range modes {
		r.v.mode = m
		var text string
		for _, run := range r.v.tabs(40) {
			text += run.text
		}
		if want := fmt.Sprintf("─ %s · %d of 4 ", m, m+1); text != want {
			t.Errorf("the tabs are %q, want %q", text, want)
		}
	}
}
