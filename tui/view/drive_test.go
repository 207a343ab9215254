package view

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/internal/demo"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/tui/look"
)

var update = flag.Bool("update", false, "write the golden frames of this package anew")

// rider is a program with one screen. It runs commands at once, in the order in which they are given.
type rider struct {
	t             testing.TB
	v             *viewer
	width, height int
	asked         []tea.Msg // what the screen asked of the program
}

func ride(t testing.TB, s *treeline.Session, o Options, width, height int) *rider {
	t.Helper()
	o.Zone = time.UTC
	r := &rider{t: t, v: New(t.Context(), s, o).(*viewer), width: width, height: height}
	t.Cleanup(func() { _ = r.v.Close() }) // some tests close it
	r.v.Draw(width, height)
	r.run(r.v.Init())
	return r
}

// run runs a command and all that follow from it. One that waits for a change is left alone: tests send what it waits for.
func (r *rider) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	done := make(chan tea.Msg, 1)
	go func() { done <- cmd() }()
	select {
	case msg := <-done:
		r.take(msg)
	case <-time.After(waits):
		if r.v.opt.Store == nil {
			r.t.Fatal("a command does not end")
		}
	}
}

// waits is when a command is taken for one that waits for a change of the session.
const waits = 300 * time.Millisecond

func (r *rider) take(msg tea.Msg) {
	switch msg := msg.(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			r.run(c)
		}
	case look.To:
		_, cmd := r.v.Update(msg.Msg)
		r.run(cmd)
	default:
		r.asked = append(r.asked, msg)
	}
}

// press presses keys by their names, as the program dispatches them.
func (r *rider) press(names ...string) {
	r.t.Helper()
	for _, name := range names {
		found := false
		for _, k := range r.v.Keys() {
			for _, key := range k.Keys {
				if key == name && !found {
					found = true
					r.run(k.Run())
				}
			}
		}
		if !found {
			r.t.Fatalf("no key %q", name)
		}
		r.v.Draw(r.width, r.height)
	}
}

func (r *rider) send(msg tea.Msg) {
	_, cmd := r.v.Update(msg)
	r.run(cmd)
}

// answer gives the last message of a kind that the screen sent to the program.
func answer[T tea.Msg](r *rider) T {
	r.t.Helper()
	var zero T
	if len(r.asked) == 0 {
		r.t.Fatalf("nothing was asked, want %v", reflect.TypeOf(zero))
	}
	msg, ok := r.asked[len(r.asked)-1].(T)
	if !ok {
		r.t.Fatalf("asked %#v, want %v", r.asked[len(r.asked)-1], reflect.TypeOf(zero))
	}
	return msg
}

// text is the frame without colours.
func (r *rider) text() string {
	r.t.Helper()
	was := r.v.paint
	r.v.paint = &paint{}
	frame := r.v.Draw(r.width, r.height)
	r.v.paint = was
	return frame
}

// sees checks that the frame has texts.
func (r *rider) sees(texts ...string) {
	r.t.Helper()
	frame := r.text()
	for _, text := range texts {
		if !strings.Contains(frame, text) {
			r.t.Errorf("%q is not in the frame:\n%s", text, frame)
		}
	}
}

// misses checks that the frame does not have texts.
func (r *rider) misses(texts ...string) {
	r.t.Helper()
	frame := r.text()
	for _, text := range texts {
		if strings.Contains(frame, text) {
			r.t.Errorf("%q is in the frame:\n%s", text, frame)
		}
	}
}

// machine is the demo, at a fixed time.
func machine(t testing.TB) *treeline.Store {
	t.Helper()
	dir := t.TempDir()
	clock := func() time.Time { return time.Date(2026, 11, 16, 10, 0, 0, 0, time.UTC) }
	if err := demo.Write(t.Context(), dir, clock); err != nil && !strings.Contains(err.Error(), "codelia") {
		t.Fatal(err)
	}
	s, err := treeline.New(demo.Machine(dir, clock))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // it was only read
	return s
}

func rows(t testing.TB, s *treeline.Store) []treeline.Row {
	t.Helper()
	list, err := s.Catalogue(t.Context(), treeline.RefreshOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// open opens the session of the demo that has a title.
func open(t testing.TB, s *treeline.Store, title string) *treeline.Session {
	t.Helper()
	for _, r := range rows(t, s) {
		if r.Heading() == title {
			sess, err := s.Open(t.Context(), r.Path, treeline.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return sess
		}
	}
	t.Fatalf("no session %q", title)
	return nil
}

// catalogue is Options.Rows.
func catalogue(s *treeline.Store) func(context.Context) ([]treeline.Row, error) {
	return func(ctx context.Context) ([]treeline.Row, error) { return s.Catalogue(ctx, treeline.RefreshOptions{}) }
}

// golden compares a frame with the one that is kept.
func (r *rider) golden(name, frame string) {
	r.t.Helper()
	for n, l := range strings.Split(frame, "\n") {
		if w := look.Width(l); w != r.width {
			r.t.Errorf("%s: line %d has %d columns: %q", name, n, w, l)
		}
	}
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(frame+"\n"), 0o644); err != nil {
			r.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(frame+"\n", "\n")); d != "" {
		r.t.Errorf("%s:\n%s", name, d)
	}
}

// entry is the nth entry of a session.
func entry(s *treeline.Session, n int) session.EntryID { return s.Tree().At(n).ID }
