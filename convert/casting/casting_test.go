package casting

import (
	"fmt"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

// TestUnique: calls with the same id get distinct ids. Trying all numbers for each call would take hours.
func TestUnique(t *testing.T) {
	b := newCasting(nil)
	b.used["c-3"] = true
	got := ""
	for range 300_000 {
		if name := b.unique("c"); len(b.used) < 6 {
			got += name + " "
		}
	}
	got += fmt.Sprint(len(b.used), " ", b.unique("d"))
	if want := "c c-2 c-4 c-5 300001 d"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}

// TestManyAnswers: very many consecutive answers, with calls and results, become one message that lists all of their entries. In quadratic
// time, this would take minutes.
func TestManyAnswers(t *testing.T) {
	const n = 100_000
	b := newCasting(nil)
	for i := range 2 * n {
		a := Atom{Role: session.RoleAssistant, Entry: i % n, Info: &dialect.NewMessage{}, Part: session.Text{Text: "Dig."}}
		if i >= n {
			a.Part = session.ToolCall{ID: fmt.Sprint(i - n), Name: "dig"}
		}
		b.add(a)
	}
	for i := range n {
		b.add(Atom{Role: session.RoleTool, Entry: n + i, Info: &dialect.NewMessage{}, Part: session.ToolResult{CallID: fmt.Sprint(i)}})
	}
	list := foldResults(b.units(nil))
	if len(list) != 1 || len(list[0].Entries) != 2*n || len(list[0].Parts) != 3*n {
		t.Fatalf("%d messages, the first of %d entries and %d parts; want one of %d and %d", len(list), len(list[0].Entries), len(list[0].Parts), 2*n, 3*n)
	}
}

// TestAwaited: a restored call that still waits for its result at a later stretch gets one result, directly after the call, whether the source
// shows the call or not.
func TestAwaited(t *testing.T) {
	dig := session.ToolCall{ID: "old", Name: "dig"}
	info := &dialect.NewMessage{}
	said := func(text string, stretch int) Atom {
		return Atom{Role: session.RoleUser, Part: session.Text{Text: text}, Info: info, Stretch: stretch}
	}
	for name, atoms := range map[string][]Atom{
		"shown":  {{Role: session.RoleAssistant, Part: session.ToolCall{ID: "new", Name: "dig"}, Info: info, Old: true}, said("one", 1), said("three", 3)},
		"hidden": {said("one", 1), said("three", 3)},
	} {
		b := newCasting(nil)
		b.restored = map[string]string{"new": "old"}
		for _, a := range atoms {
			b.add(a)
		}
		var got []string
		for _, u := range b.units([][]session.ToolCall{1: {dig}, 3: {dig}}) {
			got = append(got, fmt.Sprint(u.Stretch, " ", u.Role, " ", len(u.Parts)))
		}
		if want := "[1 tool 1 1 user 1 3 user 1]"; fmt.Sprint(got) != want {
			t.Errorf("%s: %v, not %s", name, got, want)
		}
	}
}
