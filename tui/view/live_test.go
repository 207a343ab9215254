package view

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/internal/demo"
	"github.com/treeline-dev/treeline/tui/look"
)

// talk returns a log of n prompts and answers.
func talk(n int) (lines []string) {
	up := ""
	for i := range n {
		ask, say := fmt.Sprintf("q%d", i), fmt.Sprintf("a%d", i)
		lines = append(lines, said(ask, up, "user", fmt.Sprintf("Question %d?", i)), said(say, ask, "assistant", fmt.Sprintf("Answer %d.\n\nIn two paragraphs.", i)))
		up = say
	}
	return lines
}

func write(t *testing.T, path string, lines ...string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(strings.Join(lines, "\n") + "\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// A screen at the end follows the session, and the number of entries is updated.
func TestFollowsTheEnd(t *testing.T) {
	r := ride(t, log(t, talk(30)...), Options{}, 120, 24)
	for n := range 5 {
		id := fmt.Sprintf("new%d", n)
		up := "a29"
		if n > 0 {
			up = fmt.Sprintf("new%d", n-1)
		}
		write(t, r.v.facts.path, said(id, up, "user", "A new "+id))
		r.run(r.v.renew())
		if lines := strings.Split(r.text(), "\n"); !strings.Contains(lines[len(lines)-1], "A new "+id) {
			t.Fatalf("the last line is %q", lines[len(lines)-1])
		}
		r.sees("● A new " + id)
	}
	if _, right := r.v.Title(); !strings.Contains(right, "65 entries") {
		t.Error(right)
	}
	r.run(r.v.renew()) // nothing is new
	r.sees("A new new4")
}

// A cursor that is not on the last message stays where it is while that is visible: writing a label moves nothing.
func TestCursorStaysAtTheEnd(t *testing.T) {
	r := ride(t, log(t, talk(4)...), Options{}, 80, 24)
	r.press("k", "k")
	here := r.v.here()
	write(t, r.v.facts.path, said("new", "a3", "user", "One more."))
	r.run(r.v.renew())
	r.sees("One more.")
	if r.v.here() != here {
		t.Errorf("the cursor is on %s, was on %s", r.v.here(), here)
	}
	up := "new"
	for n := range 9 { // now it is out of view
		id := fmt.Sprintf("more%d", n)
		write(t, r.v.facts.path, said(id, up, "user", "More."))
		up = id
	}
	r.run(r.v.renew())
	if r.v.here() != "more8" {
		t.Errorf("the cursor is on %s", r.v.here())
	}
}

// Esc returns from the modes model and changes to the transcript; there the key belongs to the program.
func TestEscapeLeavesModes(t *testing.T) {
	r := ride(t, log(t, talk(3)...), Options{}, 80, 24)
	for _, mode := range []string{"3", "4"} {
		r.press(mode, "esc")
		if r.v.mode != everything {
			t.Errorf("after %s esc: mode %v", mode, r.v.mode)
		}
	}
	for _, k := range r.v.Keys() {
		if k.Keys[0] == "esc" {
			t.Error("the transcript keeps esc")
		}
	}
}

// Loading a long text completely does not prevent new entries from being shown, nor do they prevent the text.
func TestWholeBesideOthers(t *testing.T) {
	long := strings.Repeat("word ", 30_000) + "THE END"
	lines := append(talk(3), said("long", "a2", "user", long), said("after", "long", "assistant", "Yes."))
	for _, order := range []string{"whole end", "end whole"} {
		for _, done := range []string{"whole end", "end whole"} {
			r := ride(t, log(t, lines...), Options{}, 120, 24)
			r.press("G", "k")
			if r.press("Y"); answer[look.Copy](r).What == "the text" {
				t.Error("the text is copied in part, and that is not said")
			}
			write(t, r.v.facts.path, said("new", "after", "user", "A new prompt"))
			if _, err := r.v.src.renew(t.Context()); err != nil {
				t.Fatal(err)
			}
			begun := map[string]tea.Cmd{}
			for name := range strings.FieldsSeq(order) {
				if name == "end" {
					begun[name] = r.v.load(job{kind: jobEnd})
				} else {
					begun[name] = r.v.foldHere()
				}
			}
			for name := range strings.FieldsSeq(done) {
				r.run(begun[name])
			}
			if n := r.v.pane.find("long", ""); n < 0 || isCut(r.v.pane.items[n].block) {
				t.Errorf("begun %s, done %s: the text is not whole", order, done)
			}
			r.press("G")
			r.sees("A new prompt")
		}
	}
}

// A screen that is not at the end does not move: not when the session grows, nor when another branch begins, nor with an unfolded text.
func TestStaysElsewhere(t *testing.T) {
	long := strings.Repeat("word ", 30_000) + "THE END"
	lines := append(talk(20), said("long", "a19", "user", long), said("after", "long", "assistant", "Yes."))
	for _, c := range []struct{ name, keys string }{
		{"beginning", "g"}, {"middle", "g J J J"}, {"inside", "g J J J ctrl+e ctrl+e"}, {"long", "G k ctrl+u ctrl+u"},
		{"whole", "G k e G k ctrl+u"}, {"focused", "2 g J J"}, {"changes", "4"}, {"model", "g J J c"}, {"tree", "tab g j j"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := ride(t, log(t, lines...), Options{}, 80, 24)
			r.press(strings.Fields(c.keys)...)
			before := r.text()
			up := "after"
			for n := range 3 {
				id := fmt.Sprintf("new%d", n)
				write(t, r.v.facts.path, said(id, up, "user", "New."))
				r.run(r.v.renew())
				if after := r.text(); after != before {
					t.Fatalf("it moved:\n%s\nbefore:\n%s", after, before)
				}
				up = id
			}
			write(t, r.v.facts.path, said("other", "a3", "user", "Another branch."), said("more", "other", "assistant", "On it."))
			r.run(r.v.renew())
			after := r.text()
			if c.name == "tree" { // the new branch has rows
				after = before
			}
			if strings.Contains(after, "branch 1 of 2") { // a visible fork changes
				after = before
			}
			if strings.ReplaceAll(after, "─ another branch ─", strings.Repeat("─", 18)) != before {
				t.Fatalf("it moved:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}

// Keys that come between the growth of a tree and its new outline do no harm.
func TestBetweenOutlines(t *testing.T) {
	r := ride(t, log(t, talk(20)...), Options{}, 120, 24)
	r.press("tab", "k", "k")
	write(t, r.v.facts.path, said("new", "a19", "user", "New."), said("other", "a3", "user", "Another branch."))
	if changed, err := r.v.src.renew(t.Context()); !changed || err != nil {
		t.Fatal(changed, err)
	}
	_, later := r.v.Update(renewed{changed: true})
	r.press("j", "k", "pgup", "e", "E", "J", "K", "G", "tab", "j", "k", "G")
	r.run(later)
	r.run(r.v.outline())
	r.sees("Another branch.")
}

// The end of another branch is followed, too.
func TestFollowsABranch(t *testing.T) {
	lines := append(talk(3), said("other", "a0", "user", "Another way."), said("way", "other", "assistant", "Fine."))
	r := ride(t, log(t, lines...), Options{}, 80, 24)
	r.press("[", "G")
	r.sees("Answer 2.")
	write(t, r.v.facts.path, said("on", "a2", "user", "And on."))
	r.run(r.v.renew())
	r.sees("And on.")
	r.misses("Another way.")
}

// A log that another program rewrote is opened again.
func TestReplaced(t *testing.T) {
	sess := log(t, talk(3)...)
	s, err := treeline.New(demo.Machine(t.TempDir(), time.Now))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := ride(t, sess, Options{}, 80, 24)
	r.v.src.store = s
	text, err := os.ReadFile(sess.Path())
	if err != nil {
		t.Fatal(err)
	}
	path := r.v.facts.path
	if err := os.WriteFile(path+".new", []byte(strings.ReplaceAll(string(text), "Answer 2", "A better answer")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	r.run(r.v.renew())
	r.sees("A better answer")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	r.run(r.v.renew())
	if got := answer[look.Status](r); !got.Error {
		t.Error(got)
	}
	r.sees("A better answer", "not up to date")
}

// What other programs write is shown without a key.
func TestWatches(t *testing.T) {
	sess := log(t, talk(2)...)
	s, err := treeline.New(demo.Machine(t.TempDir(), time.Now))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := ride(t, sess, Options{}, 80, 24)
	r.v.opt.Store = s
	wait := r.v.watch()
	deadline := time.Now().Add(10 * time.Second)
	write(t, r.v.facts.path, said("new", "a1", "user", "It is new."))
	for !strings.Contains(r.text(), "It is new.") {
		if time.Now().After(deadline) {
			t.Fatal("it was not told")
		}
		if _, ok := wait().(look.To).Msg.(told); !ok {
			t.Fatal("another message")
		}
		r.run(r.v.renew())
	}
	if err := r.v.Close(); err != nil {
		t.Fatal(err)
	}
	if msg := wait(); msg != nil {
		t.Errorf("%v after the end", msg)
	}
}
