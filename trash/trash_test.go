package store_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/store"
)

func TestTrash(t *testing.T) {
	s, home := writable(t)
	path := filepath.Join(home, "dir", "s.jsonl")
	log := header + "\r\n" + m("a", "null") + "\n" + m("b", "a")[:30] // torn: it comes back as it was
	write(t, path, log)
	item, err := s.Trash(t.Context(), path, store.WriteOptions{})
	if err != nil || item.ID != "s1" || item.From != path || item.Prompt != "I am a" || item.Size != int64(len(log)) {
		t.Fatalf("%+v, %v", item, err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
	// Another of the same id, which is no path.
	evil := filepath.Join(home, "evil.jsonl")
	write(t, evil, strings.Replace(header, `"s1"`, `"../../s1"`, 1)+"\n")
	write(t, path, header+"\n")
	for _, p := range []string{path, evil} {
		if _, err := s.Trash(t.Context(), p, store.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.Trashed(t.Context())
	if err != nil || len(list) != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	ids := map[string]string{}
	for _, i := range list {
		ids[i.ID] = i.From
	}
	if ids["s1"] != path || ids["s1-2"] != path || ids["session"] != evil {
		t.Errorf("the trash has %v", ids)
	}
	// What took its place is not overwritten.
	write(t, path, "mine")
	if _, err := s.Restore(t.Context(), "s1", store.WriteOptions{}); !errors.Is(err, backend.ErrExist) {
		t.Errorf("restored over a file: %v", err)
	}
	if read(t, path) != "mine" {
		t.Error("it was overwritten")
	}
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"s1": log, "sess": read(t, filepath.Join(home, ".local/state/treeline/trash/session.session"))} {
		back, err := s.Restore(t.Context(), id, store.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, back.From); got != want {
			t.Errorf("%s came back as %q", id, got)
		}
	}
	if list, err := s.Trashed(t.Context()); err != nil || len(list) != 1 || list[0].ID != "s1-2" {
		t.Errorf("left in the trash: %+v, %v", list, err)
	}
	for _, id := range []string{"", "nosuch", "../x"} {
		if _, err := s.Restore(t.Context(), id, store.WriteOptions{}); !errors.Is(err, store.ErrNoSession) {
			t.Errorf("%q: %v", id, err)
		}
	}
	write(t, path, "not a session\n")
	if _, err := s.Trash(t.Context(), path, store.WriteOptions{}); !errors.Is(err, store.ErrNotSession) {
		t.Errorf("trashed what is no session: %v", err)
	}
}

// A crash between copy and removal leaves both; restoring is then nothing but emptying the trash.
func TestRestoreWhatIsThere(t *testing.T) {
	s, home := writable(t)
	path := filepath.Join(home, "s.jsonl")
	write(t, path, header+"\n")
	if _, err := s.Trash(t.Context(), path, store.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	write(t, path, header+"\n")
	if _, err := s.Restore(t.Context(), "s1", store.WriteOptions{}); err != nil {
		t.Error(err)
	}
	if list, err := s.Trashed(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("left in the trash: %+v, %v", list, err)
	}
}

// pictured is a record with a picture that goes to a blob, and the blob's hash.
func pictured(n int) (message []byte, ref blob.Ref) {
	content := []byte(strings.Repeat(fmt.Sprintf("picture %d ", n), 200))
	return []byte(`{"role":"user","content":[{"type":"image","mimeType":"image/png","data":"` +
		base64.StdEncoding.EncodeToString(content) + `"}]}`), blob.Sum(content)
}

// gcHome is a home with one session for each way to refer to a blob.
func gcHome(t *testing.T) (s *store.Store, home string, blobs string) {
	s, home = writable(t)
	return s, home, filepath.Join(home, ".omp/agent/blobs")
}

func ageAll(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		age(t, filepath.Join(dir, e.Name()))
	}
}

func gc(t *testing.T, s *store.Store, opt store.GCOptions) store.GCReport {
	t.Helper()
	r, err := s.GC(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestGC(t *testing.T) {
	s, home, blobs := gcHome(t)
	ctx := t.Context()
	var refs []blob.Ref
	add := func(sess *store.Session) {
		t.Helper()
		message, ref := pictured(len(refs))
		refs = append(refs, ref)
		if _, err := sess.AppendMessage(ctx, message); err != nil {
			t.Fatal(err)
		}
		if err := sess.Close(); err != nil {
			t.Fatal(err)
		}
	}
	create := func(opt store.CreateOptions) *store.Session {
		t.Helper()
		opt.Write.Defer = "never"
		sess, err := s.Create(ctx, opt)
		if err != nil {
			t.Fatal(err)
		}
		return sess
	}
	add(create(store.CreateOptions{CWD: "/work"}))
	add(create(store.CreateOptions{CWD: "/work", Dir: filepath.Join(home, "elsewhere", "deep")}))
	trashed := create(store.CreateOptions{CWD: "/work"})
	gone := trashed.Path()
	add(trashed)
	if _, err := s.Trash(ctx, gone, store.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	// What was set aside beside a session, whatever it is called, and a folder that only a terminal knows.
	for i, name := range []string{"x.jsonl.v1.bak", "x.jsonl.torn-20260101T000000.000Z", "x.jsonl.unreadable-20260101T000000.000Z", "x.jsonl.repair-1.bak"} {
		message, ref := pictured(100 + i)
		b, err := blob.NewDir(blobs).Put(ctx, []byte(strings.Repeat(fmt.Sprintf("picture %d ", 100+i), 200)))
		if err != nil || b != ref || message == nil {
			t.Fatal(b, ref, err)
		}
		refs = append(refs, ref)
		write(t, filepath.Join(home, ".omp/agent/sessions/-work", name), `…"data":"`+ref.String()+`"…`)
	}
	known, err := blob.NewDir(blobs).Put(ctx, []byte("known to a terminal"))
	if err != nil {
		t.Fatal(err)
	}
	refs = append(refs, known)
	write(t, filepath.Join(home, "terminal", "s.jsonl"), header+"\n"+known.String())
	write(t, filepath.Join(home, ".omp/agent/terminal-sessions/tmux-1"), "/work\n"+filepath.Join(home, "terminal", "s.jsonl")+"\n")
	// Rubbish, old and young, and a file that a crash left.
	old, err := blob.NewDir(blobs).Put(ctx, []byte("nobody wants me"))
	if err != nil {
		t.Fatal(err)
	}
	ageAll(t, blobs)
	young, err := blob.NewDir(blobs).Put(ctx, []byte("nobody wants me yet"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, ".omp/agent/sessions/-work/.treeline-tmp-0"), "half")

	dry := gc(t, s, store.GCOptions{})
	if len(dry.Unused) != 1 || dry.Unused[0].Ref != old || dry.Young != 1 || dry.Used != len(refs) || dry.Leftovers != 1 || dry.Applied || len(dry.Obstacles) > 0 {
		t.Errorf("dry run: %+v", dry)
	}
	if ok, err := blob.NewDir(blobs).Has(ctx, old); !ok || err != nil {
		t.Fatal("a dry run removes")
	}
	if r := gc(t, s, store.GCOptions{Apply: true}); len(r.Unused) != 1 || !r.Applied || r.Leftovers != 1 {
		t.Errorf("applied: %+v", r)
	}
	for i, ref := range append(refs, young) {
		if ok, err := blob.NewDir(blobs).Has(ctx, ref); !ok || err != nil {
			t.Errorf("blob %d is gone: %v", i, err)
		}
	}
	if ok, err := blob.NewDir(blobs).Has(ctx, old); ok || err != nil {
		t.Errorf("the old one is still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(home, ".omp/agent/sessions/-work/.treeline-tmp-0")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the left-over file is still there: %v", err)
	}
}

// What cannot be read may refer to anything.
func TestGCRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(t *testing.T, home string)
	}{
		{"a file", func(t *testing.T, home string) {
			// Also for root: a name that is not UTF-8 is no log, and cannot be asked for its bytes.
			write(t, filepath.Join(home, ".omp/agent/sessions/-work/\xff.jsonl"), "?")
		}},
		{"a folder that was noted is missing", func(t *testing.T, home string) {
			write(t, filepath.Join(home, ".local/state/treeline/folders.jsonl"), `{"folder":"/nosuch/folder"}`+"\n")
		}},
		{"the sessions are missing", func(t *testing.T, home string) {
			if err := os.RemoveAll(filepath.Join(home, ".omp/agent/sessions")); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, home, blobs := gcHome(t)
			write(t, filepath.Join(home, ".omp/agent/sessions/-work/s.jsonl"), header+"\n")
			ref, err := blob.NewDir(blobs).Put(t.Context(), []byte("nobody wants me"))
			if err != nil {
				t.Fatal(err)
			}
			ageAll(t, blobs)
			c.make(t, home)
			r := gc(t, s, store.GCOptions{Apply: true})
			if len(r.Obstacles) == 0 || r.Applied {
				t.Errorf("%+v", r)
			}
			if ok, err := blob.NewDir(blobs).Has(t.Context(), ref); !ok || err != nil {
				t.Errorf("it was removed all the same: %v", err)
			}
			if len(r.Missing) == 0 {
				return
			}
			if r := gc(t, s, store.GCOptions{Apply: true, ForgetMissing: true}); !r.Applied || len(r.Unused) != 1 {
				t.Errorf("forgetting what is missing: %+v", r)
			}
			if left, err := s.Folders(t.Context()); err != nil || len(left) != 0 {
				t.Errorf("still noted: %v, %v", left, err)
			}
		})
	}
}

// A note that is none makes gc fail: it would not know of a folder.
func TestFolders(t *testing.T) {
	s, home := writable(t)
	for _, dir := range []string{"a", "b", "a"} {
		sess, err := s.Create(t.Context(), store.CreateOptions{Dir: filepath.Join(home, dir), Write: treeline.WriteOptions{Defer: "never"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := sess.Close(); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{filepath.Join(home, "a"), filepath.Join(home, "b")}
	if got, err := s.Folders(t.Context()); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("noted are %v, %v", got, err)
	}
	path := filepath.Join(home, ".local/state/treeline/folders.jsonl")
	if log := read(t, path); strings.Count(log, "\n") != 2 {
		t.Errorf("the log is %q", log)
	}
	write(t, path, "nonsense\n")
	if _, err := s.GC(t.Context(), store.GCOptions{Apply: true}); err == nil {
		t.Error("collected with a note that cannot be read")
	}
}

// What is old enough goes for good, and nothing else.
func TestEmptyTrash(t *testing.T) {
	s, home := writable(t)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i, name := range []string{"a", "b", "c"} {
		path := filepath.Join(home, name+".jsonl")
		write(t, path, strings.Replace(header, `"s1"`, `"`+name+`"`, 1)+"\n")
		at := now.Add(time.Duration(i) * time.Hour)
		if _, err := s.Trash(t.Context(), path, store.WriteOptions{Clock: func() time.Time { return at }}); err != nil {
			t.Fatal(err)
		}
	}
	gone, err := s.EmptyTrash(t.Context(), now.Add(time.Hour))
	if err != nil || len(gone) != 1 || gone[0].ID != "a" {
		t.Errorf("%+v, %v", gone, err)
	}
	left, err := s.Trashed(t.Context())
	if err != nil || len(left) != 2 || left[0].ID != "c" || left[1].ID != "b" {
		t.Errorf("%+v, %v", left, err)
	}
	if _, err := s.Restore(t.Context(), "a", store.WriteOptions{}); !errors.Is(err, store.ErrNoSession) {
		t.Errorf("it came back: %v", err)
	}
	if gone, err := s.EmptyTrash(t.Context(), now.AddDate(1, 0, 0)); err != nil || len(gone) != 2 {
		t.Errorf("%+v, %v", gone, err)
	}
	if files, _ := filepath.Glob(filepath.Join(home, ".local", "state", "treeline", "trash", "*")); len(files) > 0 {
		t.Errorf("left: %v", files)
	}
}
