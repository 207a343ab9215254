package convert_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/convert"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// Whatever a session has, it can be continued in another agent, and comes back with what was added.
func TestConvertContinued(t *testing.T) {
	for worker := range 4 {
		t.Run(fmt.Sprint(worker), func(t *testing.T) {
			t.Parallel()
			w, folder := inMemory(t)
			c := soaktest.Begin(t)
			for round := range c.Rounds(soaktest.Part(3*len(agents)/4+1, len(agents)/4+1), 3) {
				seed := c.Seed(uint64(4*round + worker))
				r := &dice{Rand: rand.New(rand.NewPCG(seed, 19)), whole: true}
				name := agents[seed%uint64(len(agents))]
				from := w.Format(name)
				path := w.Put(filepath.Join("in", fmt.Sprint(seed), "0f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a.jsonl"), r.log(name))
				for _, to := range targets() {
					if to == from || r.IntN(3) > 0 {
						continue
					}
					if diff := continued(w, path, from, to, folder); diff != "" {
						t.Errorf("seed %d, %s → %s → back: %s", seed, name, to.Name(), diff)
					}
				}
			}
		})
	}
}

// continued converts a session, adds a prompt to the copy and converts it back. It returns what is wrong with the session that came back.
func continued(w *world.World, path string, from, to dialect.Dialect, folder func() string) string {
	w.Helper()
	there := crossed(w, path, from, to, folder())
	if there == nil {
		return ""
	}
	_, err := there.AppendText(w.Context(), session.RoleUser, "And wide?")
	w.Must(there.Close())
	if errors.Is(err, store.ErrUnsupported) {
		return ""
	}
	w.Must(err)
	src, err := w.Open(w.Context(), there.Path(), store.OpenOptions{Dialect: to})
	w.Must(err)
	defer src.Close()
	back, _, err := convert.Session(w.Context(), w.Store, src, convert.Options{To: from, Dir: folder(), Write: w.Write(store.WriteOptions{})})
	if err != nil {
		return err.Error()
	}
	defer back.Close()
	if got := texts(w, back); !strings.Contains(got, "And wide?") {
		return "it sends\n" + got
	}
	return ""
}

// The program deletes reverted messages before it goes on. A session that went on elsewhere becomes a new one, which carries the others. Here
// the revert hides all of them, and the header of a linear copy carries them.
func TestConvertRevertedGoesOnElsewhere(t *testing.T) {
	t.Parallel()
	w, folder := inMemory(t)
	from := w.Format("opencode")
	const id = "ses_e1ff00000001ffeFixture0001xx"
	log := `{"session":{"id":"` + id + `","slug":"fix-1","directory":"/work/pond","title":"a title","version":"1.18.33","revert":{"messageID":"msg_1df000000001Fixtur00001abc"},"time_created":1772460000000}}
{"message":{"id":"msg_1df000000001Fixtur00001abc","session_id":"` + id + `","time_created":1772460001000,"time_updated":1772460001000,"data":{"role":"user","time":{"created":1772460001000}}},"part":[{"id":"prt_1df00000000100001abcdefghi","message_id":"msg_1df000000001Fixtur00001abc","session_id":"` + id + `","time_created":1,"time_updated":2,"data":{"type":"text","text":"How deep?"}}]}
`
	path := w.Put("in/"+id+".jsonl", log)
	for _, name := range agents {
		if name == "opencode" {
			continue
		}
		there := crossed(w, path, from, w.Format(name), folder())
		if there == nil {
			continue // there is no message, and no header for it
		}
		_, err := there.AppendText(t.Context(), session.RoleUser, "And wide?")
		w.Must(err)
		w.Must(there.Close())
		back := crossed(w, there.Path(), w.Format(name), from, folder())
		if back == nil {
			t.Errorf("from %s it is not converted", name)
			continue
		}
		if got, want := strings.TrimSpace(texts(w, back)), "user: And wide?"; got != want {
			t.Errorf("from %s it sends\n%s\nwant\n%s", name, got, want)
		}
		if now := bytesOf(w, back); !strings.Contains(now, "How deep?") {
			t.Errorf("from %s the old message is not in\n%s", name, now)
		}
		w.Must(back.Close())
	}
}
