package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/tui/look"
)

// TestEscapeAndQ: Esc takes one step back and never ends the program; q closes a screen, and ends the program at the first one.
func TestEscapeAndQ(t *testing.T) {
	t.Parallel()
	s := onDemo(t, nil)
	s.press("esc", "esc")
	s.settle()
	if s.quit || len(s.p.stack) != 1 {
		t.Fatal("esc ended the first screen")
	}
	s.press("/")
	s.types("price")
	s.types(" nosuch")
	s.until("no session matches; esc twice clears the filter")
	for range " nosuch" {
		s.press("backspace")
	}
	s.press("esc") // to the list
	if s.p.typing() || s.p.stack[0].(*sessions).filter.text != "price" {
		t.Error("the first esc does not keep the filter")
	}
	s.press("esc") // no filter
	if s.p.stack[0].(*sessions).filter.text != "" {
		t.Error("the second esc does not take the filter away")
	}
	s.press("U")
	s.until("tokens · $")
	s.press("q")
	if len(s.p.stack) != 1 {
		t.Error("q does not close a screen")
	}
	s.press("S")
	s.types("q")
	if s.p.top().(*search).line.String() != "q" {
		t.Error("q is not text where text is typed")
	}
	s.press("esc", "esc")
	s.press("?")
	s.types("q")
	s.press("esc")
	s.settle()
	if s.quit || s.p.dialog != nil {
		t.Fatal("the list of keys does not close with esc alone")
	}
	s.press("q")
	s.wait("an end", func() bool { return s.quit })
}

// settle passes the messages that are waiting.
func (s *stage) settle() {
	s.take(look.Status{Text: "settled"})
	s.until("settled")
}

// TestFilter: typed text and keys narrow the list.
func TestFilter(t *testing.T) {
	t.Parallel()
	s := onDemo(t, nil)
	list := s.p.stack[0].(*sessions)
	titles := func() (all []string) {
		for _, x := range list.shown {
			all = append(all, list.all.Row(x.row).Heading())
		}
		return all
	}
	all := len(titles())
	for _, c := range []struct {
		text string
		want []string
	}{
		{"PRICES cent", []string{"Prices are off by a cent"}},
		{"agent:pi", []string{"Tiles load twice", "Dark map at night"}},
		{"agent:pi dark", []string{"Dark map at night"}},
		{"project:ledger agent:omp", []string{"What does this expression match?"}},
		{"has:problem", []string{"Tiles load twice"}},
		{"atlas dark agent:", []string{"Dark map at night"}}, // the value is still to be typed
		{"since:2h", []string{"One exchange rate a night"}},
		{"until:2026-03-06 agent:omp", []string{"What does this expression match?"}},
		{"model:no-such-model", nil},
		{"no such words", nil},
	} {
		s.press("/", "ctrl+u")
		s.types(c.text)
		if diff := difftest.Diff(c.want, titles()); diff != "" {
			t.Errorf(`%s: %s; want diff == ""`, c.text, diff)
		}
		s.press("esc", "esc")
	}
	if len(titles()) != all {
		t.Error("without a filter sessions are missing")
	}
	s.press("/")
	s.types("since:yesterday")
	if frame := s.frame(); !strings.Contains(frame, "invalid: since:yesterday") {
		t.Errorf("a wrong word is not told:\n%s", frame)
	}
	s.press("esc", "esc", "tab")
	if list.filter.agent != "claude" || len(titles()) != 2 {
		t.Errorf("tab shows %q: %v", list.filter.agent, titles())
	}
	s.press("?")
	s.types("next agent")
	s.until("$ treeline ls --all --source claude")
	s.press("esc", "esc", "s", "s", "s", "s", "s")
	if got := titles()[0]; got != "Prices are off by a cent" { // the most expensive fork is below its parent
		t.Errorf("by cost the first is %q", got)
	}
	s.press("esc", "t")
	if got := len(titles()); got != 3 {
		t.Errorf("%d sessions of the last day: %v", got, titles())
	}
}

