package logtree

import (
	"errors"
	"fmt"
	"testing"

	"github.com/treeline-dev/treeline/backend"
)

// TestNamed: an error names its log once, by its whole path.
func TestNamed(t *testing.T) {
	for _, tt := range []struct{ name, want string }{
		{"s.jsonl", "/home/w/s.jsonl: held"},
		{"w/s.jsonl", "/home/w/s.jsonl: held"},
		{"/home/w/s.jsonl", "/home/w/s.jsonl: held"},
		{"other.jsonl", "/home/w/s.jsonl: other.jsonl: held"},
		{"onl", "/home/w/s.jsonl: onl: held"},
	} {
		held := errors.New("held")
		err := Named("/home/w/s.jsonl", fmt.Errorf("%s: %w", tt.name, held))
		if err.Error() != tt.want || !errors.Is(err, held) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
	if err := Named("/w/s.jsonl", fmt.Errorf("s.jsonl: %w", backend.ErrNotExist)); !errors.Is(err, backend.ErrNotExist) {
		t.Error(err)
	}
}
