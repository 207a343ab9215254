package convert_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/convert"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/store"
)

// A session that comes back to its agent next to the one that it came from is a new session: its id is in its file, no other session has
// the id, and the model sees the same.
func TestConvertFresh(t *testing.T) {
	t.Parallel()
	w, folder := inMemory(t)
	for i, name := range agents {
		from := w.Format(name)
		linear := name == "wave" || name == "codelia-state" || name == "codex" || name == "gemini" || name == "copilot"
		path := w.Put(filepath.Join("in", name, "0f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a.jsonl"), newTalk(3, linear).write(name))
		src := w.View(path, store.OpenOptions{Dialect: from})
		for k, other := range agents {
			if other == name || !soaktest.Every() && (i+k)%5 != 0 {
				continue
			}
			cross := func(s *store.Session, to dialect.Dialect) *store.Session {
				t.Helper()
				made, _, err := convert.Session(t.Context(), w.Store, s, convert.Options{To: to, Fresh: true, Dir: folder(), Write: w.Write(store.WriteOptions{})})
				w.Must(err)
				t.Cleanup(func() { made.Close() })
				return made
			}
			there, again := cross(src, w.Format(other)), cross(src, w.Format(other))
			back := cross(there, from)
			if there.ID() == again.ID() || back.ID() == src.ID() {
				t.Errorf("%s → %s: the copies are %s and %s, that of %s is %s", name, other, there.ID(), again.ID(), src.ID(), back.ID())
			}
			opened, err := w.Open(t.Context(), back.Path(), store.OpenOptions{Dialect: from})
			w.Must(err)
			if opened.ID() != back.ID() {
				t.Errorf("%s → %s and back: the file of %s says %s", name, other, back.ID(), opened.ID())
			}
			w.Must(opened.Close())
			before, after := seenAt(w, src, src.Leaf()), seenAt(w, back, back.Leaf())
			if diff := sameSeen(byRule(before, name, other), byRule(after, name, other)); diff != "" {
				t.Errorf("%s → %s and back: %s", name, other, diff)
			}
		}
	}
}

// The ids of these agents begin with the time. A copy has another short id than the session that it was made from, so that the old short id
// still refers only to that session, and a second conversion is noticed.
func TestShortIDs(t *testing.T) {
	t.Parallel()
	w, folder := inMemory(t)
	timed := []string{"pi", "omp", "codex", "operator"}
	for _, name := range timed {
		src := w.View(w.Put(filepath.Join("in", name, "a.jsonl"), newTalk(3, name == "codex").write(name)), store.OpenOptions{Dialect: w.Format(name)})
		// The id of the fixture is not a UUID of version 7, but the id of a first copy is.
		for _, middle := range timed {
			if middle == name {
				continue
			}
			first, _, err := convert.Session(t.Context(), w.Store, src, convert.Options{To: w.Format(middle), Dir: folder(), Write: w.Write(store.WriteOptions{})})
			w.Must(err)
			for _, to := range timed {
				if to == middle || to == name {
					continue
				}
				for _, fresh := range []bool{false, true} {
					opt := convert.Options{To: w.Format(to), Fresh: fresh, Dir: folder(), Write: w.Write(store.WriteOptions{})}
					second, _, err := convert.Session(t.Context(), w.Store, first, opt)
					w.Must(err)
					if second.ID()[:8] == first.ID()[:8] {
						t.Errorf("%s → %s, fresh %v: the copy of %s is %s; want another beginning", middle, to, fresh, first.ID(), second.ID())
					}
					w.Must(second.Close())
					if _, _, err := convert.Session(t.Context(), w.Store, first, opt); !fresh && !errors.Is(err, backend.ErrExist) {
						t.Errorf("%s → %s: a second conversion gives %v; want the error backend.ErrExist", middle, to, err)
					}
				}
			}
			w.Must(first.Close())
		}
	}
}
