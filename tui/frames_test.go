package tui

import (
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/tui/look"
)

// TestFrames compares every screen with its golden frames.
func TestFrames(t *testing.T) {
	t.Parallel()
	t.Run("sessions", func(t *testing.T) { onDemo(t, nil).golden("sessions") })
	t.Run("filtered", func(t *testing.T) {
		s := onDemo(t, nil)
		s.press("/")
		s.types("price")
		s.golden("filtered")
	})
	t.Run("pick", func(t *testing.T) {
		s := onDemo(t, func(o *Options) { o.Pick, o.Filter = true, "agent:claude" })
		s.golden("pick")
	})
	t.Run("empty", func(t *testing.T) {
		s := newStage(t, t.TempDir(), nil)
		s.until("There are no sessions yet")
		s.golden("empty")
	})
	t.Run("search", func(t *testing.T) {
		s := onDemo(t, nil)
		s.press("S")
		s.golden("search")
		s.types("float64 cents")
		s.until("7 hits")
		s.golden("found")
	})
	t.Run("usage", func(t *testing.T) {
		s := onDemo(t, nil)
		s.press("U")
		s.until("tokens · $")
		s.golden("usage")
		s.press("tab", "tab", "tab")
		s.golden("usage-days")
	})
	t.Run("keys", func(t *testing.T) {
		s := onDemo(t, nil)
		s.press("j", "j", "?")
		s.golden("keys")
		s.types("resume")
		s.golden("keys-found")
	})
	t.Run("dialogs", func(t *testing.T) {
		s := onDemo(t, nil)
		s.press("j")
		s.press("d")
		s.until("trash?")
		s.golden("confirm")
		s.press("n")
		s.until("nothing changed")
		s.press("R")
		s.until("which agent?")
		s.golden("choose")
	})
}

// TestSmall: on a terminal of any size, no line is too long.
func TestSmall(t *testing.T) {
	t.Parallel()
	s := onDemo(t, nil)
	check := func(name string) {
		t.Helper()
		for _, size := range [][2]int{{20, 5}, {39, 8}, {60, 12}, {1, 1}, {300, 90}} {
			s.size(size[0], size[1])
			for _, line := range strings.Split(s.frame(), "\n") {
				if w := look.Width(line); w > size[0] && size[0] >= 20 {
					t.Errorf("%s at %v: %d columns: %q", name, size, w, line)
				}
			}
		}
	}
	check("sessions")
	s.press("S")
	s.types("float64")
	s.until(" hit")
	check("search")
	s.press("esc", "esc", "U")
	s.until("tokens · $")
	check("usage")
	s.press("?")
	check("keys")
}

// TestTitleFirst: on a narrow terminal, the facts at the right end are cut rather than the title of a session.
func TestTitleFirst(t *testing.T) {
	t.Parallel()
	s := onDemo(t, nil)
	s.press("j", "enter")
	s.until("everything │")
	s.size(40, 12)
	if first, _, _ := strings.Cut(s.frame(), "\n"); !strings.HasPrefix(first, " Prices are off… omp · ") {
		t.Errorf("the first line is %q", first)
	}
}
