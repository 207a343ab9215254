package convert_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/all"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// targets are the dialects that sessions can be converted to.
func targets() []dialect.Dialect {
	return slices.DeleteFunc(all.Dialects(), func(d dialect.Dialect) bool {
		_, ok := d.(dialect.Composer)
		return !ok
	})
}

// entries gives the records of a session as they would be written today.
func entries(t *testing.T, s *store.Session) (records [][]byte, list []session.Entry) {
	t.Helper()
	for e := range s.Tree().Entries() {
		r, err := s.Dialect().Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		records, list = append(records, r), append(list, e)
	}
	return records, list
}

// thereAndBack converts a session to another dialect and back. All that the reports do not call dropped must be as it was.
func (d *desk) thereAndBack(src *store.Session, to dialect.Dialect) (there *store.Session, report store.ConvertReport) {
	d.Helper()
	return d.partThereAndBack(src, to, nil)
}

// partThereAndBack is thereAndBack for the way to a leaf.
func (d *desk) partThereAndBack(src *store.Session, to dialect.Dialect, leaf *session.EntryID) (there *store.Session, report store.ConvertReport) {
	d.Helper()
	ctx := d.Context()
	there, report, err := d.ConvertSession(ctx, src, store.ConvertOptions{To: to, Leaf: leaf, Dir: d.TempDir(), Write: d.options()})
	if errors.Is(err, store.ErrUnsupported) && strings.Contains(err.Error(), "it has no message") {
		return nil, report
	}
	if err != nil {
		d.Fatalf("%s → %s: %v", src.Dialect().Name(), to.Name(), err)
	}
	defer there.Close()
	if _, ok := src.Dialect().(dialect.Composer); !ok {
		return there, report
	}
	read, err := d.Open(ctx, there.Path(), store.OpenOptions{Dialect: to})
	d.must(err)
	defer read.Close()
	back, _, err := d.ConvertSession(ctx, read, store.ConvertOptions{To: src.Dialect(), Dir: d.TempDir(), Write: d.options()})
	if err != nil {
		d.Fatalf("%s → %s → back: %v", src.Dialect().Name(), to.Name(), err)
	}
	defer back.Close()
	d.sameButFor(src, back, report)
	return there, report
}

// sameButFor compares two sessions of one dialect, but for what was dropped on the way.
func (d *desk) sameButFor(src, back *store.Session, report store.ConvertReport) {
	d.Helper()
	before, list := entries(d.T, src)
	after, _ := entries(d.T, back)
	dropped := map[session.EntryID]bool{}
	listed := map[string]bool{}
	for _, l := range report.Losses {
		for _, id := range l.Entries {
			listed[string(id)] = true
			dropped[id] = dropped[id] || l.Became == store.Dropped
		}
	}
	name := src.Dialect().Name() + " → " + report.Target.Dialect
	k := 0
	for i, e := range list {
		if !listed[string(e.ID)] {
			d.Errorf("%s: entry %s is not in the report", name, e.ID)
		}
		if dropped[e.ID] {
			continue
		}
		if k >= len(after) {
			d.Fatalf("%s: entry %s did not come back", name, e.ID)
		}
		rawjson.Diff(before[i], after[k], func(p string) {
			d.Errorf("%s: entry %s differs at %q:\n%s\n%s", name, e.ID, p, before[i], after[k])
		})
		k++
	}
	if k < len(after) {
		d.Errorf("%s: %d entries more than before: %s", name, len(after)-k, after[k])
	}
	h, g := src.Header(), back.Header()
	if h.ID != g.ID || h.Title != g.Title || h.CWD != g.CWD || h.Parent != g.Parent {
		d.Errorf("%s: header\n%s\n%s", name, h.Raw, g.Raw)
	}
	if a, b := src.Leaf(), back.Leaf(); a != b && report.Dropped == 0 {
		d.Errorf("%s: leaf %s, was %s", name, b, a)
	}
}

