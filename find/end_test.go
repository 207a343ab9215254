package find

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
)

// openings is a backend that counts how often a log is opened.
type openings struct {
	backend.Backend
	n *atomic.Int64
}

func (o *openings) Open(ctx context.Context, at backend.Log) (backend.Reader, error) {
	o.n.Add(1)
	return backend.OpenLog(ctx, o.Backend, at)
}

// TestHitsAtTheEnd: a hit in the last chunk of a log is the same with the tree of that chunk as with that of the whole session, however the
// log grew. In most formats the session is not read for it.
func TestHitsAtTheEnd(t *testing.T) {
	t.Parallel()
	for _, f := range soaktest.Share(t, growingFamilies, 3) {
		if f.runs || f.roots != "" {
			continue // a hit in a run has no path
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			var opened atomic.Int64
			for seed := range uint64(rounds(1, 40)) {
				d := newGrowingDesk(t, f, seed)
				d.f = d.finder(nil, func(b backend.Backend) backend.Backend { return &openings{b, &opened} })
				text := f.header
				for len(text) < 150_000 {
					text += d.append("assistant")
				}
				d.write(text)
				short := d.endings(&opened)
				for range rounds(soaktest.Part(4, 2), 20) {
					d.write(d.text + d.append(plainKinds[d.r.IntN(len(plainKinds))]) + d.unique())
					short += d.endings(&opened)
				}
				if navigated := f.name == "claude"; navigated == (short > 0) {
					t.Errorf("%d searches read the end only", short)
				}
				for range rounds(soaktest.Part(4, 2), 20) {
					d.write(d.text + d.append(wildKinds[d.r.IntN(len(wildKinds))]) + d.unique())
					d.endings(&opened)
				}
			}
		})
	}
}

// TestHitsAfterLeaf: the leaf was moved to before the last chunk, so nothing in that chunk is on the path.
func TestHitsAfterLeaf(t *testing.T) {
	t.Parallel()
	i := slices.IndexFunc(growingFamilies, func(f *growingFamily) bool { return f.name == "operator" })
	d := newGrowingDesk(t, growingFamilies[i], 1)
	d.begin()
	said := strings.Replace(d.append("user"), `"content":"`, `"content":"kingfisher `, 1)
	d.put(d.text+said, "a prompt")
	hit := func() Hit {
		t.Helper()
		hits := d.search(d.f, "kingfisher", Options{}).Hits
		if len(hits) != 1 {
			t.Fatalf("%d hits", len(hits))
		}
		return hits[0]
	}
	if !hit().OnPath {
		t.Error("the leaf is not on the path")
	}
	d.put(d.text+fmt.Sprintf(`{"id":"back","timestamp":1755009999.25,"parent_id":"%s","type":"leaf","target_id":"%s"}`+"\n", d.parent, d.ids[0]), "a move")
	if hit().OnPath {
		t.Error("an entry after the leaf is on the path")
	}
}

// unique returns a prompt with a word that occurs once.
func (d *growingDesk) unique() string {
	return strings.Replace(d.append("user"), "word", fmt.Sprintf("heron%d word", d.n), 1)
}

// endings searches for words of the log with both trees, and returns how many searches opened the log only once.
func (d *growingDesk) endings(opened *atomic.Int64) (once int) {
	d.Helper()
	// Most are only in the last chunk; a few are everywhere, and one is in no text.
	words := []string{"called", "here", "short", fmt.Sprint("heron", d.n)}
	last := strings.Fields(d.text[max(0, len(d.text)-3000):])
	for k := range last {
		if w := last[len(last)-1-k]; strings.HasPrefix(w, "word") && !strings.Contains(w, `"`) && len(words) < 7 {
			words = append(words, w)
		}
	}
	f := d.f
	whole := func(ctx context.Context, row *place.Row) (*logtree.Log, func()) {
		b, err := f.m.Open(row.Source.Root.Sessions)
		d.Must(err)
		log, err := f.m.OpenLog(ctx, place.Location{Backend: b, Name: row.Log.Name, Path: row.Path}, row.Dialect)
		d.Must(err)
		return log, func() { log.Close() }
	}
	paths := func(r *Result) (list []string) {
		for _, h := range r.Hits {
			list = append(list, h.Session.Path)
		}
		return list
	}
	_, err := f.Catalogue(d.Context(), RefreshOptions{})
	d.Must(err)
	for k, w := range words {
		opt := Options{Limit: []int{0, 1, 5}[k%3]}
		before := opened.Load()
		got := d.search(f, w, opt)
		if n := opened.Load() - before; n == 1 && len(got.Hits) > 0 {
			once++
		}
		opt.Open = whole
		want := d.search(f, w, opt)
		if diff := difftest.Diff(want.Hits, got.Hits, difftest.Without("Hit.Session", "Hit.at", "Hit.found")) + difftest.Diff(paths(want), paths(got)); diff != "" {
			d.Fatalf("%s, at %d bytes (-whole +end):\n%s", w, len(d.text), diff)
		}
	}
	return once
}
