package convert_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/treeline-dev/treeline/convert"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// A session is continued in another agent. Converted back, it is the old session, byte for byte, followed by what was added, and the model
// sees that.
func TestConvertGoesOnElsewhere(t *testing.T) {
	t.Parallel()
	w, folder := inMemory(t)
	nth := 0
	for _, name := range agents {
		for _, other := range agents {
			if name == other || w.Format(name).Family() == w.Format(other).Family() { // outside its folder, a log does not show which dialect of a family wrote it
				continue
			}
			for seed := range 3 {
				if nth++; os.Getenv("TREELINE_SOAK") == "" && nth%soaktest.Part(5, 11) != 0 {
					continue
				}
				at := fmt.Sprintf("%s, seed %d → %s", name, seed, other)
				path := w.Put(fmt.Sprintf("in/%s/%s/%d/0f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a.jsonl", name, other, seed), talkOf(name, uint64(30+seed)))
				src, err := w.Open(t.Context(), path, store.OpenOptions{Dialect: w.Format(name)})
				w.Must(err)
				there, _, err := convert.Session(t.Context(), w.Store, src, convert.Options{To: w.Format(other), Dir: folder(), Write: w.Write(store.WriteOptions{})})
				w.Must(err)
				_, err = there.AppendText(t.Context(), session.RoleUser, "And now?")
				w.Must(err)
				_, err = there.AppendText(t.Context(), session.RoleAssistant, "Deeper.")
				w.Must(err)
				w.Must(there.Close())
				back, _, err := convert.File(t.Context(), w.Store, there.Path(), convert.Options{To: w.Format(name), Dir: folder(), Write: w.Write(store.WriteOptions{})})
				if err != nil {
					t.Errorf("%s: %v", at, err)
					continue
				}
				old, _ := entries(t, src)
				now, _ := entries(t, back)
				// OpenCode deletes what was reverted before it continues. So the session is a new one with what the model sees.
				reverted := bytes.Contains(src.Header().Raw, []byte(`"revert"`))
				if !reverted && (len(now) <= len(old) || !slices.EqualFunc(old, now[:len(old)], bytes.Equal)) {
					t.Errorf("%s: the old entries came back as\n%s\nwere\n%s", at, bytes.Join(now, []byte("\n")), bytes.Join(old, []byte("\n")))
				}
				said := seenAt(w, back, back.Leaf())
				if n := len(said); n < 2 || said[n-2].forms[0] != "text And now?" || said[n-1].forms[0] != "text Deeper." {
					t.Errorf("%s: the model sees %v", at, said[max(n-3, 0):])
				}
				// Claude Code and Gemini CLI invent an answer only at the end.
				before := seenAt(w, src, src.Leaf())
				if n := len(before); n > 0 && (before[n-1].forms[0] == "text No response requested." || before[n-1].forms[0] == "text "+interrupted) {
					before = before[:n-1]
				}
				if diff := sameSeen(before, said[:min(len(before), len(said))]); diff != "" {
					t.Errorf(`%s: %s; want diff == ""`, at, diff)
				}
				w.Must(errors.Join(src.Close(), back.Close()))
			}
		}
	}
}
