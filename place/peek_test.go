package place_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/place"
)

// hasty is a backend in which something happens to a log between its name and the look at it.
type hasty struct {
	*file.Backend
	happens func(path string)
}

func (h hasty) Glimpse(ctx context.Context, name string, room []byte, tail int) (backend.Log, []byte, []byte, error) {
	path, err := h.Path(name)
	if err != nil {
		return backend.Log{}, nil, nil, err
	}
	h.happens(path)
	return h.Backend.Glimpse(ctx, name, room, tail)
}

// A list is of the sessions that were there when it looked at them: one that went away is left out, one that cannot be
// read is there with the reason.
func TestListWhileLogsChange(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	folder := filepath.Join(home, ".pi/agent/sessions/--w--")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"stays", "goes", "folder", "shrinks"} {
		text := world.Log(id, "/w", world.Said("u", "", strings.Repeat("x", 20_000)))
		if err := os.WriteFile(filepath.Join(folder, id+".jsonl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	happens := func(path string) {
		var err error
		switch filepath.Base(path) {
		case "goes.jsonl":
			err = os.Remove(path)
		case "folder.jsonl":
			err = errors.Join(os.Remove(path), os.Mkdir(path, 0o700))
		case "shrinks.jsonl":
			err = os.WriteFile(path, []byte(world.Log("shrinks", "/w", world.Said("u", "", "short"))), 0o600)
		}
		if err != nil {
			t.Error(err)
		}
	}
	opt := world.Options(home, durable.OS{})
	files := &opt.Drivers[0]
	open := files.Open
	files.Open = func(root string, opt backend.OpenOptions) (backend.Backend, error) {
		b, err := open(root, opt)
		if err != nil {
			return nil, err
		}
		return hasty{b.(*file.Backend), happens}, nil
	}
	m := place.New(opt)
	defer m.Close()
	rows, err := m.List(t.Context(), place.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, r := range rows {
		if r.Err != nil {
			t.Errorf("%s: %v", r.Path, r.Err)
		}
		info, err := os.Stat(r.Path)
		if err != nil || info.Size() != r.Log.Size || !info.ModTime().Equal(r.Log.Time) {
			t.Errorf("%s is %+v, %v", r.Path, r.Log, err)
		}
		got[string(r.ID)] = r.Prompt[:5]
	}
	if len(got) != 2 || got["stays"] != "xxxxx" || got["shrinks"] != "short" {
		t.Errorf("listed %v", got)
	}
}
