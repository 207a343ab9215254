package index

import (
	"slices"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/internal/difftest"
)

// TestSpells: a list is read back as it was written, a damaged one as far as possible.
func TestSpells(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 2, 23, 50, 0, 0, time.UTC)
	list := []Spell{
		{Model: -1, Messages: 1},
		{Quarter: QuarterOf(at), Model: 1, Messages: 3, Answers: 2, Tokens: Tokens{1, 2, 3, 4, 10}, Cost: 0.25},
		{Quarter: QuarterOf(at) - 7, Copied: true, Messages: 1, Answers: 1, Tokens: Tokens{Total: 1 << 40}},
	}
	s := EncodeSpells(list)
	if diff := difftest.Diff(list, s.List()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(s) > 60 {
		t.Errorf("%d bytes", len(s)) // every list reads them
	}
	for n := range len(s) {
		if got := s[:n].List(); len(got) > len(list) || !slices.Equal(list[:len(got)], got) {
			t.Errorf("cut to %d bytes: %+v", n, got)
		}
	}
	if some, ok := s.Cut(2); !ok || difftest.Diff(list[:2], some) != "" {
		t.Errorf("Cut: %+v, %v", some, ok)
	}
	for _, n := range []int{-1, 4} {
		if _, ok := s.Cut(n); ok {
			t.Errorf("Cut(%d)", n)
		}
	}
	if start, ok := list[1].Start(); !ok || !start.Equal(at.Add(-5*time.Minute)) {
		t.Errorf("Start: %v, %v", start, ok)
	}
	if _, ok := list[0].Start(); ok {
		t.Error("a spell without a time has a start")
	}
}