// TestKeysRunAndNameCommands: the list of all keys runs an action, and each action of a session has a command.
func TestKeysRunAndNameCommands(t *testing.T) {
	t.Parallel()
	s := onDemo(t, nil)
	s.press("?")
	s.types("rename")
	s.until("$ treeline rename 01a1")
	s.press("enter")
	s.until("Title of the session")
	s.press("ctrl+u")
	s.types("New")
	s.press("enter")
	s.until("renamed")
	path := s.p.stack[0].(*sessions).selected()
	if diff := difftest.Diff([]string{"rename -- " + path + " New"}, s.ran()); diff != "" {
		t.Error(diff)
	}
	for a := look.Label; a <= look.Delete; a++ {
		if c := a.Command(look.Target{Ref: "01a1", Entry: "5a60"}, true); !strings.HasPrefix(c, "treeline ") || strings.Contains(c, "‹") {
			t.Errorf("the command of %v is %q", a, c)
		}
	}
}

// TestActions runs each action, and checks its command.
func TestActions(t *testing.T) {
	t.Parallel()
	s := onDemo(t, func(o *Options) { o.Home = "/nowhere" })
	path := s.p.stack[0].(*sessions).selected()
	at := look.Target{Path: path, ID: "id", Agent: "omp", Title: "A Title: of \x1b[2Jit", Entry: "5a60be28"}
	do := func(a look.Action, until string, answer string) {
		t.Helper()
		s.commands = nil
		s.answer = func([]string) (string, error) { return answer, nil }
		s.take(look.Do{Action: a, Target: at})
		s.until(until)
	}
	want := func(what string, commands ...string) {
		t.Helper()
		if diff := difftest.Diff(commands, s.ran()); diff != "" {
			t.Errorf(`%s: %s; want diff == ""`, what, diff)
		}
	}
	do(look.Label, "Label for entry", "")
	s.types("decision")
	s.press("enter")
	s.until("labelled decision")
	want("label", "label -- "+path+" 5a60be28 decision")

	at.Label = "old"
	do(look.Label, "Label for entry", "")
	s.press("ctrl+u", "enter")
	s.until("label removed")
	want("no label", "label --clear -- "+path+" 5a60be28")

	do(look.BranchHere, "continues from 5a60be28", "")
	want("branch", "branch -- "+path+" 5a60be28")

	do(look.CopyResume, "copied the resume command: cd /x && omp", "cd /x && omp --resume id\n")
	want("resume", "resume -- "+path)
	if diff := difftest.Diff([]string{"cd /x && omp --resume id"}, s.p.result.Lines); diff != "" {
		t.Error("printed at the end:", diff)
	}
	const osc52 = "\x1b]52;c;Y2QgL3ggJiYgb21wIC0tcmVzdW1lIGlk\a"
	if !strings.Contains(s.out.String(), osc52) {
		t.Error("the command is not in the clipboard")
	}

	do(look.Export, "which file?", "a-title-of-2jit.html\n")
	s.until("› a-title-of-2jit.html")
	s.press("enter")
	s.wait("the file", func() bool { return s.p.status.Text == "written to a-title-of-2jit.html" })
	want("export", "export -o a-title-of-2jit.html -- "+path)

	do(look.Delete, "trash?", "gone")
	s.press("enter") // is not a yes
	s.until("nothing changed")
	want("no delete")
	do(look.Delete, "trash?", path)
	s.press("y")
	s.until("moved to the trash; treeline rm --undo id puts it back")
	want("delete", "rm --yes -- "+path)

	s.answer = func([]string) (string, error) {
		return "", errors.New(strings.Repeat("/long", 40) + "/x.jsonl: another program has it open")
	}
	s.take(look.Do{Action: look.BranchHere, Target: at})
	s.until("/x.jsonl: another program has it\n open") // all of it
	if !s.p.status.Error {
		t.Error("an error does not look like one")
	}
	for _, n := range []int{1, 3, 40, 150} {
		for _, size := range [][2]int{{80, 24}, {40, 10}, {20, 4}} {
			s.size(size[0], size[1])
			for _, failed := range []bool{true, false} {
				s.take(look.Status{Text: "first " + strings.Repeat("/long text", n) + " last", Error: failed})
				lines := strings.Split(s.frame(), "\n")
				if len(lines) != size[1] {
					t.Errorf("%v: a frame has %d lines", size, len(lines))
				}
				for _, line := range lines {
					if w := ansi.StringWidth(line); w > size[0] {
						t.Errorf("%v: a line has %d columns: %q", size, w, line)
					}
				}
				if frame := s.frame(); !strings.Contains(frame, "first") || failed && !strings.Contains(frame, "last") && size[1] > 4 {
					t.Errorf("%v: the status has lost an end:\n%s", size, frame)
				}
			}
		}
	}
	s.size(80, 24)
	s.take(look.Do{Action: look.Browse, Target: at})
	s.until("not possible here")
	s.p.Browse = func(_ context.Context, id string) (string, error) {
		return "http://127.0.0.1:1/s/" + id, errors.New("no browser")
	}
	s.take(look.Do{Action: look.Browse, Target: at})
	s.until("http://127.0.0.1:1/s/id")

	s.commands, s.answer = nil, func([]string) (string, error) { return path + "\n", nil }
	s.take(look.Do{Action: look.ForkHere, Target: at})
	s.wait("the copy", func() bool { return len(s.p.stack) == 2 })
	want("fork", "fork --leaf 5a60be28 -- "+path)
}

