package convert_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/rows/codelia"
	"github.com/treeline-dev/treeline/convert"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/all"
	"github.com/treeline-dev/treeline/dialect/operator"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

func TestMain(m *testing.M) { os.Exit(soaktest.Main(m)) }

// withCodelia is a world in which the states of codelia can be written.
func withCodelia(w *world.World) { w.Databases = []backend.Driver{codelia.Driver()} }

// targets are the dialects that sessions can be converted to.
func targets() []dialect.Dialect {
	return slices.DeleteFunc(all.Dialects(), func(d dialect.Dialect) bool {
		_, ok := d.(dialect.Composer)
		return !ok
	})
}

// entries returns the records of a session as they would be written today.
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
func thereAndBack(w *world.World, src *store.Session, to dialect.Dialect) (there *store.Session, report convert.Report) {
	w.Helper()
	return partThereAndBack(w, src, to, nil, w.TempDir)
}

// partThereAndBack is thereAndBack for the path to a leaf, in folders that dir makes.
func partThereAndBack(w *world.World, src *store.Session, to dialect.Dialect, leaf *session.EntryID, dir func() string) (there *store.Session, report convert.Report) {
	w.Helper()
	ctx := w.Context()
	there, report, err := convert.Session(ctx, w.Store, src, convert.Options{To: to, Leaf: leaf, Dir: dir(), Write: w.Write(store.WriteOptions{})})
	if errors.Is(err, store.ErrUnsupported) && strings.Contains(err.Error(), "it has no message") {
		return nil, report
	}
	if err != nil {
		w.Fatalf("%s → %s: %v", src.Dialect().Name(), to.Name(), err)
	}
	defer there.Close()
	if _, ok := src.Dialect().(dialect.Composer); !ok {
		return there, report
	}
	read, err := w.Open(ctx, there.Path(), store.OpenOptions{Dialect: to})
	w.Must(err)
	defer read.Close()
	back, _, err := convert.Session(ctx, w.Store, read, convert.Options{To: src.Dialect(), Dir: dir(), Write: w.Write(store.WriteOptions{})})
	if err != nil {
		w.Fatalf("%s → %s → back: %v", src.Dialect().Name(), to.Name(), err)
	}
	defer back.Close()
	sameButFor(w, src, back, report)
	if report.Lossless && report.Dropped > 0 {
		w.Errorf("%d entries are dropped, and the report says lossless", report.Dropped)
	}
	if before, after := bytesOf(w, src), bytesOf(w, back); report.Lossless && leaf == nil && before != after {
		w.Errorf("%s → %s is called lossless and came back as\n%s\nwas\n%s", src.Dialect().Name(), to.Name(), after, before)
	}
	return there, report
}

// bytesOf returns the log of a session as it is stored, each line with its newline if it has one.
func bytesOf(w *world.World, s *store.Session) string {
	w.Helper()
	var out strings.Builder
	w.Must(s.Read(func(l *logtree.Log, _ logtree.Blobs) error {
		for r, err := range logtree.Records(w.Context(), l.Source.Backend(), l.At) {
			if err != nil {
				return err
			}
			out.Write(r.Data)
			if !r.Torn {
				out.WriteByte('\n')
			}
		}
		return nil
	}))
	return out.String()
}

// sameButFor compares two sessions of one dialect, but for what was dropped on the way.
func sameButFor(w *world.World, src, back *store.Session, report convert.Report) {
	w.Helper()
	before, list := entries(w.T, src)
	after, _ := entries(w.T, back)
	dropped := map[session.EntryID]bool{}
	listed := map[string]bool{}
	for _, l := range report.Losses {
		for _, id := range l.Entries {
			listed[string(id)] = true
			dropped[id] = dropped[id] || l.Became == convert.Dropped
		}
	}
	name := src.Dialect().Name() + " → " + report.Target.Dialect
	k := 0
	for i, e := range list {
		if !listed[string(e.ID)] {
			w.Errorf("%s: entry %s is not in the report", name, e.ID)
		}
		if dropped[e.ID] {
			continue
		}
		if k >= len(after) {
			w.Fatalf("%s: entry %s did not come back", name, e.ID)
		}
		rawjson.Diff(before[i], after[k], func(p string) {
			w.Errorf("%s: entry %s differs at %q:\n%s\n%s", name, e.ID, p, before[i], after[k])
		})
		k++
	}
	if k < len(after) {
		w.Errorf("%s: %d entries more than before: %s", name, len(after)-k, after[k])
	}
	h, g := src.Header(), back.Header()
	if h.InEntry && report.Dropped > 0 { // entries that were dropped have the directory
		h.CWD, h.Title = g.CWD, g.Title
	}
	if h.ID != g.ID || h.Title != g.Title || h.CWD != g.CWD || h.Parent != g.Parent {
		w.Errorf("%s: header\n%s\n%s", name, h.Raw, g.Raw)
	}
	if a, b := src.Leaf(), back.Leaf(); a != b && report.Dropped == 0 {
		w.Errorf("%s: leaf %s, was %s", name, b, a)
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
	every := soaktest.Every()
	for nth, path := range slices.Concat(files, old, states) {
		value := filepath.Base(filepath.Dir(path))
		if value == "refused" {
			continue
		}
		t.Run(value+"/"+filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			w, folder := inMemory(t)
			from, err := w.Dialect(value)
			w.Must(err)
			for i, to := range targets() {
				// Every ninth target, the others with the next fixtures. .ci/run and the soak convert to all of them.
				if to == from || !every && i%9 != nth%9 {
					continue
				}
				src, err := w.Open(t.Context(), path, store.OpenOptions{Dialect: from})
				w.Must(err)
				if src.Header().Raw == nil && src.Tree().Len() == 0 {
					if _, _, err := convert.Session(t.Context(), w.Store, src, convert.Options{To: to}); err == nil {
						t.Errorf("nothing was converted to %s", to.Name())
					}
				} else {
					partThereAndBack(w, src, to, nil, folder)
				}
				w.Must(src.Close())
			}
		})
	}
}

