package tui

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend/all"
	"github.com/treeline-dev/treeline/internal/demo"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/tui/look"
)

var update = flag.Bool("update", false, "write the frames that the tests compare")

var noon = time.Date(2026, 3, 24, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return noon }

// demoHome is the demo, written once for all tests that only read it.
var demoHome = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "treeline-tui-")
	if err != nil {
		return "", err
	}
	return dir, demo.Write(context.Background(), dir, clock, all.Drivers()...)
})

func TestMain(m *testing.M) {
	code := soaktest.Main(m)
	if dir, err := demoHome(); err == nil {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// stage is a program without a terminal: keys are pressed by the test, and frames are read from it.
type stage struct {
	t    *testing.T
	p    *program
	msgs chan tea.Msg
	out  *bytes.Buffer // what a terminal would get
	// commands are those that actions ran; answer is their output.
	mu       sync.Mutex
	commands []string
	answer   func(args []string) (string, error)
	notes    []string // notes in the output of commands
	quit     bool
}

// newStage shows a home directory. It leaves out the demo's codelia, whose database has the machine's time.
func newStage(t *testing.T, home string, change func(*Options), more ...func(*desk)) *stage {
	t.Helper()
	store, err := treeline.New(demo.Machine(home, clock))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := &stage{t: t, msgs: make(chan tea.Msg, 100), out: new(bytes.Buffer)}
	opt := Options{Store: store, Home: home, Clock: clock, Zone: time.UTC, Agents: []string{"omp", "codex"}, Command: s.command}
	if change != nil {
		change(&opt)
	}
	d := &desk{Options: opt, ctx: ctx, palette: look.Colours(true), send: func(m tea.Msg) { s.post(ctx, m) }}
	for _, f := range more {
		f(d)
	}
	s.p = newProgram(d)
	s.p.canvas = &canvas{w: s.out}
	s.p.canvas.enter()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(s.p.close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	s.run(s.p.top().Init())
	return s
}

func onDemo(t *testing.T, change func(*Options), more ...func(*desk)) *stage {
	t.Helper()
	home, err := demoHome()
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(t, home, change, more...)
	s.until("sessions · ")
	return s
}

func (s *stage) post(ctx context.Context, m tea.Msg) {
	select {
	case s.msgs <- m:
	case <-ctx.Done():
	}
}

func (s *stage) command(_ context.Context, args ...string) (string, []string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commands = append(s.commands, strings.Join(args, " "))
	if s.answer == nil {
		return "", nil, nil
	}
	out, err := s.answer(args)
	return out, s.notes, err
}

// ran returns the commands so far.
func (s *stage) ran() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.commands)
}

// run runs a command as the program would.
func (s *stage) run(cmd tea.Cmd) {
	if cmd != nil {
		go func() {
			if m := cmd(); m != nil {
				s.post(s.p.ctx, m)
			}
		}()
	}
}

// take passes a message to the program.
func (s *stage) take(msg tea.Msg) {
	switch msg := msg.(type) {
	case tea.BatchMsg:
		for _, cmd := range msg {
			s.run(cmd)
		}
	case tea.QuitMsg:
		s.quit = true
	default:
		_, cmd := s.p.Update(msg)
		s.run(cmd)
	}
}

// until passes messages until the frame contains a text.
func (s *stage) until(text string) string {
	s.t.Helper()
	return s.wait(fmt.Sprintf("%q", text), func() bool { return strings.Contains(s.frame(), text) })
}

// wait passes messages until a condition holds.
func (s *stage) wait(what string, holds func() bool) string {
	s.t.Helper()
	late := time.After(20 * time.Second)
	for !holds() {
		select {
		case m := <-s.msgs:
			s.take(m)
		case <-late:
			s.t.Fatalf("the screen does not have %s:\n%s", what, s.frame())
		}
	}
	return s.frame()
}

// size sets the size of the terminal.
func (s *stage) size(width, height int) { s.take(tea.WindowSizeMsg{Width: width, Height: height}) }

// frame returns what the terminal shows, without styles.
func (s *stage) frame() string {
	text, _ := s.p.frame()
	return ansi.Strip(text)
}

var named = map[string]rune{
	"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "up": tea.KeyUp, "down": tea.KeyDown, "backspace": tea.KeyBackspace,
	"left": tea.KeyLeft, "right": tea.KeyRight, "home": tea.KeyHome, "end": tea.KeyEnd, "pgdown": tea.KeyPgDown, "delete": tea.KeyDelete,
}

// press presses keys by their names.
func (s *stage) press(keys ...string) {
	for _, key := range keys {
		rest, ctrl := strings.CutPrefix(key, "ctrl+")
		switch code, ok := named[rest]; {
		case ok:
			s.take(tea.KeyPressMsg{Code: code})
		case ctrl:
			s.take(tea.KeyPressMsg{Code: rune(rest[0]), Mod: tea.ModCtrl})
		default:
			r := []rune(key)
			s.take(tea.KeyPressMsg{Code: r[0], Text: key})
		}
	}
}

// types types a text.
func (s *stage) types(text string) {
	for _, r := range text {
		s.take(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
}

// golden compares the frame at two sizes, and one of them with its styles.
func (s *stage) golden(name string) {
	s.t.Helper()
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		s.size(size[0], size[1])
		lines := strings.Split(s.frame(), "\n")
		if len(lines) != size[1] {
			s.t.Errorf("%s: %d lines, not %d", name, len(lines), size[1])
		}
		for i, line := range lines {
			if w := look.Width(line); w > size[0] {
				s.t.Errorf("%s: line %d has %d columns of %d: %s", name, i+1, w, size[0], line)
			}
			lines[i] = strings.TrimRight(line, " ")
		}
		s.compare(fmt.Sprintf("%s-%dx%d.txt", name, size[0], size[1]), strings.Join(lines, "\n")+"\n")
	}
	s.size(80, 24)
	styled, _ := s.p.frame()
	s.compare(name+".styled.txt", strings.ReplaceAll(styled, "\x1b", "␛")+"\n")
}

func (s *stage) compare(file, got string) {
	s.t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			s.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	if diff := difftest.Diff(string(want), got); diff != "" {
		s.t.Errorf("%s:\n%s; want diff == \"\"", file, diff)
	}
}
