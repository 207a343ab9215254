package trash_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/trash"
)

// content is that of a picture, large enough for a blob.
func content(n int) []byte { return []byte(strings.Repeat(fmt.Sprintf("picture %d ", n), 200)) }

// keep stores a blob.
func (y *yard) keep(content []byte) blob.Ref {
	y.Helper()
	ref, err := blob.NewDir(y.blobs).Put(y.Context(), content)
	y.Must(err)
	return ref
}

func (y *yard) has(ref blob.Ref) bool {
	y.Helper()
	ok, err := blob.NewDir(y.blobs).Has(y.Context(), ref)
	y.Must(err)
	return ok
}

// age makes all blobs look three hours old.
func (y *yard) age() {
	y.Helper()
	files, err := filepath.Glob(filepath.Join(y.blobs, "*"))
	y.Must(err)
	old := time.Now().Add(-3 * time.Hour)
	for _, f := range files {
		y.Must(os.Chtimes(f, old, old))
	}
}

// deep makes a folder below another one, with a path that is too long to be read.
func (y *yard) deep(below string) {
	y.Helper()
	at, err := os.OpenRoot(y.At(below))
	y.Must(err)
	for range 20 {
		name := strings.Repeat("deep", 60)
		y.Must(at.Mkdir(name, 0o700))
		next, err := at.OpenRoot(name)
		y.Must(errors.Join(err, at.Close()))
		at = next
	}
	y.Must(at.Close())
}

func (y *yard) gc(opt trash.GCOptions) trash.GCReport {
	y.Helper()
	r, err := y.bin.GC(y.Context(), opt)
	y.Must(err)
	return r
}

func TestGC(t *testing.T) {
	y := newYard(t)
	var refs []blob.Ref // those that something refers to
	// create makes a session with a picture.
	create := func(opt store.CreateOptions) (path string) {
		t.Helper()
		opt.CWD, opt.Write.Defer = "/work", "never"
		sess, err := y.Create(t.Context(), opt)
		y.Must(err)
		picture := content(len(refs))
		refs = append(refs, blob.Sum(picture))
		_, err = sess.AppendMessage(t.Context(), fmt.Appendf(nil, `{"role":"user","content":[{"type":"image","mimeType":"image/png","data":%q}]}`,
			base64.StdEncoding.EncodeToString(picture)))
		y.Must(err)
		y.Must(sess.Close())
		return sess.Path()
	}
	create(store.CreateOptions{})
	create(store.CreateOptions{Dir: y.At("elsewhere/deep")})
	_, err := y.bin.Put(t.Context(), create(store.CreateOptions{}))
	y.Must(err)
	// Files next to a session count whatever their names are, and so does a folder that only a terminal knows.
	for i, name := range []string{"x.jsonl.v1.bak", "x.jsonl.torn-20260101T000000.000Z", "x.jsonl.unreadable-20260101T000000.000Z", "x.jsonl.repair-1.bak"} {
		ref := y.keep(content(100 + i))
		refs = append(refs, ref)
		y.Old(".omp/agent/sessions/-work/"+name, `…"data":"`+ref.String()+`"…`)
	}
	known := y.keep([]byte("known to a terminal"))
	refs = append(refs, known)
	y.Old(".omp/agent/terminal-sessions/tmux-1", "/work\n"+y.Old("terminal/s.jsonl", header+"\n"+known.String())+"\n")
	old := y.keep([]byte("unused"))
	y.age()
	young := y.keep([]byte("unused and young"))
	leftover := y.Old(".omp/agent/sessions/-work/.treeline-tmp-0", "half")

	dry := y.gc(trash.GCOptions{})
	if len(dry.Unused) != 1 || dry.Unused[0].Ref != old || dry.Young != 1 || dry.Used != len(refs) || dry.Leftovers != 1 || dry.Applied || len(dry.Obstacles) > 0 {
		t.Errorf("dry run: %+v", dry)
	}
	if !y.has(old) {
		t.Fatal("a dry run removes")
	}
	if r := y.gc(trash.GCOptions{Apply: true}); len(r.Unused) != 1 || !r.Applied || r.Leftovers != 1 {
		t.Errorf("applied: %+v", r)
	}
	for i, ref := range append(refs, young) {
		if !y.has(ref) {
			t.Errorf("blob %d is gone", i)
		}
	}
	if y.has(old) || y.Exists(leftover) {
		t.Error("the unused blob or the unfinished file is still there")
	}
}

