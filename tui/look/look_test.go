package look

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"a\tb\nc":              "a    b\nc",
		"\x1b[31mred":          `\x1b[31mred`,
		"\x1b]52;c;QQ==\a":     `\x1b]52;c;QQ==\x07`,
		"\u202eturned":         `\u202eturned`,
		"plain ─ text with 日本": "plain ─ text with 日本",
	} {
		if got := Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestColumns: cells, ends and cut lines have exactly the given width, even with styles and wide characters.
func TestColumns(t *testing.T) {
	p := Colours(true)
	for _, text := range []string{"", "short", strings.Repeat("long ", 20), "日本語日本語日本語日本語", "a\nb\tc"} {
		for _, width := range []int{1, 2, 7, 20} {
			if got := Width(Cell(text, width, true)); got != width {
				t.Errorf("Cell(%q, %d) has %d columns", text, width, got)
			}
			if got := Width(Fill(p.Accent.Render(Line(text, 200)), width)); got != width {
				t.Errorf("Fill(%q, %d) has %d columns", text, width, got)
			}
			if got := Width(Middle(text, width)); got > width {
				t.Errorf("Middle(%q, %d) has %d columns", text, width, got)
			}
			if got := Width(Ends(Line(text, 200), p.Faint.Render("right"), width)); got != width {
				t.Errorf("Ends(%q, %d) has %d columns", text, width, got)
			}
		}
	}
	if got := Middle("/a/long/path/of/a/session.jsonl: no such file", 30); got != "/a/long/p….jsonl: no such file" {
		t.Errorf("Middle: %q", got)
	}
	if got := Ends("left", "right", 20); got != "left           right" {
		t.Errorf("Ends: %q", got)
	}
	if got := Ends("left", "right", 10); got != "left      " {
		t.Errorf("Ends without room: %q", got)
	}
}

func TestPress(t *testing.T) {
	keys := []Key{{Keys: []string{"j", "down"}, Name: "move"}, {Keys: []string{"ctrl+d"}, Name: "page"}, {Keys: []string{"J"}, Name: "prompt"}}
	for name, msg := range map[string]tea.KeyPressMsg{
		"move": {Code: tea.KeyDown}, "page": {Code: 'd', Mod: tea.ModCtrl}, "prompt": {Code: 'j', Text: "J", Mod: tea.ModShift}, "": {Code: 'x', Text: "x"},
	} {
		if k, ok := Press(keys, msg); k.Name != name || ok != (name != "") {
			t.Errorf("%v runs %q, not %q", msg, k.Name, name)
		}
	}
}

// TestActions: each action has a key of its own, and does nothing without a target.
func TestActions(t *testing.T) {
	var all []Action
	for a := range actions {
		all = append(all, a)
	}
	none := func() (Target, bool) { return Target{}, false }
	seen := map[string]bool{}
	for _, k := range Actions(none, all...) {
		if seen[k.Keys[0]] || k.Help == "" || k.Name == "" {
			t.Errorf(`%+v; want not seen[k.Keys[0]], k.Help != "", k.Name != ""`, k)
		}
		seen[k.Keys[0]] = true
		if k.Run() != nil {
			t.Errorf("%s does something without a session", k.Name)
		}
		if c := k.Command(); !strings.HasPrefix(c, "treeline ") {
			t.Errorf("%s has the command %q", k.Name, c)
		}
	}
	some := func() (Target, bool) { return Target{Ref: "01a1", Entry: "5a60"}, true }
	k := Actions(some, BranchHere)[0]
	if got := k.Command(); got != "treeline branch 01a1 5a60" {
		t.Errorf("the command is %q", got)
	}
	if do, ok := k.Run()().(Do); !ok || do.Action != BranchHere || do.Target.Entry != "5a60" {
		t.Errorf("it asks for %+v", do)
	}
}
