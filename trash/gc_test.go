package trash_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/trash"
)

// content is that of a picture, large enough for a blob.
func content(n int) []byte { return []byte(strings.Repeat(fmt.Sprintf("picture %d ", n), 200)) }

// keep puts a blob.
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
	// Files beside a session count whatever their names, and so does a folder that only a terminal knows.
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

// A file that cannot be read may refer to any blob.
func TestGCRefuses(t *testing.T) {
	for name, damage := range map[string]func(y *yard){
		// A name that is not UTF-8 is not a log, and cannot be read even by root.
		"a file": func(y *yard) { y.Old(".omp/agent/sessions/-work/\xff.jsonl", "?") },
		"a noted folder is missing": func(y *yard) {
			y.Old("state/folders.jsonl", `{"folder":"/nosuch/folder"}`+"\n")
		},
		"the sessions are missing": func(y *yard) { y.Must(os.RemoveAll(y.At(".omp/agent/sessions"))) },
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			y.Old(".omp/agent/sessions/-work/s.jsonl", header+"\n")
			ref := y.keep([]byte("unused"))
			y.age()
			damage(y)
			r := y.gc(trash.GCOptions{Apply: true})
			if len(r.Obstacles) == 0 || r.Applied {
				t.Errorf("%+v", r)
			}
			if !y.has(ref) {
				t.Error("it was removed all the same")
			}
			if len(r.Missing) == 0 {
				return
			}
			if r := y.gc(trash.GCOptions{Apply: true, ForgetMissing: true}); !r.Applied || len(r.Unused) != 1 {
				t.Errorf("forgetting what is missing: %+v", r)
			}
			if left, err := y.Folders(t.Context()); err != nil || len(left) != 0 {
				t.Errorf("still noted: %v, %v", left, err)
			}
		})
	}
}

// Sessions elsewhere have their folder noted, once. GC fails on a note that it cannot read: it may hide a folder.
func TestNotedFolders(t *testing.T) {
	y := newYard(t)
	for _, dir := range []string{"a", "b", "a"} {
		sess, err := y.Create(t.Context(), store.CreateOptions{Dir: y.At(dir), Write: store.WriteOptions{Defer: "never"}})
		y.Must(err)
		y.Must(sess.Close())
	}
	got, err := y.Folders(t.Context())
	y.Must(err)
	y.Same(got, []string{y.At("a"), y.At("b")})
	if log := y.read(y.At("state/folders.jsonl")); strings.Count(log, "\n") != 2 {
		t.Errorf("the log is %q", log)
	}
	y.Old("state/folders.jsonl", "nonsense\n")
	if _, err := y.bin.GC(t.Context(), trash.GCOptions{Apply: true}); err == nil {
		t.Error("collected although a note cannot be read")
	}
}
