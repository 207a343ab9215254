package file_test

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
)

// slow is content that comes slowly: appends meanwhile do not wait for it.
type slow struct {
	io.Reader
	meanwhile func()
}

func (s *slow) Read(p []byte) (int, error) {
	s.meanwhile()
	return s.Reader.Read(p)
}

func TestSlowMirrorHoldsNobody(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	b := open(t, root, file.Options{})
	for name, copying := range map[string]func(context.Context, backend.Log, string, io.Reader) (backend.Log, error){
		"extend.jsonl": b.Extend, "overwrite.jsonl": b.Overwrite,
	} {
		at := create(t, b, name, "{}")
		now := at
		_, err := copying(t.Context(), at, "", &slow{strings.NewReader("more\n"), func() {
			if now.Size > at.Size {
				return
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var err error
			if now, err = b.Append(ctx, at, []byte("meanwhile")); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}})
		if !errors.Is(err, backend.ErrConflict) || content(t, filepath.Join(root, name)) != "{}\nmeanwhile\n" {
			t.Errorf("%s: %v; want ErrConflict and what was appended meanwhile", name, err)
		}
	}
}
