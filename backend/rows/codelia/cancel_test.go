package codelia

import (
	"context"
	"testing"

	"github.com/treeline-dev/treeline/internal/durable"
)

// renaming calls then after each rename.
type renaming struct {
	durable.FS
	then func()
}

func (f renaming) Rename(from, to string) error {
	err := f.FS.Rename(from, to)
	f.then()
	return err
}

// A save that is cancelled once its messages are in place is done: row and messages match.
func TestCancelledSave(t *testing.T) {
	t.Parallel()
	for _, name := range forms {
		dir := t.TempDir()
		mustSave(t, form(name, dir, options{}), sample(one))
		ctx, cancel := context.WithCancel(t.Context())
		c := form(name, dir, options{FS: renaming{durable.OS{}, cancel}})
		s := mustLoad(t, c, one)
		s.updated, s.messages = "2026-02-03T12:00:05.100Z", append(s.messages, messages("more")...)
		if err := c.save(ctx, s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := mustLoad(t, form(name, dir, options{}), one); !same(got, s) {
			t.Errorf("%s: %d messages, updated %s", name, len(got.messages), got.updated)
		}
	}
}
