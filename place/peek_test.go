package place_test

import (
	"context"
	"errors"
	"fmt"
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

// hasty is a backend in which a log changes between the listing of its name and the read.
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

// wrapped returns a machine whose file backends are wrapped.
func wrapped(t *testing.T, home string, wrap func(*file.Backend) backend.Backend) *place.Machine {
	opt := world.Options(home, durable.OS{})
	files := &opt.Drivers[0]
	open := files.Open
	files.Open = func(root string, opt backend.OpenOptions) (backend.Backend, error) {
		b, err := open(root, opt)
		if err != nil {
			return nil, err
		}
		return wrap(b.(*file.Backend)), nil
	}
	m := place.New(opt)
	t.Cleanup(func() { m.Close() })
	return m
}

// A list shows the sessions that were there when they were read: one that was removed is left out, one that cannot be read is there with
// the reason.
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
	m := wrapped(t, home, func(b *file.Backend) backend.Backend { return hasty{b, happens} })
	rows, err := m.List(t.Context(), place.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, r := range rows {
		if r.Err != nil {
			t.Errorf("%s: %v; want r.Err == nil", r.Path, r.Err)
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

// counted is a backend that counts how often the ends of a log are read.
type counted struct {
	*file.Backend
	looks *int
}

func (c counted) Ends(ctx context.Context, at backend.Log, head, tail []byte) (int, int, error) {
	*c.looks++
	return c.Backend.Ends(ctx, at, head, tail)
}

// A log that names no working directory gets that of the other logs in its folder. These are read only until the directory is certain to
// stay unknown.
func TestCWDOfTheFolder(t *testing.T) {
	t.Parallel()
	const line = `{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s",%s"message":{"role":"user","content":"hi"},"timestamp":"2026-05-01T10:00:00.000Z"}` + "\n"
	for _, tt := range []struct {
		name  string
		cwds  []string // of the other logs, in turn
		want  string
		looks int
	}{
		{"agree", []string{"/a/w"}, "/a/w", 40},
		{"elsewhere", []string{"/elsewhere"}, "", 2},
		{"disagree", []string{"/a/w", "/a-w"}, "", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			folder := filepath.Join(home, ".claude/projects/-a-w")
			err := os.MkdirAll(folder, 0o700)
			for i := range 40 {
				cwd := ""
				if i > 0 {
					cwd = fmt.Sprintf(`"cwd":%q,`, tt.cwds[i%len(tt.cwds)])
				}
				name := fmt.Sprintf("0f8fad5b-d9cb-469f-a165-%012d.jsonl", i)
				err = errors.Join(err, os.WriteFile(filepath.Join(folder, name), fmt.Appendf(nil, line, cwd), 0o600))
			}
			looks := 0
			m := wrapped(t, home, func(b *file.Backend) backend.Backend { return counted{b, &looks} })
			l, locating := m.Locate(filepath.Join(folder, "0f8fad5b-d9cb-469f-a165-000000000000.jsonl"))
			if err = errors.Join(err, locating); err != nil {
				t.Fatal(err)
			}
			log, err := m.OpenLog(t.Context(), l, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer log.Close()
			if cwd := log.Builder.Header().CWD; cwd != tt.want || looks == 0 || looks > tt.looks {
				t.Errorf("the directory is %q, not %q, after a look at %d logs", cwd, tt.want, looks)
			}
		})
	}
}