// Anything that cannot be read, or is no longer where it was, may refer to any blob.
func TestGCRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		damage func(y *yard)
		forget string // the place that may be forgotten
	}{
		// A name that is not UTF-8 is not a log, and cannot be read even by root.
		"a file":                    {func(y *yard) { y.Old(".omp/agent/sessions/-work/\xff.jsonl", "?") }, ""},
		"a noted folder is missing": {func(y *yard) { y.Old("state/folders.jsonl", `{"folder":"/nosuch/folder"}`+"\n") }, "/nosuch/folder"},
		"a noted folder is not mounted": {func(y *yard) {
			y.Must(os.MkdirAll(y.At("mount"), 0o700))
			y.Old("state/folders.jsonl", fmt.Sprintf(`{"folder":%q,"seen":["a.jsonl"]}`+"\n", y.At("mount")))
		}, "mount"},
		"another disk is mounted": {func(y *yard) {
			y.Old("mount/other.jsonl", header+"\n")
			y.Old("state/folders.jsonl", fmt.Sprintf(`{"folder":%q,"seen":["a.jsonl"]}`+"\n", y.At("mount")))
		}, "mount"},
		"the sessions are missing": {func(y *yard) { y.Must(os.RemoveAll(y.At(".omp/agent/sessions"))) }, ".omp/agent/sessions"},
		"the sessions are not mounted": {func(y *yard) {
			y.Must(errors.Join(os.RemoveAll(y.At(".omp/agent/sessions")), os.Mkdir(y.At(".omp/agent/sessions"), 0o700)))
		}, ".omp/agent/sessions"},
		"a terminal used a folder that is missing": {func(y *yard) {
			y.Old(".omp/agent/terminal-sessions/tmux-1", "/work\n"+y.At("gone/s.jsonl")+"\n")
		}, "gone"},
		"a link to a project leads nowhere": {func(y *yard) {
			y.Must(os.Symlink(y.At("unmounted"), y.At(".omp/agent/sessions/-link")))
		}, ""},
		"a link to a session leads nowhere": {func(y *yard) {
			y.Must(os.Symlink(y.At("unmounted.jsonl"), y.At(".omp/agent/sessions/-work/link.jsonl")))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			y.Old(".omp/agent/sessions/-work/s.jsonl", header+"\n")
			ref := y.keep([]byte("unused"))
			y.age()
			tc.damage(y)
			r := y.gc(trash.GCOptions{Apply: true})
			if len(r.Obstacles) == 0 || r.Applied || (len(r.Missing) > 0) != (tc.forget != "") {
				t.Errorf("%+v; want len(r.Obstacles) != 0, not r.Applied, (len(r.Missing) > 0) == %v", r, (tc.forget != ""))
			}
			if !y.has(ref) {
				t.Error("it was removed all the same")
			}
			if tc.forget == "" {
				return
			}
			if !filepath.IsAbs(tc.forget) {
				tc.forget = y.At(tc.forget)
			}
			if r := y.gc(trash.GCOptions{Apply: true, Forget: []string{tc.forget}}); !r.Applied || len(r.Unused) != 1 {
				t.Errorf("forgetting what is missing: %+v", r)
			}
			if r := y.gc(trash.GCOptions{Apply: true}); !r.Applied {
				t.Errorf("it was not forgotten for good: %+v", r)
			}
		})
	}
}

