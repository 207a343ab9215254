package main

import (
	"slices"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/internal/interop/projected"
)

// A prompt that a slow program did not take is typed again.
func TestTypistTypesALostPromptAgain(t *testing.T) {
	var hand typist
	var keys []string
	now, shows := time.Unix(1, 0), time.Unix(4, 0) // the program shows something until then
	for range 450 {
		now = now.Add(100 * time.Millisecond)
		if k := hand.next(now, func(d time.Duration) bool { return now.Sub(shows) > d }); k != "" {
			keys = append(keys, k)
		}
	}
	if want := []string{projected.NextPrompt, "\r", "\r", "\x15", projected.NextPrompt, "\r", "\r"}; !slices.Equal(keys, want) {
		t.Errorf("it types %q, want %q", keys, want)
	}
}
