package convert_test

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/store"
)

// A session that is not kept in memory comes back byte for byte, and the temporary files are removed. No record becomes as large as the
// session, although a linear session has only the path since the last compaction.
func TestConvertLarge(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	w, folder := inMemory(t)
	log := gen.Claude(gen.Session(gen.Options{Seed: 7, Bytes: 3_000_000, Branches: 3}))
	src, err := w.Open(t.Context(), w.Put("in/0f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a.jsonl", string(log)), store.OpenOptions{Dialect: w.Format("claude")})
	w.Must(err)
	defer src.Close()
	for _, name := range []string{"codex", "pi"}[:soaktest.Part(2, 1)] {
		there, report := partThereAndBack(w, src, w.Format(name), nil, folder)
		if !report.Lossless {
			t.Errorf("%s: it is not lossless", name)
		}
		read, err := w.Open(t.Context(), there.Path(), store.OpenOptions{})
		w.Must(err)
		for line := range strings.Lines(bytesOf(w, read)) {
			if len(line) > len(log)/2 {
				t.Errorf("%s: a record of %d bytes, for a session of %d", name, len(line), len(log))
			}
		}
		w.Must(read.Close())
	}
	left, err := os.ReadDir(temp)
	if err != nil || len(left) > 0 && runtime.GOOS != "windows" {
		t.Errorf("%v is left, %v", left, err)
	}
}
