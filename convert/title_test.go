package convert_test

import (
	"os"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/convert"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/store"
)

// The name of a session is stored where the other agent looks for it, and the leaf keeps its position.
func TestConvertTitle(t *testing.T) {
	t.Parallel()
	w := world.New(t, withCodelia)
	log := strings.Replace(newTalk(3, false).pi(), `"cwd":"/work/pond"`, `"cwd":"/work/pond","title":"Pond"`, 1)
	path := w.Put("in/019cab00-0000-7000-8000-00000000000a.jsonl", log)
	for name, want := range map[string]string{
		"claude": `"customTitle":"Pond","sessionId":"`, "codex": `"thread_name":"Pond"`, "operator": `"name":"Pond"`, "pi": `"name":"Pond"`,
	} {
		src, err := w.Open(t.Context(), path, store.OpenOptions{Dialect: w.Format("omp")})
		w.Must(err)
		there, _, err := convert.Session(t.Context(), w.Store, src, convert.Options{To: w.Format(name), Write: w.Write(store.WriteOptions{})})
		w.Must(err)
		w.Must(there.Close())
		read, err := w.Open(t.Context(), there.Path(), store.OpenOptions{})
		w.Must(err)
		text := bytesOf(w, read)
		if file, _, ok := strings.Cut(there.Path(), "/sessions/"); ok && name == "codex" {
			names, err := os.ReadFile(file + "/session_index.jsonl")
			w.Must(err)
			text = string(names)
		}
		if !strings.Contains(text, want) {
			t.Errorf("%s: no %s in %s", name, want, text)
		}
		if diff := sameSeen(byRule(seenAt(w, src, src.Leaf()), "omp", name), byRule(seenAt(w, read, read.Leaf()), "omp", name)); diff != "" {
			t.Errorf(`%s: %s; want diff == ""`, name, diff)
		}
		w.Must(read.Close())
		w.Must(src.Close())
	}
}

// A session of Wave begins with a message of the agent in the user's name, so its copy gets the prompt as its name. On the way back another
// passage carries that name once the others carry their origins; the session comes back as it was.
func TestConvertNamedThereAndBack(t *testing.T) {
	t.Parallel()
	w, folder := inMemory(t)
	path := w.Put("in/019cab00-0000-7000-8000-00000000000a.jsonl",
		`{"type":"metadata","workdir":"/work/pond","createdAt":"2026-03-02T14:00:00.000Z"}
{"timestamp":"2026-03-02T14:00:00.000Z","id":"m1","role":"assistant","blocks":[{"type":"error","content":"broken"}]}
{"timestamp":"2026-03-02T14:00:04.000Z","id":"m2","role":"assistant","blocks":[{"type":"text","content":"a pond","stage":"end"}]}
{"timestamp":"2026-03-02T14:00:06.000Z","id":"m3","role":"user","blocks":[{"type":"tool","parameters":"{}","result":"a.txt","id":"c1","name":"Bash","success":true,"stage":"end"}],"isMeta":true}
{"timestamp":"2026-03-02T14:00:07.000Z","id":"m4","role":"user","blocks":[{"type":"text","content":"How deep is it?","stage":"end"},{"type":"novel"}]}
`)
	src, err := w.Open(t.Context(), path, store.OpenOptions{Dialect: w.Format("wave")})
	w.Must(err)
	defer src.Close()
	if _, report := partThereAndBack(w, src, w.Format("operator-doc"), nil, folder); !report.Lossless {
		t.Errorf("the conversion reports losses: %+v; want none", report.Losses)
	}
}
