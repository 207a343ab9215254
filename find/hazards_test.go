package find

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/find/past"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

// replace replaces the log by another file.
func (d *growingDesk) replace(text string) {
	d.Helper()
	d.Must(os.Rename(d.Put("other", text), d.log()))
	d.touch(d.log())
	d.text = text
}

// middle changes a word in the middle of a log without changing its length.
func middle(text string) string {
	half := len(text) / 2
	return text[:half] + strings.Replace(text[half:], "word", "wort", 1)
}

// TestGrownReplaced: a log that is replaced by one with the same beginning and end is another log.
func TestGrownReplaced(t *testing.T) {
	t.Parallel()
	for _, f := range soaktest.Share(t, growingFamilies, 3) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			d := newGrowingDesk(t, f, 3)
			d.begin()
			d.replace(middle(d.text) + d.append("assistant"))
			d.same("replaced")
			// A torn record is cut off, and another one is written there.
			d.put(d.text+`{"type":"message","id":"torn`, "torn")
			d.put(strings.TrimSuffix(d.text, `{"type":"message","id":"torn`)+d.append("user")+d.append("user"), "mended")
		})
	}
}

// TestGrownTitle: a title that is written into the slot before the header is seen, even if the session has grown as well.
func TestGrownTitle(t *testing.T) {
	t.Parallel()
	d := newGrowingDesk(t, growingFamilies[1], 4)
	d.begin()
	text := strings.Replace(d.text, "a title slot ", "another title", 1)
	if !d.put(text+d.append("user"), "a new title") {
		t.Error("the log was not read anew")
	}
	if got := d.update(d.f)[0]; !strings.Contains(got, "another title") {
		t.Errorf("the title is not seen: %.300s", got)
	}
}

// TestGrownCollision: ids with equal hashes are distinguished.
func TestGrownCollision(t *testing.T) {
	t.Parallel()
	for _, f := range []*growingFamily{growingFamilies[0], growingFamilies[3]} {
		d := newGrowingDesk(t, f, 5)
		there, parent := "", ""
		for ids := map[uint32]string{}; parent == ""; {
			id := fmt.Sprintf("%x", d.r.Uint64())
			there, ids[past.Hash(id)] = ids[past.Hash(id)], id
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

// TestGrownOldIDs: an id that is repeated long after its first entry, and a parent that comes long after its child, change
// what older entries mean.
func TestGrownOldIDs(t *testing.T) {
	t.Parallel()
	for _, f := range soaktest.Share(t, growingFamilies, 3) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
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

// TestGrownLabels: a long log with many labels is continued; a short one with as many is read from the start.
func TestGrownLabels(t *testing.T) {
	t.Parallel()
	for _, long := range []bool{true, false} {
		d := newGrowingDesk(t, growingFamilies[0], 13)
		d.begin()
		var text strings.Builder
		text.WriteString(d.text)
		for range 600 {
			text.WriteString(d.append("user"))
			text.WriteString(d.append("label"))
			if long {
				text.WriteString(strings.Replace(d.append("assistant"), "word", strings.Repeat("word ", 2200), 1))
			}
		}
		d.put(text.String(), "many labels")
		if anew := d.put(d.text+d.append("user"), "more"); anew == long {
			t.Errorf("a log of %d bytes: read anew %v", len(d.text), anew)
		}
	}
}

// TestGrownSpoilt: the first record of a chunk is unterminated but valid, and then gets bytes that make it invalid.
func TestGrownSpoilt(t *testing.T) {
	t.Parallel()
	for _, f := range soaktest.Share(t, growingFamilies, 3) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
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

// TestGrownMeanwhile: a log that grows, is replaced or is cut while it is continued is known as it is, at the latest after the next
// refresh.
func TestGrownMeanwhile(t *testing.T) {
	t.Parallel()
	for i, f := range growingFamilies {
		for k, what := range []string{"grows", "is replaced", "is cut"} {
			if !soaktest.Every() && k != i%3 {
				continue
			}
			t.Run(f.name+" "+what, func(t *testing.T) {
				t.Parallel()
				var meddle func()
				d := newGrowingDesk(t, f, 6, func(offset int64) {
					if do := meddle; do != nil && offset > 0 {
						meddle = nil
						do()
					}
				})
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
				d.update(d.f)
				if !happened {
					t.Fatal("nothing happened meanwhile")
				}
				d.same(what)
				d.put(d.text+d.append("user"), "more")
			})
		}
	}
}

// tellsChange: the system has a change time that programs cannot set.
const tellsChange = runtime.GOOS == "linux"

// TestEditedInPlace: an edit in the middle of a log that keeps its size, and whose time is then set back, is noticed if the system has a
// change time.
func TestEditedInPlace(t *testing.T) {
	t.Parallel()
	for _, f := range soaktest.Share(t, growingFamilies, 3) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			d := newGrowingDesk(t, f, 15)
			d.begin()
			info, err := os.Stat(d.log())
			d.Must(err)
			file, err := os.OpenFile(d.log(), os.O_WRONLY, 0)
			d.Must(err)
			edited := middle(d.text)
			_, err = file.WriteAt([]byte(edited), 0)
			d.Must(errors.Join(err, file.Close(), os.Chtimes(d.log(), info.ModTime(), info.ModTime())))
			if edited == d.text {
				t.Fatal("nothing was edited")
			}
			if !tellsChange {
				return
			}
			before := d.anew
			if d.same("edited in place"); d.anew == before {
				t.Error("the log was not read")
			}
		})
	}
}

// TestLongBeginning: a session whose first record, or the bytes before it, are longer than 1 MB is listed and found.
func TestLongBeginning(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	long := strings.Repeat("x", 1<<20)
	note := `,"note":"` + long + `"`
	d.Put(".omp/agent/sessions/-p/a.jsonl", fmt.Sprintf(header, "omp", note)+needle)
	d.Put(".omp/agent/sessions/-p/b.jsonl", `{"type":"title","v":1,"title":"Slot","updatedAt":"2026-05-01T10:00:00.000Z","pad":""}`+"\n"+fmt.Sprintf(header, "slot", note)+needle)
	d.Put(".pi/agent/sessions/--p--/c.jsonl", strings.Repeat("\n", 1<<20)+fmt.Sprintf(header, "blank", "")+needle)
	d.Put(".operator/sessions/d.jsonl", `{"type":"session","version":3,"id":"operator","timestamp":1755000000.25,"cwd":"/p"`+note+"}\n"+
		`{"id":"aaaa0001","timestamp":1755000001.25,"type":"message","message":{"contents":[{"type":"text","content":"needle"}],"id":"m","role":"user"},"parent_id":null}`+"\n")
	d.Put(".wave/projects/-p/1efaa2c8-90b1-6d30-8000-5b7c9e1d2f3a.jsonl",
		`{"role":"user","blocks":[{"type":"text","content":"needle"}],"timestamp":"2024-11-24T06:23:16.633Z","metadata":{"pad":"`+long+`"}}`+"\n")
	f := d.finder(nil)
	rows, err := f.Catalogue(d.Context(), RefreshOptions{})
	d.Must(err)
	for i := range rows {
		if rows[i].Err != nil || rows[i].Known.Messages != 1 {
			t.Errorf("%s: %v, %+v; want rows[i].Err == nil, rows[i].Known.Messages == 1", rows[i].Path, rows[i].Err, rows[i].Known)
		}
	}
	if hits := d.search(f, "needle", Options{}).Hits; len(rows) != 5 || len(hits) != 5 {
		t.Errorf("%d sessions, %d hits", len(rows), len(hits))
	}
}
