package find

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/store"
)

// growingDesk is a desk with one log that grows.
type growingDesk struct {
	*desk
	growing
	f     *Finder
	cache string // of f
	anew  int    // how often f read the whole log
}

// newGrowingDesk makes a desk. meddle, if given, is called with each record that f reads.
func newGrowingDesk(t *testing.T, family *growingFamily, seed uint64, meddle ...func(offset int64)) *growingDesk {
	t.Helper()
	d := &growingDesk{desk: newDesk(t), growing: growing{family: family, r: rand.New(rand.NewPCG(seed, 11))}, cache: t.TempDir()}
	if family.roots != "" {
		d.Roots = []string{d.At(family.roots)}
	}
	d.f = d.finder(nil, watching(func(at backend.Log, offset int64, r backend.Record, err error) {
		if offset == 0 && err == nil && r.End == at.Size {
			d.anew++
		}
		for _, m := range meddle {
			m(offset)
		}
	}))
	d.reopen()
	return d
}

// reopen starts over with what the files of the index contain.
func (d *growingDesk) reopen() {
	d.f.ix = index.Open(index.Options{Dir: d.cache, Notice: func(text string) { d.Error(text) }})
}

// update brings an index up to date and returns everything that it knows.
func (d *growingDesk) update(f *Finder) (list []string) {
	d.Helper()
	if d.family.runs {
		d.search(f, "nothingofthiskind", Options{Problem: func(err error) { d.Error(err) }})
	} else {
		_, err := f.Catalogue(d.Context(), RefreshOptions{Problem: func(err error) { d.Error(err) }})
		d.Must(err)
	}
	for _, src := range f.ix.Catalogue().Sources {
		for i, l := range src.Logs.All() {
			line := fmt.Sprintf("%s %d\n  %+v\n  %+v", l.Name, l.Stamp.Size, l.Summary, l.Resume()) + d.chunks(f.ix, index.Place{Logs: src.Logs, At: i})
			d.Must(f.ix.IDs(l, l.ChunkCount(), func(from int64, hash uint32) { line += fmt.Sprintf("\n  %d %08x", from, hash) }))
			list = append(list, line)
		}
	}
	return list
}

// log returns the path of the log.
func (d *growingDesk) log() string { return d.At(d.family.path) }

// write writes the log in place.
func (d *growingDesk) write(text string) {
	d.Helper()
	if strings.HasPrefix(text, d.text) && d.text != "" {
		d.AppendPlain(d.log(), text[len(d.text):])
	} else {
		d.Put(d.family.path, text)
	}
	d.touch(d.log())
	d.text = text
}

// put writes the log, brings the index up to date and reports whether all of the log was read for that.
func (d *growingDesk) put(text, what string) (anew bool) {
	d.Helper()
	d.write(text)
	if d.r.IntN(3) == 0 {
		d.reopen()
	}
	before := d.anew
	d.same(what)
	return d.anew > before
}

// same compares what f knows with what a finder knows that reads everything.
func (d *growingDesk) same(what string) {
	d.Helper()
	want := d.update(d.finder(nil))
	if diff := difftest.Diff(want, d.update(d.f)); diff != "" {
		d.Fatalf("after %s, at %d bytes (-anew +up to date):\n%s", what, len(d.text), diff)
	}
	if len(want) != 1 {
		d.Fatalf("%d logs are known", len(want))
	}
}

// begin writes the first entries.
func (d *growingDesk) begin() {
	text := d.text
	if text == "" {
		text = d.family.header
	}
	d.text = ""
	for len(text) < 150_000 { // three chunks
		text += d.append("assistant")
	}
	d.put(text, "the beginning")
}

// rounds returns how often a random test runs: many times if TREELINE_SOAK is set.
func rounds(usual, many int) int {
	if os.Getenv("TREELINE_SOAK") != "" {
		return many
	}
	return usual
}

// TestGrown: a log that has grown is known as if all of it had been read, however it grew. All of it is read only if necessary.
func TestGrown(t *testing.T) {
	t.Parallel()
	seeds := uint64(rounds(1, 50))
	for _, f := range growingFamilies {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			d := newGrowingDesk(t, f, seeds)
			d.begin()
			for range rounds(soaktest.Part(8, 2), 20) {
				d.step(plainKinds, func(what string, anew bool) {
					if anew {
						t.Errorf("after %s the log was read anew, at %d bytes", what, len(d.text))
					}
				})
			}
			anew, steps := 0, 0
			kinds := slices.Concat(plainKinds, plainKinds, wildKinds)
			for seed := range seeds {
				d := newGrowingDesk(t, f, seed)
				d.begin()
				for range rounds(soaktest.Part(6, 2), 15) {
					d.step(kinds, func(_ string, was bool) {
						steps++
						if was {
							anew++
						}
					})
				}
			}
			t.Logf("%d of %d wild steps were read anew", anew, steps)
		})
	}
}