// TestResumeNotes: the notes of 'treeline resume' are shown here, too.
func TestResumeNotes(t *testing.T) {
	t.Parallel()
	s := onDemo(t, nil)
	s.notes = []string{"it is open in pi (9)"}
	s.answer = func(args []string) (string, error) {
		if slices.Contains(args, "--json") {
			return `{"command":"codex resume 77","path":"/new.jsonl"}`, nil
		}
		return "pi --session x\n", nil
	}
	s.press("r")
	s.until("copied the resume command (it is open in pi (9)): pi --session x")
	s.press("R")
	s.until("Resume in which agent?")
	s.press("2")
	s.until("start codex")
	s.until("it is open in pi (9)")
}

// TestResumeElsewhere asks for the agent, reports what is lost, and offers the command.
func TestResumeElsewhere(t *testing.T) {
	t.Parallel()
	s := onDemo(t, nil)
	s.answer = func([]string) (string, error) {
		return `{"command":"cd /shop && codex resume 77","path":"/new.jsonl","conversion":{"target":{"dialect":"codex"},
			"losses":[{"kind":"label","count":2,"became":"dropped"},{"kind":"message","pointer":"/usage","count":9,"became":"carried"}]}}`, nil
	}
	path := s.p.stack[0].(*sessions).selected()
	s.press("R")
	s.until("Resume in which agent?")
	s.press("down", "enter")
	frame := s.until("Lost: label × 2.")
	if !strings.Contains(frame, "cd /shop && codex resume 77") {
		t.Errorf("the command is not shown:\n%s", frame)
	}
	if diff := difftest.Diff([]string{"resume --json --in codex -- " + path}, s.ran()); diff != "" {
		t.Error(diff)
	}
	s.press("enter")
	s.until("copied the resume command: cd /shop")
	s.press("R")
	s.until("Resume in which agent?")
	s.press("2")
	s.until("start codex")
	s.press("esc")
	s.until("the copy for codex is kept")
	s.press("R")
	s.until("Resume in which agent?")
	s.press("esc")
	s.until("nothing changed")
	s.press("R")
	s.until("Resume in which agent?")
	s.press("2")
	s.until("start codex")
	s.press("2")
	s.wait("an end", func() bool { return s.quit })
	if s.p.result.Resume != "/new.jsonl" {
		t.Errorf("%q is resumed", s.p.result.Resume)
	}
}

// TestOwnAgent: a session in any format of an agent belongs to the agent; resuming it there makes no copy.
func TestOwnAgent(t *testing.T) {
	t.Parallel()
	s := onDemo(t, nil)
	s.p.Agents = []string{"omp", "pi", "codelia"}
	for agent, own := range map[string]string{"omp18": "omp", "pi": "pi", "codelia-state": "codelia", "gemini": ""} {
		for _, o := range s.p.resumeElsewhere(look.Target{Agent: agent})().(look.Choose).Options {
			if isOwn := o.Note == "its own agent"; isOwn != (o.Name == own) {
				t.Errorf("a session of %s in %s: %s", agent, o.Name, o.Note)
			}
		}
	}
}