// A place that cannot be read completely can be forgotten. What can be read there still counts.
func TestGCForgetsWhatCannotBeRead(t *testing.T) {
	for name, damage := range map[string]func(y *yard){
		"a link leads nowhere": func(y *yard) { y.Must(os.Symlink(y.At("unmounted"), y.At("scratch/link"))) },
		"a folder":             func(y *yard) { y.deep("scratch") },
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			y.Old(".omp/agent/sessions/-work/s.jsonl", header+"\n")
			unused, used := y.keep([]byte("unused")), y.keep([]byte("used"))
			y.Old("scratch/s.jsonl", header+"\n"+used.String()+"\n")
			y.Old("state/folders.jsonl", fmt.Sprintf(`{"folder":%q,"seen":["s.jsonl"]}`+"\n", y.At("scratch")))
			y.age()
			damage(y)
			if r := y.gc(trash.GCOptions{Apply: true}); r.Applied || len(r.Missing) > 0 || !slices.Equal(r.Unread, []string{y.At("scratch")}) {
				t.Errorf("%+v; want not r.Applied, nothing missing, and scratch in r.Unread", r)
			}
			for _, forget := range [][]string{{y.At("scratch")}, nil} { // it stays forgotten
				if r := y.gc(trash.GCOptions{Apply: true, Forget: forget}); !r.Applied || len(r.Obstacles) > 0 {
					t.Errorf("forgetting %q: %+v", forget, r)
				}
			}
			if y.has(unused) || !y.has(used) {
				t.Errorf("the unused blob is there: %t, the used one: %t", y.has(unused), y.has(used))
			}
		})
	}
}

// Sessions in a place of the settings and run logs refer to blobs as well.
func TestGCLooksEverywhere(t *testing.T) {
	y := newYard(t, func(w *world.World) { w.Extra = []place.ExtraRoot{{Path: w.At("backup")}} })
	y.Old(".omp/agent/sessions/-work/s.jsonl", header+"\n")
	settings, run := y.keep([]byte("in a place of the settings")), y.keep([]byte("in a run log"))
	y.Old("backup/s.jsonl", header+"\n"+settings.String()+"\n")
	y.Old(".codelia/sessions/2026/02/03/7b0c2f8e-6c1d-4a4e-9d63-5f1f2a3b4c5d.jsonl", `{"type":"header"}`+"\n"+run.String()+"\n")
	y.age()
	if r := y.gc(trash.GCOptions{Apply: true}); !r.Applied || r.Used != 2 {
		t.Errorf("%+v; want r.Applied, r.Used == 2", r)
	}
	if !y.has(settings) || !y.has(run) {
		t.Error("a blob in use was removed")
	}
	y.Must(os.Rename(y.At("backup"), y.At("unplugged")))
	if r := y.gc(trash.GCOptions{Apply: true}); r.Applied || len(r.Missing) != 1 || r.Missing[0] != y.At("backup") {
		t.Errorf(`%+v; want not r.Applied, len(r.Missing) == 1, r.Missing[0] == y.At("backup")`, r)
	}
}

// The sessions that a place had at the last collection are remembered: if all of them are gone, nothing is removed.
func TestGCRemembers(t *testing.T) {
	y := newYard(t)
	y.Old(".omp/agent/sessions/-work/s.jsonl", header+"\n")
	y.keep([]byte("in use, by nothing"))
	if r := y.gc(trash.GCOptions{Apply: true}); !r.Applied {
		t.Fatalf("%+v; want r.Applied", r)
	}
	y.age()
	y.Must(os.Rename(y.At(".omp/agent/sessions"), y.At("unplugged")))
	y.Old(".omp/agent/sessions/-work/fresh.jsonl", strings.Replace(header, `"s1"`, `"s2"`, 1)+"\n")
	if r := y.gc(trash.GCOptions{Apply: true}); r.Applied || len(r.Missing) != 1 {
		t.Errorf("another disk: %+v", r)
	}
	// References count even in a forgotten place.
	used := y.keep([]byte("in use"))
	y.Old(".omp/agent/sessions/-work/user.jsonl", header+"\n"+used.String()+"\n")
	y.age()
	if r := y.gc(trash.GCOptions{Apply: true, Forget: []string{y.At(".omp/agent/sessions")}}); !r.Applied || len(r.Unused) != 1 || !y.has(used) {
		t.Errorf("forgotten: %+v", r)
	}
}

