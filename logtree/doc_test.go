package logtree_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/session"
)

// The error names the log once, even if the errors inside it name it, too.
func TestNamed(t *testing.T) {
	const path = "/home/me/sessions/pond/a.jsonl"
	for text, want := range map[string]string{
		"pond/a.jsonl: " + path + ": full": path + ": full",
		"a.jsonl: full":                    path + ": full",
		"full":                             path + ": full",
		"b.jsonl: full":                    path + ": b.jsonl: full",
		"jsonl: full":                      path + ": jsonl: full",
	} {
		if got := logtree.Named(path, errors.New(text)).Error(); got != want {
			t.Errorf("%q becomes %q", text, got)
		}
	}
	closed := &session.Problem{File: path, Line: 2, Offset: 93, Message: logtree.ErrClosed.Error()}
	if got := logtree.Named(path, closed).Error(); got != closed.Error() {
		t.Errorf("a Problem of the log: %s", got)
	}
	err := logtree.Named(path, fmt.Errorf("a.jsonl: %w", backend.ErrLocked))
	if !errors.Is(err, backend.ErrLocked) {
		t.Errorf("%v lost its cause", err)
	}
	if got := logtree.Named(path, logtree.Named(path, err)).Error(); got != path+": "+backend.ErrLocked.Error() {
		t.Errorf("named twice: %q", got)
	}
}