// Every fixture of every dialect goes to every other dialect and back.
func TestConvertFixtures(t *testing.T) {
	files, err := filepath.Glob("../dialect/*/testdata/*/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no fixtures", err)
	}
	old, _ := filepath.Glob("../dialect/wave/testdata/wave-legacy/*.json")
	states, _ := filepath.Glob("../dialect/codelia/testdata-state/*/*.jsonl")
	for _, path := range slices.Concat(files, old, states) {
		value := filepath.Base(filepath.Dir(path))
		if value == "refused" {
			continue
		}
		t.Run(value+"/"+filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			from, err := d.Store.Dialect(value)
			d.must(err)
			for _, to := range targets() {
				if to == from {
					continue
				}
				src, err := d.Open(t.Context(), path, store.OpenOptions{Dialect: from})
				d.must(err)
				if src.Header().Raw == nil && src.Tree().Len() == 0 {
					if _, _, err := d.ConvertSession(t.Context(), src, store.ConvertOptions{To: to}); err == nil {
						t.Errorf("nothing was converted to %s", to.Name())
					}
				} else {
					d.thereAndBack(src, to)
				}
				d.must(src.Close())
			}
		})
	}
}

// A session that was converted goes on in codelia, which saves it with another time: converted back it is the old one with
// what was added.
func TestConvertGoesOn(t *testing.T) {
	d := newDesk(t)
	for _, name := range []string{"codelia", "codelia-doc"} { // its sessions are meant
		src, err := d.Open(t.Context(), d.put("in/a.jsonl", samples["pi"]), store.OpenOptions{Dialect: d.dialect("pi")})
		d.must(err)
		there, _, err := d.ConvertSession(t.Context(), src, store.ConvertOptions{To: d.dialect(name), Dir: d.TempDir(), Write: d.options()})
		d.must(err)
		if want := store.Sessions(d.dialect(name)); there.Dialect() != want {
			t.Errorf("%s: it is a session of %s", name, there.Dialect().Name())
		}
		_, err = there.AppendText(t.Context(), session.RoleUser, "And now?")
		d.must(err)
		d.must(there.Close())
		back, _, err := d.Convert(t.Context(), there.Path(), store.ConvertOptions{To: d.dialect("pi"), Dir: d.TempDir(), Write: d.options()})
		d.must(err)
		before, _ := entries(t, src)
		after, _ := entries(t, back)
		if len(after) != len(before)+1 || !bytes.Contains(after[len(before)], []byte("And now?")) || !slices.EqualFunc(before, after[:len(before)], bytes.Equal) {
			t.Errorf("%s:\n%s", name, bytes.Join(after, []byte("\n")))
		}
		if !bytes.Equal(back.Header().Raw, src.Header().Raw) {
			t.Errorf("%s: header %s", name, back.Header().Raw)
		}
		if e, ok := back.Tree().Leaf(); !ok || e.Parent != src.Leaf() {
			t.Errorf("%s: what was added hangs below %s, not %s", name, e.Parent, src.Leaf())
		}
		d.must(errors.Join(src.Close(), back.Close()))
	}
}

// forgetful loses the last record of a log that it creates.
type forgetful struct{ backend.Backend }

func (b forgetful) Create(ctx context.Context, name string, records ...[]byte) (backend.Log, error) {
	return b.Backend.Create(ctx, name, records[:len(records)-1]...)
}

// A file that does not say the same when it is read back is removed again.
func TestConvertReadsBack(t *testing.T) {
	d := newDesk(t)
	s := d.wrapping(func(b backend.Backend) backend.Backend { return forgetful{b} })
	path := d.put("in/a.jsonl", samples["pi"])
	out := t.TempDir()
	_, _, err := s.Convert(t.Context(), path, store.ConvertOptions{To: d.dialect("operator"), Dir: out, Write: d.options()})
	if !errors.Is(err, store.ErrConverted) {
		t.Errorf("error %v, want %v", err, store.ErrConverted)
	}
	if left, _ := filepath.Glob(filepath.Join(out, "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
