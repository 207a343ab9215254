package store

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/all"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/query"
)

// machine is a home folder with sessions in it, and a store over it.
type machine struct {
	t    *testing.T
	home string
	now  time.Time // of the store; files have times of their own
}

func newMachine(t *testing.T) *machine {
	return &machine{t: t, home: t.TempDir(), now: time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)}
}

func (m *machine) store(x *index.Index) *Store {
	return New(Options{
		Dialects: all.Dialects(),
		Env: dialect.Env{
			Home: m.home, TempDir: m.home, WorkDir: m.home, Zone: time.UTC,
			Getenv: func(string) string { return "" }, Realpath: filepath.EvalSymlinks,
		},
		OpenDir: func(dir string) (backend.Backend, error) { return file.New(dir, file.Options{ReadOnly: true}) },
		Index:   x,
		Clock:   func() time.Time { return m.now },
	})
}

func (m *machine) path(name string) string {
	return filepath.Join(m.home, ".omp/agent/sessions", filepath.FromSlash(name))
}

// write writes a session, with a time that grows with each write so that no two are alike.
func (m *machine) write(name, content string) {
	m.t.Helper()
	path := m.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		m.t.Fatal(err)
	}
	m.touch(path)
}

func (m *machine) touch(path string) {
	m.t.Helper()
	m.now = m.now.Add(time.Second + time.Millisecond)
	changed := m.now.Add(-500 * time.Millisecond)
	if err := os.Chtimes(path, changed, changed); err != nil {
		m.t.Fatal(err)
	}
}

// look gives what a store knows of all sessions, signatures included.
func (m *machine) look(s *Store) []string {
	m.t.Helper()
	rows, err := s.Catalogue(context.Background(), RefreshOptions{Problem: func(err error) { m.t.Error(err) }})
	if err != nil {
		m.t.Fatal(err)
	}
	var list []string
	for i := range rows {
		r := &rows[i]
		known := *r.Known
		line := fmt.Sprintf("%s %d %+v %v %s", r.Log.Name, r.Log.Size, known, r.Err, r.Short)
		l, ok := s.opt.Index.Catalogue().Log(sourceKey(r.Source), r.Log.Name)
		if !ok {
			m.t.Fatalf("%s is not in the catalogue", r.Log.Name)
		}
		if unknown := s.opt.Index.EachChunk([]*index.Log{l}, func(_ int, c *index.Kept) {
			line += fmt.Sprintf("\n  %d-%d %x %v", c.From, c.To, hashID(c.Sig), c.Sound())
		}); unknown != nil {
			m.t.Fatalf("%s: its signatures are lost", r.Log.Name)
		}
		list = append(list, line)
	}
	return list
}

const header = `{"type":"session","version":3,"id":"%s","timestamp":"2026-05-01T10:00:00.000Z","cwd":"/p"%s}` + "\n"

// TestCatalogueGrown: a session that went on is read from its last chunk, and a racy time is not trusted.
func TestCatalogueGrown(t *testing.T) {
	m := newMachine(t)
	h := history{machine: m, r: rand.New(rand.NewPCG(1, 1)), text: map[string]string{}}
	content := fmt.Sprintf(header, "s", "")
	for range 200 {
		content += h.entry(content, "assistant")
	}
	m.write("-p/a.jsonl", content)
	lines := strings.Count(content, "\n")
	read := int64(0)
	s := m.store(nil)
	open := s.opt.OpenDir
	s.opt.OpenDir = func(dir string) (backend.Backend, error) {
		b, err := open(dir)
		return &meter{Backend: b, read: &read}, err
	}
	m.look(s)
	if read < int64(len(content)-lines) {
		t.Fatalf("%d bytes were read of %d", read, len(content))
	}
	read = 0
	m.look(s)
	if read != 0 {
		t.Errorf("%d bytes were read of a log that did not change", read)
	}
	content += h.entry(content, "user")
	m.write("-p/a.jsonl", content)
	m.look(s)
	if read == 0 || read > 100_000 {
		t.Errorf("%d bytes were read for one more entry", read)
	}

	// Changed in the very moment in which it is read: the time proves nothing.
	m.write("-p/a.jsonl", content)
	if err := os.Chtimes(m.path("-p/a.jsonl"), m.now, m.now); err != nil {
		t.Fatal(err)
	}
	m.look(s)
	read = 0
	m.now = m.now.Add(time.Hour)
	m.look(s)
	if read < int64(len(content)-lines-1) {
		t.Errorf("%d bytes were read of a log whose time proves nothing", read)
	}
	read = 0
	m.look(s)
	if read != 0 {
		t.Errorf("%d bytes were read of a log that did not change", read)
	}
}