// TestOpens opens a session from the list, and a hit at its entry.
func TestOpens(t *testing.T) {
	t.Parallel()
	s := onDemo(t, nil)
	s.size(120, 40)
	s.press("j", "enter")
	s.until("─ tree ─")
	s.press("q")
	s.press("S")
	s.types("float64 cents")
	s.until("7 hits")
	s.press("enter")
	s.until("─ tree ─")
	s.press("esc")
	if _, ok := s.p.top().(*search); !ok {
		t.Error("esc does not lead back to the search")
	}
}

// TestSearchAtOnce: enter starts the search at once, and the next keys move in the hits.
func TestSearchAtOnce(t *testing.T) {
	t.Parallel()
	s := onDemo(t, nil)
	s.press("S")
	s.types("float64 cents")
	s.press("enter", "j")
	s.until("7 hits")
	if q := s.p.top().(*search); q.typing || q.line.String() != "float64 cents" {
		t.Errorf("typing %v, the query is %q", q.typing, q.line.String())
	}
	s.press("/")
	s.types(" nosuchword")
	s.press("enter")
	s.until("nothing found")
	if q := s.p.top().(*search); !q.typing {
		t.Error("a query without hits cannot be changed at once")
	}
}

// TestDeleteLeaves: the screen of a removed session is closed, and the list is read again.
func TestDeleteLeaves(t *testing.T) {
	t.Parallel()
	s := onDemo(t, nil)
	s.press("j", "enter")
	s.wait("the session", func() bool { return len(s.p.stack) == 2 })
	s.press("d")
	s.until("trash?")
	s.press("y")
	s.wait("the list", func() bool { return len(s.p.stack) == 1 && s.p.stack[0].(*sessions).loading })
	s.until("moved to the trash")
}

// TestFirstSession: on a machine without sessions, the first one appears although its place did not exist, and so do later ones.
func TestFirstSession(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	s := newStage(t, home, nil)
	s.until("There are no sessions yet.")
	dir := filepath.Join(home, ".omp", "agent", "sessions", "-p")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for n, title := range []string{"The first", "The second"} {
		log := fmt.Sprintf(`{"type":"session","version":3,"id":"s%d","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/p","title":%q}
{"type":"message","id":"a1","parentId":null,"timestamp":"2026-03-01T10:00:01.000Z","message":{"role":"user","content":"Hello."}}
`, n, title)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("s%d.jsonl", n)), []byte(log), 0o600); err != nil {
			t.Fatal(err)
		}
		s.until(title)
	}
}

// TestPick: enter chooses the session; with Entries, the entry in it.
func TestPick(t *testing.T) {
	t.Parallel()
	s := onDemo(t, func(o *Options) { o.Pick, o.Filter = true, "cent" })
	list := s.p.stack[0].(*sessions)
	want := Choice{Path: list.selected(), ID: string(list.all.Row(list.shown[0].row).ID)}
	s.press("enter")
	s.wait("an end", func() bool { return s.quit })
	if s.p.result.Chosen == nil || *s.p.result.Chosen != want {
		t.Errorf("picked %+v, want %+v", s.p.result.Chosen, want)
	}
	s = onDemo(t, func(o *Options) { o.Pick, o.Entries, o.Filter = true, true, "cent" })
	s.press("enter")
	s.until("enter pick")
	s.until("118 of 3,412") // it is loaded
	s.press("enter")
	s.wait("an end", func() bool { return s.quit })
	if c := s.p.result.Chosen; c == nil || c.Path != want.Path || len(c.Entry) != 8 {
		t.Errorf("picked %+v", c)
	}
}

// TestMouse: a click moves the cursor, a second one opens, the wheel scrolls.
func TestMouse(t *testing.T) {
	t.Parallel()
	s := onDemo(t, nil)
	s.size(80, 12)
	s.frame()
	s.take(tea.MouseClickMsg{X: 10, Y: 6, Button: tea.MouseLeft})
	list := s.p.stack[0].(*sessions)
	if list.at != 2 {
		t.Errorf("the third row was clicked, the cursor is at %d", list.at)
	}
	s.take(tea.MouseWheelMsg{Y: 8, Button: tea.MouseWheelDown})
	s.frame()
	if list.top != 3 || list.at != 3 {
		t.Errorf("after the wheel the list begins at %d, with the cursor at %d", list.top, list.at)
	}
	s.take(tea.MouseClickMsg{X: 10, Y: 5, Button: tea.MouseLeft})
	s.take(tea.MouseClickMsg{X: 10, Y: 5, Button: tea.MouseLeft})
	s.wait("a session", func() bool { return len(s.p.stack) == 2 })
}