// TestGrownToldLate: the usage of a model is reported in the last chunk and counts in a spell before it.
func TestGrownToldLate(t *testing.T) {
	t.Parallel()
	i := slices.IndexFunc(growingFamilies, func(f *growingFamily) bool { return f.name == "codex" })
	d := newGrowingDesk(t, growingFamilies[i], 1)
	const line = `{"timestamp":"2026-05-01T10:00:00.000Z","type":%q,"payload":{%s}}` + "\n"
	model := func(name string) string { return fmt.Sprintf(line, "turn_context", `"model":"`+name+`"`) }
	d.text = d.family.header + model("a") + d.append("assistant") + model("b")
	d.begin()
	d.put(d.text+model("a")+fmt.Sprintf(line, "event_msg", `"type":"token_count","info":{"last_token_usage":{"input_tokens":7}}`), "what was told late")
	for range 3 {
		d.put(d.text+d.append("tool"), "more")
	}
}

// step appends something, at once or in two pieces.
func (d *growingDesk) step(kinds []string, told func(what string, anew bool)) {
	d.Helper()
	more, what := "", ""
	for range 1 + d.r.IntN(2) {
		kind := kinds[d.r.IntN(len(kinds))]
		more += d.append(kind)
		what += kind + ", "
	}
	text := d.text
	if d.r.IntN(2) == 0 {
		cut := d.r.IntN(len(more)-1) + 1
		told(what, d.put(text+more[:cut], what+"cut off"))
	}
	told(what, d.put(text+more, what))
}

// TestGrownSearch: texts before and after the place where reading continued are found, in every family.
func TestGrownSearch(t *testing.T) {
	t.Parallel()
	for _, f := range soaktest.Share(t, growingFamilies, 3) {
		if f.roots != "" {
			continue // run logs in other places than those of runs are not searched
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			d := newGrowingDesk(t, f, 9)
			d.begin()
			for range rounds(soaktest.Part(6, 2), 10) {
				d.step(plainKinds, func(string, bool) {})
			}
			found := 0
			for range rounds(soaktest.Part(25, 5), 60) {
				word := fmt.Sprint("word", d.r.IntN(5000))
				res, err := d.f.Search(t.Context(), word, Options{})
				if err != nil {
					t.Fatal(err)
				}
				want, got := d.lines(word), []int{}
				for _, h := range res.Hits {
					if !res.Substring { // no text has the word
						got = append(got, d.lineOf(h))
					}
				}
				slices.Sort(got)
				if diff := difftest.Diff(want, got); diff != "" {
					t.Errorf("lines with %s (-in the file +found):\n%s", word, diff)
				}
				found += len(got)
			}
			if found == 0 {
				t.Error("nothing was found")
			}
		})
	}
}

// lines returns the lines of the log that hold a word.
func (d *growingDesk) lines(word string) []int {
	list := []int{}
	for i, line := range strings.Split(d.text, "\n") {
		if strings.Contains(line, word+" ") {
			list = append(list, i+1)
		}
	}
	return list
}

// lineOf returns the line of a hit.
func (d *growingDesk) lineOf(h Hit) int {
	d.Helper()
	if h.Run != nil {
		return h.Line
	}
	e, err := d.View(h.Session.Path, store.OpenOptions{}).Tree().Get(h.Entry)
	d.Must(err)
	return e.Line
}

// TestGrownRacy: a log that is changed again within one step of the clock is read again: from its last chunk on, or all of it if the system
// shows that it changed. Sessions and runs behave alike.
func TestGrownRacy(t *testing.T) {
	t.Parallel()
	for _, f := range soaktest.Share(t, growingFamilies, 3) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			d := newGrowingDesk(t, f, 14)
			d.begin()
			text := d.text + strings.Replace(d.append("user"), "word", "frog", 1) + d.append("user")
			d.write(text)
			d.Must(os.Chtimes(d.log(), d.now, d.now)) // at the time of the refresh
			d.same("an append")
			// Overwritten in place. The generation stays: it consists of the time and the last bytes.
			at := d.now
			d.text = ""
			d.write(strings.Replace(text, "frog", "toad", 1))
			d.Must(os.Chtimes(d.log(), at, at))
			before := d.anew
			d.same("a change within the step of the clock")
			if all := d.anew > before; all != tellsChange {
				t.Errorf("all of the log was read: %t", all)
			}
		})
	}
}