// meter counts the bytes of records that are read.
type meter struct {
	backend.Backend
	read *int64
}

func (m *meter) Read(ctx context.Context, at backend.Log, offset int64) iter.Seq2[backend.Record, error] {
	return func(yield func(backend.Record, error) bool) {
		for r, err := range m.Backend.Read(ctx, at, offset) {
			*m.read += int64(len(r.Data))
			if !yield(r, err) {
				return
			}
		}
	}
}

func (m *meter) Open(ctx context.Context, at backend.Log) (backend.Reader, error) {
	return m.Backend.(backend.Opener).Open(ctx, at)
}

// TestCatalogueProgress: how far the reading is is told within a log as well, now and then.
func TestCatalogueProgress(t *testing.T) {
	m := newMachine(t)
	large := fmt.Sprintf(header, "large", "")
	text := strings.Repeat("so many words ", 5000)
	for i := range 100 {
		large += fmt.Sprintf(`{"type":"message","id":"m%d","parentId":null,"message":{"role":"user","content":"%s"}}`+"\n", i, text)
	}
	m.write("-p/large.jsonl", large)
	m.write("-p/small.jsonl", fmt.Sprintf(header, "small", ""))
	all := int64(len(large) + len(fmt.Sprintf(header, "small", "")))
	look := func(s *Store) (list []Progress) {
		t.Helper()
		if _, err := s.Catalogue(context.Background(), RefreshOptions{Progress: func(p Progress) { list = append(list, p) }}); err != nil {
			t.Fatal(err)
		}
		return list
	}
	s := m.store(nil)
	told := look(s)
	within := 0
	for i, p := range told {
		if i > 0 && (p.Bytes < told[i-1].Bytes || p.Logs < told[i-1].Logs) || p.OfLogs != 2 || p.OfBytes != all {
			t.Errorf("%d: %+v", i, told)
		}
		if i > 0 && p.Logs == told[i-1].Logs {
			within++
		}
	}
	// Seven megabytes, of which the last is told with the log, and one may be left out while the other log is put away.
	if last := told[len(told)-1]; within < 4 || within > 7 || last.Logs != 2 || last.Bytes != all {
		t.Errorf("%d times within a log: %+v", within, told)
	}

	// A log that grew is read at its end only, and told once.
	more := `{"type":"message","id":"more","parentId":null,"message":{"role":"user","content":"more"}}` + "\n"
	m.write("-p/large.jsonl", large+more)
	grown := int64(len(large) + len(more))
	for i, p := range look(s) {
		if p.OfBytes != grown || p.Bytes > grown || i > 1 {
			t.Errorf("%d, of a log that grew: %+v", i, p)
		}
	}
}

// TestCatalogueInterrupted: what was read before Ctrl-C is kept.
func TestCatalogueInterrupted(t *testing.T) {
	m := newMachine(t)
	for i := range 20 {
		m.write(fmt.Sprintf("-p/%02d.jsonl", i), fmt.Sprintf(header, fmt.Sprint("s", i), ""))
	}
	cache := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	_, err := m.store(index.Open(index.Options{Dir: cache})).Catalogue(ctx, RefreshOptions{Progress: func(p Progress) {
		if p.Logs == 7 {
			cancel()
		}
	}})
	if err == nil {
		t.Fatal("it was not interrupted")
	}
	kept := 0
	for _, src := range index.Open(index.Options{Dir: cache}).Catalogue().Sources {
		kept += len(src.Logs)
	}
	if kept != 7 {
		t.Errorf("%d sessions are kept, not 7", kept)
	}
}

