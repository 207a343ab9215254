package find

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/place"
)

// TestCatalogueGrown: a session that has grown is read from its last chunk on, and so is one with a racy time.
func TestCatalogueGrown(t *testing.T) {
	t.Parallel()
	m := newDesk(t)
	h := history{desk: m, r: rand.New(rand.NewPCG(1, 1)), text: map[string]string{}}
	content := fmt.Sprintf(header, "s", "")
	for range 200 {
		content += h.entry(content, "assistant")
	}
	m.write("-p/a.jsonl", content)
	lines := strings.Count(content, "\n")
	read := int64(0)
	s := m.finder(nil, watching(func(_ backend.Log, _ int64, r backend.Record, _ error) { read += int64(len(r.Data)) }))
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

	// Changed at the time at which it is read: the time proves nothing.
	m.write("-p/a.jsonl", content)
	if err := os.Chtimes(m.path("-p/a.jsonl"), m.now, m.now); err != nil {
		t.Fatal(err)
	}
	m.look(s)
	read = 0
	m.now = m.now.Add(time.Hour)
	m.look(s)
	if read == 0 || read > 100_000 {
		t.Errorf("%d bytes were read of a log whose time proves nothing", read)
	}
	read = 0
	m.look(s)
	if read != 0 {
		t.Errorf("%d bytes were read of a log that did not change", read)
	}
}

// TestCatalogueProgress: progress is reported within a log as well.
func TestCatalogueProgress(t *testing.T) {
	t.Parallel()
	m := newDesk(t)
	large := fmt.Sprintf(header, "large", "")
	text := strings.Repeat("so many words ", 5000)
	for i := range 100 {
		large += fmt.Sprintf(`{"type":"message","id":"m%d","parentId":null,"message":{"role":"user","content":"%s"}}`+"\n", i, text)
	}
	m.write("-p/large.jsonl", large)
	m.write("-p/small.jsonl", fmt.Sprintf(header, "small", ""))
	all := int64(len(large) + len(fmt.Sprintf(header, "small", "")))
	look := func(s *Finder) (list []Progress) {
		t.Helper()
		if _, err := s.Catalogue(t.Context(), RefreshOptions{Progress: func(p Progress) { list = append(list, p) }}); err != nil {
			t.Fatal(err)
		}
		return list
	}
	s := m.finder(nil)
	told := look(s)
	within := 0
	for i, p := range told {
		if i > 0 && (p.Bytes < told[i-1].Bytes || p.Logs < told[i-1].Logs) || p.OfLogs != 2 || p.OfBytes != all {
			t.Errorf("%d: %+v; want not (i > 0 && (p.Bytes < told[i-1].Bytes || p.Logs < told[i-1].Logs)), p.OfLogs == 2, p.OfBytes == %v", i, told, all)
		}
		if i > 0 && p.Logs == told[i-1].Logs {
			within++
		}
	}
	// Seven megabytes: the last is reported with the log, and one report may be skipped while the other log is stored.
	if last := told[len(told)-1]; within < 4 || within > 7 || last.Logs != 2 || last.Bytes != all {
		t.Errorf("%d times within a log: %+v", within, told)
	}

	// Only the end of a log that has grown is read, and it is reported once.
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
	t.Parallel()
	m := newDesk(t)
	for i := range 20 {
		m.write(fmt.Sprintf("-p/%02d.jsonl", i), fmt.Sprintf(header, fmt.Sprint("s", i), ""))
	}
	cache := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := m.kept(cache).Catalogue(ctx, RefreshOptions{Progress: func(p Progress) {
		if p.Logs == 7 {
			cancel()
		}
	}})
	if err == nil {
		t.Fatal("it was not interrupted")
	}
	kept := 0
	for _, src := range index.Open(index.Options{Dir: cache}).Catalogue().Sources {
		kept += src.Logs.Len()
	}
	if kept != 7 {
		t.Errorf("%d sessions are kept, not 7", kept)
	}
}

// TestCatalogueGone: the files of the index have no trace of a session that was removed.
func TestCatalogueGone(t *testing.T) {
	t.Parallel()
	m := newDesk(t)
	m.write("-p/a.jsonl", fmt.Sprintf(header, "a", `,"title":"a secret title"`)+
		`{"type":"message","id":"m","parentId":null,"message":{"role":"user","content":"a secret prompt"}}`+"\n")
	m.write("-p/b.jsonl", fmt.Sprintf(header, "b", ""))
	cache := t.TempDir()
	s := m.kept(cache)
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

	// The same for a place that is no longer a source.
	other := filepath.Join(m.Home, "other")
	if err := os.MkdirAll(other, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(other, "c.jsonl")
	if err := os.WriteFile(path, fmt.Appendf(nil, header, "c", `,"title":"another secret"`), 0o600); err != nil {
		t.Fatal(err)
	}
	m.touch(path)
	m.Extra = []place.ExtraRoot{{Path: other}}
	m.look(m.kept(cache))
	m.Extra = nil
	m.look(m.kept(cache))
	if !bytes.Contains(bytesIn(t, cache), []byte("secret")) {
		t.Error("a place that another looks into was forgotten")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	m.look(m.kept(cache))
	if bytes.Contains(bytesIn(t, cache), []byte("secret")) {
		t.Error("the text of a session that is gone from elsewhere is kept")
	}
}

// bytesIn returns the bytes of all files in a folder.
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

// TestCatalogueTaken: another process deletes or replaces the catalogue during a refresh. All sessions are found.
func TestCatalogueTaken(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(path string) error{
		"deleted": os.Remove,
		"emptied": func(path string) error { return os.WriteFile(path, nil, 0o600) },
	} {
		m, dir := newDesk(t), t.TempDir()
		session := func(i int, more string) string {
			return fmt.Sprintf(header, fmt.Sprint("s", i), "") +
				`{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-05-01T10:00:01.000Z","message":{"role":"user","content":"needle` + more + `"}}` + "\n"
		}
		for i := range 5 {
			m.write(fmt.Sprintf("a/%d.jsonl", i), session(i, ""))
		}
		x := index.Open(index.Options{Dir: dir})
		defer x.Close()
		s := m.finder(x)
		m.look(s)
		m.write("a/3.jsonl", session(3, " and more"))
		taken := false
		res, err := s.Search(t.Context(), "needle", Options{
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
