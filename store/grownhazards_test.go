package store

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/treeline-dev/treeline/backend"
)

// log is where the log of the desk lies.
func (d *growingDesk) log() string { return filepath.Join(d.home, filepath.FromSlash(d.family.path)) }

// replace puts another file in the place of the log.
func (d *growingDesk) replace(text string) {
	d.t.Helper()
	other := filepath.Join(d.home, "other")
	if err := os.WriteFile(other, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
	if err := os.Rename(other, d.log()); err != nil {
		d.t.Fatal(err)
	}
	d.touch(d.log())
	d.text = text
}

// same compares what the store knows with what is known to one who reads everything.
func (d *growingDesk) same(what string) {
	d.t.Helper()
	want := d.update(d.store(nil))
	if diff := cmp.Diff(want, d.update(d.s)); diff != "" {
		d.t.Fatalf("after %s (-anew +up to date):\n%s", what, diff)
	}
}

// middle changes a word in the middle of a log, and nothing about its length.
func middle(text string) string {
	half := len(text) / 2
	return text[:half] + strings.Replace(text[half:], "word", "wort", 1)
}

// TestGrownReplaced: a log that was replaced by one that begins and ends as it did is another one, however it goes on.
func TestGrownReplaced(t *testing.T) {
	for i := range growingFamilies {
		f := &growingFamilies[i]
		t.Run(f.name, func(t *testing.T) {
			d := newGrowingDesk(t, f, 3)
			d.begin()
			d.replace(middle(d.text) + d.append("assistant"))
			d.same("replaced")
			// A record that was cut off is taken away, and another one stands there.
			d.put(d.text+`{"type":"message","id":"torn`, "torn")
			d.put(strings.TrimSuffix(d.text, `{"type":"message","id":"torn`)+d.append("user")+d.append("user"), "mended")
		})
	}
}

// TestGrownTitle: a title that is written into the slot before the header is seen, also when the session went on meanwhile.
func TestGrownTitle(t *testing.T) {
	d := newGrowingDesk(t, &growingFamilies[1], 4)
	d.begin()
	text := strings.Replace(d.text, "a title slot ", "another title", 1)
	if !d.put(text+d.append("user"), "a new title") {
		t.Error("the log was not read anew")
	}
	if got := d.update(d.s)[0]; !strings.Contains(got, "another title") {
		t.Errorf("the title is not seen: %.300s", got)
	}
}

// TestGrownCollision: an id that only has the hash of another one is not taken for it.
func TestGrownCollision(t *testing.T) {
	for _, f := range []*growingFamily{&growingFamilies[0], &growingFamilies[3]} {
		d := newGrowingDesk(t, f, 5)
		there, parent := "", ""
		for ids := map[uint32]string{}; parent == ""; {
			id := fmt.Sprintf("%x", d.r.Uint64())
			there, ids[hashID(id)] = ids[hashID(id)], id
			if there != "" {
				parent = id
			}
		}
		d.text = d.family.header + strings.Replace(d.append("user"), "e0000001", there, 1)
		d.parent = there
		d.begin()
		if d.put(d.text+d.append("user"), "a user") {
			t.Error("the log was read anew")
		}
		d.parent = parent
		if !d.put(d.text+d.append("user"), "an orphan whose parent has the hash of an entry") {
			t.Error("the log was not read anew")
		}
		d.put(d.text+d.append("user"), "more")
		d.lost = append(d.lost, parent)
		d.put(d.text+d.append("found"), "the parent")
	}
}

// TestGrownOldIDs: an id that stands again long behind its first entry, and a parent that comes long behind its child, change
// what is known of what was read before.
func TestGrownOldIDs(t *testing.T) {
	for i := range growingFamilies {
		f := &growingFamilies[i]
		t.Run(f.name, func(t *testing.T) {
			d := newGrowingDesk(t, f, 7)
			d.parent = "later"
			d.begin()
			d.put(d.text+d.append("user"), "an orphan at the beginning")
			old := d.ids
			d.lost = []string{"later"}
			d.put(d.text+d.append("found"), "its parent")
			d.put(d.text+d.append("user"), "more")

			d = newGrowingDesk(t, f, 8)
			d.begin()
			d.ids = d.ids[:1]
			d.put(d.text+d.append("again"), "an id again")
			d.put(d.text+d.append("user"), "more")
			d.ids = old[:1]
			d.put(d.text+d.append("label")+d.append("branch")+d.append("unlabel"), "what is about the first entry")
		})
	}
}

// TestGrownLabels: a long log may have many labels, and is read on all the same; a short one with as many is read anew.
func TestGrownLabels(t *testing.T) {
	for _, long := range []bool{true, false} {
		d := newGrowingDesk(t, &growingFamilies[0], 13)
		d.begin()
		var text strings.Builder
		text.WriteString(d.text)
		for range 600 {
			text.WriteString(d.append("user"))
			text.WriteString(d.append("label"))
			if long {
				text.WriteString(strings.Replace(d.append("assistant"), "word", strings.Repeat("word ", 4000), 1))
			}
		}
		d.put(text.String(), "many labels")
		if anew := d.put(d.text+d.append("user"), "more"); anew == long {
			t.Errorf("a log of %d bytes: read anew %v", len(d.text), anew)
		}
	}
}

// TestGrownSpoilt: the record that a chunk begins with is cut off where it could be whole, and then goes on as none.
func TestGrownSpoilt(t *testing.T) {
	for i := range growingFamilies {
		f := &growingFamilies[i]
		t.Run(f.name, func(t *testing.T) {
			d := newGrowingDesk(t, f, 12)
			d.begin()
			long := strings.Replace(d.append("user"), "word", strings.Repeat("word ", 20_000), 1)
			d.put(d.text+long, "a record that is longer than a chunk")
			d.put(d.text+strings.TrimSuffix(d.append("user"), "\n"), "a record without an end")
			d.put(d.text+"spoilt\n", "a spoilt record")
			d.put(d.text+d.append("user"), "more")
		})
	}
}

// meddler does something to a log when it is about to be read from somewhere behind its beginning.
type meddler struct {
	backend.Backend
	meddle *func()
}

func (m *meddler) Read(ctx context.Context, at backend.Log, offset int64) iter.Seq2[backend.Record, error] {
	return func(yield func(backend.Record, error) bool) {
		for r, err := range m.Backend.Read(ctx, at, offset) {
			if do := *m.meddle; do != nil && offset > 0 {
				*m.meddle = nil
				do()
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

func (m *meddler) Open(ctx context.Context, at backend.Log) (backend.Reader, error) {
	return m.Backend.(backend.Opener).Open(ctx, at)
}

// TestGrownMeanwhile: a log that grows, is replaced or is cut while it is read on is known as it is, at the latest the next
// time.
func TestGrownMeanwhile(t *testing.T) {
	for i := range growingFamilies {
		f := &growingFamilies[i]
		for _, what := range []string{"grows", "is replaced", "is cut"} {
			t.Run(f.name+" "+what, func(t *testing.T) {
				d := newGrowingDesk(t, f, 6)
				var meddle func()
				open := d.s.opt.OpenDir
				d.s.opt.OpenDir = func(dir string) (backend.Backend, error) {
					b, err := open(dir)
					return &meddler{b, &meddle}, err
				}
				d.begin()
				more, happened := d.append("user"), false
				meddle = func() {
					happened = true
					switch what {
					case "grows":
						d.write(d.text + d.append("assistant"))
					case "is replaced":
						d.replace(middle(d.text) + d.append("assistant") + d.append("assistant"))
					case "is cut":
						d.write(d.family.header + d.append("assistant"))
					}
				}
				d.write(d.text + more)
				d.update(d.s)
				if !happened {
					t.Fatal("nothing happened meanwhile")
				}
				d.same(what)
				d.put(d.text+d.append("user"), "more")
			})
		}
	}
}

// write writes the log in place.
func (d *growingDesk) write(text string) {
	d.t.Helper()
	if err := os.WriteFile(d.log(), []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
	d.touch(d.log())
	d.text = text
}
