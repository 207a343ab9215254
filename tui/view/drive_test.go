package view

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/internal/demo"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/tui/look"
)

var update = flag.Bool("update-frames", false, "write the golden frames of this package anew")

// rider is a program with one screen. It runs commands at once, in the order in which they are given.
type rider struct {
	t             testing.TB
	v             *viewer
	width, height int
	asked         []tea.Msg // messages from the screen to the program
}

func ride(t testing.TB, s *treeline.Session, o Options, width, height int) *rider {
	t.Helper()
	o.Zone = time.UTC
	r := &rider{t: t, v: New(t.Context(), s, o).(*viewer), width: width, height: height}
	t.Cleanup(func() { _ = r.v.Close() }) // some tests close it
	r.v.Draw(width, height)
	// This is all that Init does, except waiting for changes, which would never end: tests report changes themselves.
	r.run(tea.Batch(r.v.load(r.v.job), r.v.outline(), r.v.relate()))
	return r
}

// run runs a command and all commands that follow from it. In tests of writing to a session, no command waits for changes.
func (r *rider) run(cmd tea.Cmd) {
	if cmd != nil {
		r.take(cmd())
	}
}

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

// answer returns the last message of a type that the screen sent to the program.
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

// text returns the frame without colours.
func (r *rider) text() string {
	r.t.Helper()
	was := r.v.paint
	r.v.paint = &paint{}
	frame := r.v.Draw(r.width, r.height)
	r.v.paint = was
	return frame
}

// sees checks that the frame contains texts.
func (r *rider) sees(texts ...string) {
	r.t.Helper()
	frame := r.text()
	for _, text := range texts {
		if !strings.Contains(frame, text) {
			r.t.Errorf("%q is not in the frame:\n%s", text, frame)
		}
	}
}

// misses checks that the frame does not contain texts.
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

// open opens the session of the demo with a title.
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

// golden compares a frame with its golden file.
func (r *rider) golden(name, frame string) {
	r.t.Helper()
	for n, l := range strings.Split(frame, "\n") {
		if w := look.Width(strings.ReplaceAll(l, "␛", "\x1b")); w != r.width {
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
	if d := difftest.Diff(strings.Split(string(want), "\n"), strings.Split(frame+"\n", "\n")); d != "" {
		r.t.Errorf("%s:\n%s; want d == \"\"", name, d)
	}
}

// wheel turns the wheel at a place.
func (r *rider) wheel(x, y int, down bool) {
	m := tea.MouseWheelMsg{X: x, Y: y, Button: tea.MouseWheelUp}
	if down {
		m.Button = tea.MouseWheelDown
	}
	r.send(m)
}

// click clicks on the first place in the frame that has a text, plus some columns.
func (r *rider) click(text string, plus int) {
	r.t.Helper()
	for y, l := range strings.Split(r.text(), "\n") {
		if before, _, ok := strings.Cut(l, text); ok {
			r.send(tea.MouseClickMsg{X: look.Width(before) + plus, Y: y, Button: tea.MouseLeft})
			return
		}
	}
	r.t.Fatalf("%q is not in the frame:\n%s", text, r.text())
}

// log opens a log of omp that has some lines after its header.
func log(t testing.TB, lines ...string) *treeline.Session {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "log.jsonl")
	head := `{"type":"session","version":3,"id":"s1","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/garden"}`
	if err := os.WriteFile(path, []byte(head+"\n"+strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return openFile(t, path)
}

func openFile(t testing.TB, path string) *treeline.Session {
	t.Helper()
	s, err := treeline.New(demo.Machine(filepath.Dir(path), func() time.Time { return time.Unix(0, 0) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // it was only read
	sess, err := s.Open(t.Context(), path, treeline.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return sess
}

// said returns a message as a line of a log. parent is "" for the first one.
func said(id, parent, role, text string) string {
	up := "null"
	if parent != "" {
		up = quote(parent)
	}
	return `{"type":"message","id":` + quote(id) + `,"parentId":` + up + `,"timestamp":"2026-03-02T14:00:01.000Z","message":{"role":` +
		quote(role) + `,"content":[{"type":"text","text":` + quote(text) + `}],"provider":"p","model":"m","stopReason":"stop"}}`
}

func quote(s string) string {
	b, _ := json.Marshal(s) // a string always encodes
	return string(b)
}