// A blob waits in the trash for 30 days, and comes back if something refers to it.
func TestGCTrash(t *testing.T) {
	y := newYard(t)
	y.Old(".omp/agent/sessions/-work/s.jsonl", header+"\n")
	first, second := y.keep([]byte("first")), y.keep([]byte("second"))
	y.Must(os.Link(filepath.Join(y.blobs, first.Hex()), filepath.Join(y.blobs, first.Hex()+".png")))
	y.age()
	y.clock = time.Now()
	if r := y.gc(trash.GCOptions{Apply: true}); len(r.Unused) != 2 || y.has(first) || y.has(second) {
		t.Fatalf("%+v; want len(r.Unused) == 2, not y.has(first), not y.has(second)", r)
	}
	y.Old(".omp/agent/sessions/-work/again.jsonl", header+"\n"+first.String()+"\n")
	if r := y.gc(trash.GCOptions{}); r.Restored != 1 || y.has(first) {
		t.Errorf("a dry run: %+v", r)
	}
	if r := y.gc(trash.GCOptions{Apply: true}); r.Restored != 1 || r.Expired != 0 || !y.has(first) {
		t.Errorf("%+v; want r.Restored == 1, r.Expired == 0, y.has(first)", r)
	}
	if text := y.read(filepath.Join(y.blobs, first.Hex()+".png")); text != "first" {
		t.Errorf("its other name has %q", text)
	}
	y.clock = y.clock.Add(29 * 24 * time.Hour)
	if r := y.gc(trash.GCOptions{Apply: true}); r.Restored != 0 || r.Expired != 0 {
		t.Errorf("after 29 days: %+v", r)
	}
	y.clock = y.clock.Add(24 * time.Hour)
	if r := y.gc(trash.GCOptions{Apply: true}); r.Expired != 1 {
		t.Errorf("after 30 days: %+v", r)
	}
	if left, _ := filepath.Glob(y.At("state/trash-blobs/*")); len(left) != 0 {
		t.Errorf("left in the trash: %v", left)
	}
}

// The folder of a session outside the agents' own is noted once. GC fails on a note that it cannot read, since that may be a folder.
func TestNotedFolders(t *testing.T) {
	y := newYard(t)
	for _, dir := range []string{"a", "b", "a"} {
		sess, err := y.Create(t.Context(), store.CreateOptions{Dir: y.At(dir), Write: store.WriteOptions{Defer: "never"}})
		y.Must(err)
		y.Must(sess.Close())
	}
	got, err := y.Folders(t.Context())
	y.Must(err)
	if len(got) != 2 || got[0].Folder != y.At("a") || len(got[0].Seen) != 2 || got[1].Folder != y.At("b") || len(got[1].Seen) != 1 {
		t.Errorf("noted %+v", got)
	}
	if log := y.read(y.At("state/folders.jsonl")); strings.Count(log, "\n") != 3 {
		t.Errorf("the log is %q", log)
	}
	// A few sessions are enough to recognize the folder.
	for range 30 {
		sess, err := y.Create(t.Context(), store.CreateOptions{Dir: y.At("c"), Write: store.WriteOptions{Defer: "never"}})
		y.Must(err)
		y.Must(sess.Close())
	}
	got, err = y.Folders(t.Context())
	y.Must(err)
	if len(got) != 3 || len(got[2].Seen) != 16 {
		t.Errorf("noted %+v", got)
	}
	y.Old("state/folders.jsonl", "nonsense\n")
	if _, err := y.bin.GC(t.Context(), trash.GCOptions{Apply: true}); err == nil {
		t.Error("collected although a note cannot be read")
	}
}

// TestGCForgetUnknown: a place that is not known is a mistake, and nothing is removed.
func TestGCForgetUnknown(t *testing.T) {
	y := newYard(t)
	ref := y.keep(content(1))
	y.age()
	opt := trash.GCOptions{Apply: true, Forget: []string{y.At("nowhere")}}
	if r, err := y.bin.GC(t.Context(), opt); !errors.Is(err, trash.ErrNoPlace) || r.Applied || !y.has(ref) {
		t.Errorf("%v, %+v; want the error trash.ErrNoPlace, not r.Applied, y.has(ref)", err, r)
	}
}