// TestCatalogueGone: nothing of a session that is gone is left in the files of the index.
func TestCatalogueGone(t *testing.T) {
	m := newMachine(t)
	m.write("-p/a.jsonl", fmt.Sprintf(header, "a", `,"title":"a secret title"`)+
		`{"type":"message","id":"m","parentId":null,"message":{"role":"user","content":"a secret prompt"}}`+"\n")
	m.write("-p/b.jsonl", fmt.Sprintf(header, "b", ""))
	cache := t.TempDir()
	s := m.store(index.Open(index.Options{Dir: cache}))
	m.look(s)
	if !bytes.Contains(bytesIn(t, cache), []byte("secret")) {
		t.Fatal("the title is not kept")
	}
	if err := os.Remove(m.path("-p/a.jsonl")); err != nil {
		t.Fatal(err)
	}
	m.look(s)
	if bytes.Contains(bytesIn(t, cache), []byte("secret")) {
		t.Error("the text of a session that is gone is kept")
	}

	// Also in a place that nobody looks into any more.
	other := filepath.Join(m.home, "other")
	if err := os.MkdirAll(other, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(other, "c.jsonl")
	if err := os.WriteFile(path, fmt.Appendf(nil, header, "c", `,"title":"another secret"`), 0o600); err != nil {
		t.Fatal(err)
	}
	m.touch(path)
	s = m.store(index.Open(index.Options{Dir: cache}))
	s.opt.Extra = []ExtraRoot{{Path: other}}
	m.look(s)
	m.look(m.store(index.Open(index.Options{Dir: cache})))
	if !bytes.Contains(bytesIn(t, cache), []byte("secret")) {
		t.Error("a place that another looks into was forgotten")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	m.look(m.store(index.Open(index.Options{Dir: cache})))
	if bytes.Contains(bytesIn(t, cache), []byte("secret")) {
		t.Error("the text of a session that is gone from elsewhere is kept")
	}
}

// bytesIn gives the bytes of all files in a folder.
func bytesIn(t *testing.T, dir string) (data []byte) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		data = append(data, b...)
	}
	return data
}

// fixtures puts the dialects' fixtures where their agents would keep them.
func (m *machine) fixtures() {
	m.t.Helper()
	places := map[string]string{
		"pi/testdata/omp": ".omp/agent/sessions/-p", "pi/testdata/pi": ".pi/agent/sessions/--p--", "pi/testdata/refused": ".pi/agent/sessions/--r--",
		"operator/testdata/operator": ".operator/sessions", "operator/testdata/operator-doc": ".operator/profiles/default/sessions",
		"wave/testdata/wave": ".wave/projects/p", "wave/testdata/wave-doc": ".wave/projects/-q", "wave/testdata/wave-legacy": ".wave/sessions",
	}
	for from, to := range places {
		files, err := filepath.Glob(filepath.Join("../dialect", from, "*"))
		if err != nil || len(files) == 0 {
			m.t.Fatalf("no fixtures in %s: %v", from, err)
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				continue // a folder
			}
			path := filepath.Join(m.home, to, filepath.Base(f))
			if strings.HasSuffix(to, ".wave/sessions") { // documents, whatever the fixture is called
				path = strings.TrimSuffix(path, "l")
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				m.t.Fatal(err)
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				m.t.Fatal(err)
			}
			m.touch(path)
		}
	}
}

