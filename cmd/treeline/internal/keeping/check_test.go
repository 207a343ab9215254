package keeping

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/treeline-dev/treeline/backend"
)

// A problem names its file, and so its message does not.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	denied := &fs.PathError{Op: "open", Path: "/dir/a.jsonl", Err: fs.ErrPermission}
	for _, c := range []struct {
		err  error
		want string
	}{
		{denied, "permission denied"},
		{fmt.Errorf("a.jsonl: %w", denied), "permission denied"},
		{fmt.Errorf("/dir/a.jsonl: %w", denied), "permission denied"},
		{fmt.Errorf("/dir/a.jsonl: %w", errors.New("it is too long")), "it is too long"},
		{backend.ErrNotExist, "no such file"},
		{&fs.PathError{Op: "open", Path: "/dir/b.jsonl", Err: fs.ErrPermission}, "open /dir/b.jsonl: permission denied"},
	} {
		if p := unreadable("/dir/a.jsonl", c.err); p.File != "/dir/a.jsonl" || p.Message != c.want {
			t.Errorf("%v: %s: %q, want %q", c.err, p.File, p.Message, c.want)
		}
	}
}