// TestPages: the list of an archive is read page by page as the cursor moves, and read again for another filter.
func TestPages(t *testing.T) {
	t.Parallel()
	s := onDemo(t, func(o *Options) { o.Archive = true }, func(d *desk) { d.paged, d.pageRows = true, 4 })
	list := s.p.top().(*sessions)
	s.until("17 sessions") // sub-agents are not folded: their sessions may be on another page
	if list.all.Len() != 4 {
		t.Fatalf("%d rows at first", list.all.Len())
	}
	for want := 8; want <= 20; want += 4 {
		s.press("G")
		s.wait("the next page", func() bool { return list.all.Len() >= min(want, 17) && !list.loading })
	}
	s.press("G", "j")
	s.wait("all pages", func() bool { return list.all.Len() == 17 })
	seen := map[string]bool{}
	for i := range list.all.Len() {
		seen[list.all.Row(i).Path] = true
	}
	if len(seen) != 17 {
		t.Errorf("%d different rows of 17", len(seen))
	}
	s.press("/")
	s.types("cent")
	s.wait("one row", func() bool { return list.all.Len() == 1 && !list.loading })
	s.until("Prices are off by a cent")
	s.press("ctrl+u")
	s.types("project:LEDGER agent:omp")
	s.wait("one row of the project", func() bool { return list.all.Len() == 1 && !list.loading })
	s.until("What does this expression")
	s.press("esc", "?")
	s.types("filter")
	s.until("no command does this") // ls has no such filter
	s.press("ctrl+u")
	s.types("trash")
	s.until("no action matches") // sessions of an archive cannot be removed
}

// TestPagesStay: pages stay when the list is read again, even if that fails, and the cursor stays on its session.
func TestPagesStay(t *testing.T) {
	s := onDemo(t, func(o *Options) { o.Archive = true }, func(d *desk) { d.paged, d.pageRows = true, 4 })
	list := s.p.top().(*sessions)
	s.until("17 sessions")
	for list.all.Len() < 12 {
		n := list.all.Len()
		s.press("G")
		s.wait("the next page", func() bool { return list.all.Len() > n && !list.loading })
	}
	at, path := list.at, list.selected()
	s.take(look.To{Screen: list, Msg: look.Done{}}) // it is read at once
	s.wait("the list again", func() bool { return !list.loading })
	if list.at != at || list.selected() != path {
		t.Errorf("the cursor is at row %d, on %s; want row %d, %s", list.at, list.selected(), at, path)
	}
	rows := list.all.Len()
	for _, first := range []bool{true, false} {
		s.take(look.To{Screen: list, Msg: listed{stamp: list.pages.stamp, first: first, err: errors.New("connection lost")}})
		if list.all.Len() != rows || !list.pages.more || !strings.Contains(s.frame(), "connection lost") {
			t.Errorf("after an error there are %d rows, want %d; more: %t\n%s", list.all.Len(), rows, list.pages.more, s.frame())
		}
	}
	s.press("G")
	s.wait("the page that failed", func() bool { return list.all.Len() > rows && !list.loading })
}

// TestKeysOnLowTerminal: on a low terminal, the list of actions shows the selected action and the command that does the same.
func TestKeysOnLowTerminal(t *testing.T) {
	t.Parallel()
	s := onDemo(t, nil)
	s.size(40, 10)
	s.press("?")
	lines := strings.Split(s.frame(), "\n")
	actions := 0
	for _, l := range lines {
		if strings.HasPrefix(l, " ▌ ") || strings.HasPrefix(l, "   ") {
			actions++
		}
	}
	if len(lines) != 10 || actions < 6 {
		t.Errorf("%d actions in %d lines, want 6 or more in 10:\n%s", actions, len(lines), strings.Join(lines, "\n"))
	}
}