// TestCatalogueAndList: a list from the catalogue says of every session of every family what a list says that looks at the
// two ends of the files, and counts what that cannot count.
func TestCatalogueAndList(t *testing.T) {
	m := newMachine(t)
	m.fixtures()
	s := m.store(nil)
	want, err := s.List(context.Background(), ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Catalogue(context.Background(), RefreshOptions{Problem: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	if len(want) < 100 || len(want) != len(got) {
		t.Fatalf("%d rows, and %d in the catalogue", len(want), len(got))
	}
	rows := map[string]*Row{}
	for i := range got {
		rows[got[i].Path] = &got[i]
	}
	families := map[string]int{}
	for i := range want {
		w, g := &want[i], rows[want[i].Path]
		if g == nil {
			t.Errorf("%s is not in the catalogue", w.Path)
			continue
		}
		if (w.Err == nil) != (g.Err == nil) {
			t.Errorf("%s: %v, in the catalogue %v", w.Path, w.Err, g.Err)
		}
		if w.Err != nil || g.Err != nil {
			continue
		}
		families[w.Dialect.Name()]++
		say := func(r *Row) string {
			return fmt.Sprintf("%s id %q short %q cwd %q created %s active %s parent %q version %d when %s",
				r.Dialect.Name(), r.ID, r.Short, r.CWD, r.Created.Text, r.Active.Text, r.Parent, r.Version, r.When())
		}
		w.Active = g.Active // a list by names does not look at it
		if _, byName := byNames(w.Source.Dialect); byName {
			w.CWD, w.Parent, w.Version = g.CWD, g.Parent, g.Version
		}
		if say(w) != say(g) {
			t.Errorf("%s:\n  %s\n  %s", w.Path, say(w), say(g))
		}
		if w.Messages >= 0 && w.Messages != g.Messages {
			t.Errorf("%s: %d messages, in the catalogue %d", w.Path, w.Messages, g.Messages)
		}
		if w.Title != "" && w.Title != g.Title {
			t.Errorf("%s: title %q, in the catalogue %q", w.Path, w.Title, g.Title)
		}
		sess, err := s.Open(context.Background(), w.Path, OpenOptions{})
		if err != nil {
			t.Errorf("%s: %v", w.Path, err)
			continue
		}
		if tree := sess.Tree(); tree.Len() != g.Known.Entries || len(tree.Problems()) != g.Known.Problems || tree.Tips() != g.Known.Branches {
			t.Errorf("%s: %d entries, %d problems, %d branches; in the catalogue %d, %d, %d", w.Path, tree.Len(), len(tree.Problems()), tree.Tips(),
				g.Known.Entries, g.Known.Problems, g.Known.Branches)
		}
		sess.Close()
	}
	for _, name := range []string{"omp", "pi", "operator", "operator-doc", "wave", "wave-doc", "wave-legacy"} {
		if families[name] == 0 {
			t.Errorf("no session of %s", name)
		}
	}
}

// What a search found out about runs is still known after a list of sessions, which knows no runs, and is forgotten when
// their place is no place of runs any more.
func TestRunsStayKnown(t *testing.T) {
	m := newMachine(t)
	m.write("../../../.codelia/sessions/2026/02/03/8f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a.jsonl",
		`{"type":"header","schema_version":1,"run_id":"8f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a","started_at":"2026-02-03T12:00:00.123Z"}`+"\n"+
			`{"type":"run.start","run_id":"8f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a","ts":"2026-02-03T12:00:00.456Z","input":{"type":"text","text":"turnips"}}`+"\n")
	cache := t.TempDir()
	known := func() (n int) {
		for _, src := range index.Open(index.Options{Dir: cache}).Catalogue().Sources {
			if strings.HasPrefix(src.Key, "runs\x00") {
				n += len(src.Logs)
			}
		}
		return n
	}
	s := m.store(index.Open(index.Options{Dir: cache}))
	if res, err := s.Search(t.Context(), "turnips", SearchOptions{}); err != nil || len(res.Hits) != 1 {
		t.Fatalf("the run is not found: %v, %v", res, err)
	}
	if _, err := s.Catalogue(t.Context(), RefreshOptions{}); err != nil {
		t.Fatal(err)
	}
	if n := known(); n != 1 {
		t.Errorf("%d runs are known after a list of sessions, want 1", n)
	}
	m.home = t.TempDir()
	if _, err := m.store(index.Open(index.Options{Dir: cache})).Catalogue(t.Context(), RefreshOptions{}); err != nil {
		t.Fatal(err)
	}
	if n := known(); n != 0 {
		t.Errorf("%d runs of a place that is none are known", n)
	}
}

// TestRunsGoneMeanwhile: a search that forgets runs may move all signatures to another file. It still has those of the
// sessions, and takes nothing for damaged.
func TestRunsGoneMeanwhile(t *testing.T) {
	m, cache := newMachine(t), t.TempDir()
	search := func(want int) {
		t.Helper()
		x := index.Open(index.Options{Dir: cache, Garbage: 1, Notice: func(text string) { t.Error(text) }})
		defer x.Close()
		res, err := m.store(x).Search(t.Context(), "needle", SearchOptions{})
		if err != nil || len(res.Hits) != want {
			t.Fatalf("%d hits, not %d: %v", len(res.Hits), want, err)
		}
	}
	var words strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&words, "word%d ", i)
	}
	const run = "../../../.codelia/sessions/2026/02/03/8f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a.jsonl"
	m.write(run, `{"type":"header","schema_version":1,"run_id":"8f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a","started_at":"2026-02-03T12:00:00.123Z"}`+"\n"+
		`{"type":"run.start","run_id":"8f1d7b7a-7e8f-4e0f-9a7c-1c5d0e6b2b7a","ts":"2026-02-03T12:00:00.456Z","input":{"type":"text","text":"`+words.String()+`"}}`+"\n")
	search(0)
	m.write("a/1.jsonl", fmt.Sprintf(header, "s1", "")+
		`{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-05-01T10:00:01.000Z","message":{"role":"user","content":"needle"}}`+"\n")
	search(1)
	if err := os.Remove(m.path(run)); err != nil {
		t.Fatal(err)
	}
	search(1)
	known := index.Open(index.Options{Dir: cache}).Catalogue()
	if len(known.Sources) != 1 || len(known.Sources[0].Logs) != 1 {
		t.Errorf("the session is not known any more: %d sources", len(known.Sources))
	}
}

// TestMovedSignatures: while one searches, another one may have all signatures moved to another file. What was listed before
// is then searched as a whole, is not taken for damaged, and stays in the catalogue.
func TestMovedSignatures(t *testing.T) {
	m := newMachine(t)
	for _, name := range []string{"a", "b", "c"} {
		m.write("a/"+name+".jsonl", fmt.Sprintf(header, name, "")+
			`{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-05-01T10:00:01.000Z","message":{"role":"user","content":"needle"}}`+"\n")
	}
	x := index.Open(index.Options{Dir: t.TempDir(), Garbage: 1, Notice: func(text string) { t.Error(text) }})
	defer x.Close()
	s := m.store(x)
	m.look(s)
	q, err := query.Parse("needle", query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := &finder{s: s}
	defer f.close()
	if err := f.list(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		if err := os.Remove(m.path("a/" + name + ".jsonl")); err != nil {
			t.Fatal(err)
		}
	}
	m.look(s) // the other one, who notices that most of the signatures count no more
	hits, _, _, err := f.find(t.Context(), []*query.Query{q})
	if err != nil || len(hits) != 1 || hits[0].Session.ID != "c" {
		t.Errorf("%d hits: %v", len(hits), err)
	}
	if len(f.lost) > 0 {
		t.Errorf("logs would be read again: %+v", f.lost)
	}
}

// TestDamagedSignatures: a search finds what it must whatever is in the file of signatures, says that it is damaged, and has
// it made anew.
func TestDamagedSignatures(t *testing.T) {
	m, dir := newMachine(t), t.TempDir()
	for i := range 3 {
		m.write(fmt.Sprintf("a/%d.jsonl", i), fmt.Sprintf(header, fmt.Sprint("s", i), "")+
			`{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-05-01T10:00:01.000Z","message":{"role":"user","content":"needle"}}`+"\n")
	}
	var said []string
	search := func() {
		t.Helper()
		said = nil
		x := index.Open(index.Options{Dir: dir, Notice: func(text string) { said = append(said, text) }})
		defer x.Close()
		res, err := m.store(x).Search(t.Context(), "needle", SearchOptions{})
		if err != nil || len(res.Hits) != 3 {
			t.Fatalf("%d hits, not 3: %v", len(res.Hits), err)
		}
	}
	search()
	path := filepath.Join(dir, "signatures-0")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[8] ^= 1 // in the directory of the first log, which is checked in any case
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if search(); len(said) != 1 || !strings.Contains(said[0], "damaged") {
		t.Errorf("of the damage was said %q", said)
	}
	// Somebody who searches at the same time takes the catalogue as it is now.
	if known := index.Open(index.Options{Dir: dir}).Catalogue(); len(known.Sources) != 1 || len(known.Sources[0].Logs) != 3 {
		t.Errorf("not all sessions are known meanwhile: %+v", known.Sources)
	}
	if search(); len(said) != 0 {
		t.Errorf("it was not mended: %q", said)
	}
	search()
	x := index.Open(index.Options{Dir: dir})
	defer x.Close()
	m.look(m.store(x)) // fails where signatures are lost
}

// TestCatalogueTaken: somebody deletes the catalogue, or puts another one in its place, while we bring it up to date. All
// sessions are found all the same.
func TestCatalogueTaken(t *testing.T) {
	for name, take := range map[string]func(path string) error{
		"deleted": os.Remove,
		"emptied": func(path string) error { return os.WriteFile(path, nil, 0o600) },
	} {
		m, dir := newMachine(t), t.TempDir()
		session := func(i int, more string) string {
			return fmt.Sprintf(header, fmt.Sprint("s", i), "") +
				`{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-05-01T10:00:01.000Z","message":{"role":"user","content":"needle` + more + `"}}` + "\n"
		}
		for i := range 5 {
			m.write(fmt.Sprintf("a/%d.jsonl", i), session(i, ""))
		}
		x := index.Open(index.Options{Dir: dir})
		defer x.Close()
		s := m.store(x)
		m.look(s)
		m.write("a/3.jsonl", session(3, " and more"))
		taken := false
		res, err := s.Search(t.Context(), "needle", SearchOptions{
			Problem: func(err error) { t.Error(err) },
			Progress: func(Progress) {
				if !taken {
					taken = true
					if err := take(filepath.Join(dir, "catalogue")); err != nil {
						t.Error(err)
					}
				}
			},
		})
		if err != nil || !taken || len(res.Hits) != 5 {
			t.Errorf("%s: %d hits, not 5: %v", name, len(res.Hits), err)
		}
	}
}

// changing is a backend of logs that are changed while somebody reads them: before the first large piece from a log's
// beginning is read.
type changing struct {
	backend.Backend
	change *func() // nil once it is done
}

func (c *changing) Open(ctx context.Context, at backend.Log) (backend.Reader, error) {
	r, err := c.Backend.(backend.Opener).Open(ctx, at)
	if err != nil {
		return nil, err
	}
	return &changingReader{r, c}, nil
}

type changingReader struct {
	backend.Reader
	c *changing
}

func (r *changingReader) ReadAt(p []byte, off int64) (int, error) {
	if change := *r.c.change; change != nil && off == 0 && len(p) > 8<<10 {
		*r.c.change = nil
		change()
	}
	return r.Reader.ReadAt(p, off)
}

// TestSearchChangedMeanwhile: a log that becomes another one in the middle of a search is searched as what it became, with
// its own branches.
func TestSearchChangedMeanwhile(t *testing.T) {
	m := newMachine(t)
	session := func(entries int, parent func(i int) string) string {
		var b strings.Builder
		fmt.Fprintf(&b, header, "s", `,"title":"needle"`)
		for i := range entries {
			fmt.Fprintf(&b, `{"type":"message","id":"%08x","parentId":%s,"timestamp":"2026-05-01T10:00:01.000Z","message":{"role":"user","content":"needle %d %s"}}`+"\n",
				i+1, parent(i), i, strings.Repeat("word ", 200))
		}
		return b.String()
	}
	row := func(i int) string {
		if i == 0 {
			return "null"
		}
		return fmt.Sprintf("%q", fmt.Sprintf("%08x", i))
	}
	const before, after = 150, 200
	m.write("a/a.jsonl", session(before, row))
	s := m.store(index.Open(index.Options{}))
	open := s.opt.OpenDir
	var change func()
	s.opt.OpenDir = func(dir string) (backend.Backend, error) {
		b, err := open(dir)
		return &changing{b, &change}, err
	}
	m.look(s)
	change = func() { m.write("a/a.jsonl", session(after, func(int) string { return "null" })) }
	res, err := s.Search(t.Context(), "needle", SearchOptions{Problem: func(err error) { t.Error(err) }})
	if err != nil || change != nil {
		t.Fatalf("%v, and the log was changed: %v", err, change == nil)
	}
	active := 0
	for _, h := range res.Hits {
		if h.OnPath && h.Entry != "" {
			active++
		}
	}
	if len(res.Hits) != after+1 || active != 1 {
		t.Errorf("%d hits, %d of them active; want %d and 1", len(res.Hits), active, after+1)
	}
}

// TestActiveBehindLongEntries: when a session was last used is known, too, where its last entry is longer than what lists read of
// a log's end; and so a search that ends early gives the newest.
func TestActiveBehindLongEntries(t *testing.T) {
	m := newMachine(t)
	message := func(id, clock string, words int) string {
		return fmt.Sprintf(`{"type":"message","id":"%s","parentId":null,"timestamp":"2026-05-01T%s.000Z","message":{"role":"user","content":"needle %s"}}`+"\n",
			id, clock, strings.Repeat("word ", words))
	}
	long := fmt.Sprintf(header, "long", "") + message("00000001", "10:00:01", 3000)
	m.write("a/long.jsonl", long+message("00000002", "19:00:00", 3000))
	m.write("a/short.jsonl", fmt.Sprintf(header, "short", "")+message("00000001", "12:00:00", 1)+message("00000002", "12:00:01", 1))
	s := m.store(index.Open(index.Options{}))
	rows, err := s.Catalogue(t.Context(), RefreshOptions{})
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	for i := range rows {
		want := map[string]string{"long": `"2026-05-01T19:00:00.000Z"`, "short": `"2026-05-01T12:00:01.000Z"`}[string(rows[i].ID)]
		if got := rows[i].Active.Text; got != want {
			t.Errorf("%s: last used at %s, not %s", rows[i].ID, got, want)
		}
	}
	res, err := s.Search(t.Context(), "needle", SearchOptions{Limit: 1})
	if err != nil || len(res.Hits) != 1 || res.Hits[0].Session.ID != "long" {
		t.Errorf("the newest is not found: %+v, %v", res, err)
	}
}
