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