// A session that was converted goes on in codelia, which saves it with another time: converted back it is the old one with
// what was added.
func TestConvertGoesOn(t *testing.T) {
	t.Parallel()
	w := world.New(t, withCodelia)
	for _, name := range []string{"codelia", "codelia-doc"} { // its sessions are meant
		src, err := w.Open(t.Context(), w.Put("in/a.jsonl", samples["pi"]), store.OpenOptions{Dialect: w.Format("pi")})
		w.Must(err)
		there, _, err := convert.Session(t.Context(), w.Store, src, convert.Options{To: w.Format(name), Dir: w.TempDir(), Write: w.Write(store.WriteOptions{})})
		w.Must(err)
		if want := place.Sessions(w.Format(name)); there.Dialect() != want {
			t.Errorf("%s: it is a session of %s", name, there.Dialect().Name())
		}
		_, err = there.AppendText(t.Context(), session.RoleUser, "And now?")
		w.Must(err)
		w.Must(there.Close())
		back, _, err := convert.File(t.Context(), w.Store, there.Path(), convert.Options{To: w.Format("pi"), Dir: w.TempDir(), Write: w.Write(store.WriteOptions{})})
		w.Must(err)
		before, _ := entries(t, src)
		after, _ := entries(t, back)
		if len(after) != len(before)+1 || !bytes.Contains(after[len(before)], []byte("And now?")) || !slices.EqualFunc(before, after[:len(before)], bytes.Equal) {
			t.Errorf("%s:\n%s; want len(after) == %v, bytes.Contains(after[len(before)], []byte(\"And now?\")), slices.EqualFunc(before, after[:len(before)], bytes.Equal)", name, bytes.Join(after, []byte("\n")), len(before)+1)
		}
		if !bytes.Equal(back.Header().Raw, src.Header().Raw) {
			t.Errorf("%s: header %s", name, back.Header().Raw)
		}
		if e, ok := back.Tree().Leaf(); !ok || e.Parent != src.Leaf() {
			t.Errorf("%s: what was added hangs below %s, not %s", name, e.Parent, src.Leaf())
		}
		w.Must(errors.Join(src.Close(), back.Close()))
	}
}

// forgetful loses the last record of a log of several that it creates.
type forgetful struct{ backend.Backend }

func (b forgetful) Create(ctx context.Context, name string, records ...[]byte) (backend.Log, error) {
	return b.Backend.Create(ctx, name, records[:max(len(records)-1, 1)]...)
}

// A file that does not say the same when it is read back is removed again, and so is the note of its folder.
func TestConvertReadsBack(t *testing.T) {
	t.Parallel()
	w := world.New(t, func(w *world.World) {
		w.State = w.At("state")
		w.Wrap = func(b backend.Backend) backend.Backend { return forgetful{b} }
	})
	path := w.Put("in/a.jsonl", samples["pi"])
	out := t.TempDir()
	_, _, err := convert.File(t.Context(), w.Store, path, convert.Options{To: w.Format("operator"), Dir: out, Write: w.Write(store.WriteOptions{})})
	if !errors.Is(err, convert.ErrConverted) {
		t.Errorf("error %v, want %v", err, convert.ErrConverted)
	}
	if left, _ := filepath.Glob(filepath.Join(out, "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	noted, err := w.Store.Folders(t.Context())
	w.Must(err)
	if len(noted) > 0 {
		t.Errorf("noted: %+v", noted)
	}
}

// keepsNoOrigin is a dialect whose records carry nothing along. It stops a conversion that tries again and again.
type keepsNoOrigin struct {
	*operator.Dialect
	tries *int
	stop  func()
}

func (d keepsNoOrigin) SetOrigin(record, _ []byte) []byte {
	if *d.tries++; *d.tries == 1000 {
		d.stop()
	}
	return record
}

// A session that would not come back is refused before its log is made.
func TestConvertRefusesLoss(t *testing.T) {
	t.Parallel()
	w := world.New(t, withCodelia)
	path, out := w.Put("in/a.jsonl", samples["pi"]), t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	to := keepsNoOrigin{operator.Operator, new(int), stop}
	_, _, err := convert.File(ctx, w.Store, path, convert.Options{To: to, Dir: out, Write: w.Write(store.WriteOptions{})})
	if !errors.Is(err, convert.ErrConverted) {
		t.Errorf("error %v, want %v", err, convert.ErrConverted)
	}
	if left, _ := filepath.Glob(filepath.Join(out, "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Unusual spelling comes back byte for byte. What does not is in the report, which then does not call it lossless.
func TestConvertBytes(t *testing.T) {
	t.Parallel()
	const head = `{"type":"session","version":3,"id":"019cab00-0000-7000-8000-000000000001","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/work/pond"}` + "\n"
	const user = `{"type":"message","id":"a0000001","parentId":null,"timestamp":"2026-03-02T14:00:01.000Z","message":{"role":"user","content":[{"type":"text","text":"How deep?"}],"timestamp":1772460001000}}`
	const old = `{"type":"session","id":"019cab00-0000-7000-8000-000000000001","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/work/pond"}` + "\n" +
		`{"type":"message","timestamp":"2026-03-02T14:00:01.000Z","message":{"role":"user","content":"How deep?","timestamp":1772460001000}}` + "\n"
	for name, c := range map[string]struct {
		log      string
		lossless bool
	}{
		"usual":         {head + user + "\n", true},
		"member order":  {head + `{"id":"a0000001","type":"message","message":{"content":[{"text":"How deep?","type":"text"}],"role":"user","timestamp":1772460001000},"timestamp":"2026-03-02T14:00:01.000Z","parentId":null}` + "\n", true},
		"inner spacing": {strings.ReplaceAll(head, ":", ": ") + strings.ReplaceAll(user, ",", " , ") + "\n", true},
		"escapes":       {head + strings.Replace(user, "How", `\u0048ow`, 1) + "\n", true},
		"numbers":       {head + strings.Replace(user, "1772460001000", "1.772460001e12", 1) + "\n", true},
		"U+2028":        {head + strings.Replace(user, "deep", "\u2028deep", 1) + "\n", true},
		"blank line":    {head + "\n" + user + "\n", false},
		"CRLF":          {head + user + "\r\n", false},
		"no newline":    {head + user, false},
		"glued":         {head + user + strings.Replace(strings.Replace(user, "a0000001", "a0000002", 1), "null", `"a0000001"`, 1) + "\n", false},
		"version 1":     {old, false},
	} {
		w, folder := inMemory(t)
		for _, to := range targets() {
			if to.Name() == "pi" {
				continue
			}
			src, err := w.Open(t.Context(), w.Put("in/a.jsonl", c.log), store.OpenOptions{Dialect: w.Format("pi")})
			w.Must(err)
			if _, report := partThereAndBack(w, src, to, nil, folder); report.Lossless != c.lossless {
				t.Errorf("%s → %s: lossless is %v: %+v", name, to.Name(), report.Lossless, report.Losses)
			}
			w.Must(src.Close())
		}
	}
}

// A copy has an id of its own, the same each time, and its header names the old one.
func TestConvertOwnID(t *testing.T) {
	t.Parallel()
	w := world.New(t, withCodelia)
	path := w.Put("in/019cab00-0000-7000-8000-000000000003.jsonl", samples["pi"])
	for _, to := range targets() {
		if to.Name() == "pi" {
			continue
		}
		src, err := w.Open(t.Context(), path, store.OpenOptions{Dialect: w.Format("pi")})
		w.Must(err)
		var ids [2]session.ID
		for i := range ids {
			there, report, err := convert.Session(t.Context(), w.Store, src, convert.Options{To: to, Dir: w.TempDir(), Write: w.Write(store.WriteOptions{})})
			w.Must(err)
			if ids[i] = there.ID(); ids[i] == src.ID() || report.Target.ID != ids[i] {
				t.Errorf("%s: the id is %s", to.Name(), ids[i])
			}
			if first := bytesOf(w, there); !strings.Contains(first, string(src.ID())) {
				t.Errorf("%s: nothing names %s", to.Name(), src.ID())
			}
			w.Must(there.Close())
		}
		if ids[0] != ids[1] && to.Family() != "wave" { // Wave's ids carry a time that is new for each
			t.Errorf("%s: the ids are %v", to.Name(), ids)
		}
		w.Must(src.Close())
	}
}
