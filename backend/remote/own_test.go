package remote_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/backendtest"
	"github.com/treeline-dev/treeline/backend/postgres"
	"github.com/treeline-dev/treeline/backend/remote"
	"github.com/treeline-dev/treeline/backend/remote/protocol"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/internal/pgtest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/server"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func (b *box) open(t testing.TB, opt backend.OpenOptions) *remote.Backend {
	t.Helper()
	r, err := remote.Open(b.URL, b.opt, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// A server in front of a database, the set-up of a team.
func TestOverPostgres(t *testing.T) {
	if !soaktest.Every() {
		t.Skip("the requests are the same as over memory; TREELINE_CI=1 runs it")
	}
	root, err := postgres.Open(pgtest.Shared(t).URL(""), postgres.Options{}, backend.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	b := newBox(t, func(o *server.Options) { o.Archive = root })
	backendtest.Run(t, func(t *testing.T) backendtest.Place {
		p := b.place(backend.OpenOptions{})
		below := fmt.Sprintf("machine%d/omp/", places.Load())
		p.Put = func(name string, content []byte) error {
			at, err := root.Stat(t.Context(), below+name)
			if errors.Is(err, backend.ErrNotExist) {
				at, err = backend.Log{Name: below + name}, nil
			}
			if err == nil {
				_, err = root.Overwrite(t.Context(), at, "", bytes.NewReader(content))
			}
			return err
		}
		return p
	})
}

// Blobs are stored once, checked, and given only for a log that refers to them.
func TestBlobs(t *testing.T) {
	t.Parallel()
	b := newBox(t).open(t, backend.OpenOptions{Below: "laptop/omp"})
	ctx, s := t.Context(), b.Blobs("a.jsonl")
	content := []byte(strings.Repeat("picture ", 300_000))
	ref := blob.Sum(content)
	other := blob.Sum([]byte("other"))
	missing, err := blob.Missing(ctx, s, []blob.Ref{other, ref})
	if err != nil || !slices.Equal(missing, []blob.Ref{other, ref}) {
		t.Fatalf("missing %v, %v", missing, err)
	}
	for range 2 {
		if got, err := s.Put(ctx, content); err != nil || got != ref {
			t.Fatalf("Put: %v, %v", got, err)
		}
	}
	if missing, err = blob.Missing(ctx, s, []blob.Ref{other, ref}); err != nil || !slices.Equal(missing, []blob.Ref{other}) {
		t.Errorf("missing %v, %v", missing, err)
	}
	if has, err := s.Has(ctx, ref); !has || err != nil {
		t.Errorf("Has: %v, %v", has, err)
	}
	// The log does not exist, then does not refer to the blob, then does.
	if _, err := blob.Get(ctx, s, ref); !errors.Is(err, blob.ErrNotExist) {
		t.Errorf("no log: %v", err)
	}
	at, err := b.Create(ctx, "a.jsonl", []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := blob.Get(ctx, s, ref); !errors.Is(err, blob.ErrNotExist) {
		t.Errorf("a log that does not refer to it: %v", err)
	}
	if at, err = b.Append(ctx, at, fmt.Appendf(nil, `{"image":%q}`, ref)); err != nil {
		t.Fatal(err)
	}
	if got, err := blob.Get(ctx, s, ref); err != nil || !bytes.Equal(got, content) {
		t.Errorf("Get gives %d bytes, %v", len(got), err)
	}
	if _, err := blob.Get(ctx, b.Blobs("b.jsonl"), ref); !errors.Is(err, blob.ErrNotExist) {
		t.Errorf("another log: %v", err)
	}
	// The log no longer refers to the blob.
	if _, err := b.Replace(ctx, at, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if _, err := blob.Get(ctx, s, ref); !errors.Is(err, blob.ErrNotExist) {
		t.Errorf("a log that was replaced: %v", err)
	}
}

// The caller learns what the server did to the end of a log before an append.
func TestMended(t *testing.T) {
	t.Parallel()
	box := newBox(t)
	var told []backend.Mended
	b := box.open(t, backend.OpenOptions{Below: "laptop/omp", Mended: func(m backend.Mended) { told = append(told, m) }})
	for name, content := range map[string]string{"whole.jsonl": "{}\n{}", "torn.jsonl": "{}\n{\"to"} {
		box.archive.Put("laptop/omp/"+name, []byte(content))
		at, err := b.Stat(t.Context(), name)
		if err == nil {
			at, err = b.Append(t.Context(), at, []byte(`{"n":1}`))
		}
		if err == nil {
			_, err = b.Append(t.Context(), at, []byte(`{"n":2}`))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(told) != 2 {
		t.Fatalf("told %+v", told)
	}
	for _, m := range told {
		if m.Log == "torn.jsonl" && (m.Offset != 3 || m.Size != 4 || !strings.HasPrefix(m.To, "torn.jsonl.torn-")) || m.Log == "whole.jsonl" && m.To != "" {
			t.Errorf("told %+v", m)
		}
	}
}

// counting counts requests and the bytes of their answers.
type counting struct {
	http.Handler
	mu    sync.Mutex
	asked []string
	bytes int
}

func (c *counting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := httptest.NewRecorder()
	c.Handler.ServeHTTP(rec, r)
	c.mu.Lock()
	c.asked = append(c.asked, strings.TrimPrefix(r.URL.Path, "/api/v1"))
	c.bytes += rec.Body.Len()
	c.mu.Unlock()
	for key, values := range rec.Header() {
		w.Header()[key] = values
	}
	w.WriteHeader(rec.Code)
	_, _ = w.Write(rec.Body.Bytes())
}

// Only what is read is transferred: of a large log the ends, windows, or the rest.
func TestTransfersParts(t *testing.T) {
	t.Parallel()
	box := newBox(t)
	c := &counting{Handler: box.Config.Handler}
	box.Config.Handler = c
	const line = 1000
	size := int64(8000 * (line + 1))
	box.archive.Put("laptop/omp/a.jsonl", []byte(strings.Repeat(strings.Repeat("x", line)+"\n", 8000)))
	b := box.open(t, backend.OpenOptions{Below: "laptop/omp"})
	ctx := t.Context()
	at, err := b.Stat(ctx, "a.jsonl")
	if err != nil || at.Size != size {
		t.Fatalf("%+v, %v; want no error, at.Size == %v", at, err, size)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	r, err := b.Open(ctx, at)
	must(err)
	for what, tc := range map[string]struct {
		do             func()
		bytes, answers int
	}{
		"the ends": {func() {
			_, _, err := b.Ends(ctx, at, make([]byte, 4096), make([]byte, 4096))
			must(err)
		}, 8192, 1},
		"a stat": {func() {
			_, err := b.Stat(ctx, "a.jsonl")
			must(err)
		}, 300, 1},
		"the first records": {func() {
			for range b.Read(ctx, at, 0) {
				break
			}
		}, 64 << 10, 1},
		"the last record": {func() {
			for _, err := range b.Read(ctx, at, size-line-1) {
				must(err)
			}
		}, line + 1, 1},
		"nothing": {func() {
			for _, err := range b.Read(ctx, at, size) {
				must(err)
			}
		}, 0, 1},
		"a record in the middle": {func() {
			_, err := r.ReadAt(make([]byte, line), 4000*(line+1))
			must(err)
		}, 64 << 10, 1},
		"an append": {func() {
			_, err := b.Append(ctx, backend.Log{Name: "a.jsonl", Generation: "no"}, []byte("{}"))
			if !errors.Is(err, backend.ErrConflict) {
				t.Error(err)
			}
		}, 300, 1},
		"all records": {func() {
			n := 0
			for _, err := range b.Read(ctx, at, 0) {
				must(err)
				n++
			}
			if n != 8000 {
				t.Errorf("%d records", n)
			}
		}, int(size), 2},
	} {
		c.asked, c.bytes = nil, 0
		tc.do()
		if c.bytes > tc.bytes || len(c.asked) > tc.answers {
			t.Errorf("%s: %d bytes in %d answers (%v), want at most %d in %d", what, c.bytes, len(c.asked), c.asked, tc.bytes, tc.answers)
		}
	}
}

// A watch of a folder reports that folder, and continues after the server was away. Another process of the server does not know what was
// reported before, so anything may have changed.
func TestWatchAcrossRestart(t *testing.T) {
	t.Parallel()
	box := newBox(t)
	current := box.Config.Handler
	var mu sync.RWMutex
	box.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.RLock()
		h := current
		mu.RUnlock()
		h.ServeHTTP(w, r)
	})
	b := box.open(t, backend.OpenOptions{Below: "laptop/omp"})
	names := make(chan string, 100)
	w, err := b.Watch(func(name string, err error) {
		if err == nil {
			names <- name
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	next := func(want string) {
		t.Helper()
		select {
		case got := <-names:
			if got != want {
				t.Fatalf("told of %q, want %q", got, want)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%q was not told", want)
		}
	}
	box.archive.Put("desk/omp/a.jsonl", nil)
	box.archive.Put("laptop/omp/a.jsonl", nil)
	next("a.jsonl")
	box.CloseClientConnections()
	box.archive.Put("laptop/omp/b.jsonl", nil)
	next("b.jsonl")
	other := newBox(t, func(o *server.Options) { o.Archive = box.archive })
	mu.Lock()
	current = other.Config.Handler
	mu.Unlock()
	box.CloseClientConnections()
	next("")
	box.archive.Put("laptop/omp/c.jsonl", nil)
	next("c.jsonl")
}

// Behind a proxy that ends every stream at once, a watch connects again after longer and longer pauses, and at once after it reported a
// change.
func TestWatchBacksOff(t *testing.T) {
	t.Parallel()
	var streams atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(protocol.Version, protocol.Current)
		fmt.Fprint(w, "id: x-1\n\n")
		if streams.Add(1) == 14 {
			fmt.Fprint(w, "id: x-2\nevent: change\ndata: \"laptop/omp/a.jsonl\"\n\n")
		}
	}))
	t.Cleanup(s.Close)
	b, err := remote.Open(s.URL, remote.Options{Token: func(string) (string, error) { return "", nil }}, backend.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	pauses := make(chan time.Duration)
	b.Pauses(func(d time.Duration) <-chan time.Time {
		select {
		case pauses <- d:
		case <-t.Context().Done():
		}
		over := make(chan time.Time, 1)
		over <- time.Time{}
		return over
	})
	w, err := b.Watch(func(string, error) {})
	if err != nil {
		t.Fatal(err)
	}
	var got []time.Duration
	for range 15 {
		got = append(got, <-pauses)
	}
	go func() {
		for range pauses {
		}
	}()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	close(pauses)
	const ms = time.Millisecond
	if want := []time.Duration{10 * ms, 20 * ms, 40 * ms, 80 * ms, 160 * ms, 320 * ms, 640 * ms, 1280 * ms, 2560 * ms, 5000 * ms, 5000 * ms, 5000 * ms, 5000 * ms,
		10 * ms, 20 * ms}; !slices.Equal(got, want) {
		t.Errorf("the pauses are %v, want %v", got, want)
	}
}

// Tokens come from the environment, or from a file that only its owner can read.
func TestTokens(t *testing.T) {
	t.Parallel()
	none := func(string) string { return "" }
	file := filepath.Join(t.TempDir(), "tokens.toml")
	ask := func(getenv func(string) string, host string) string {
		token, err := remote.Tokens(getenv, file)(host)
		if err != nil {
			return err.Error()
		}
		return token
	}
	write := func(text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
	}
	if got := ask(none, "box.example"); got != "" {
		t.Errorf("without a file: %q", got)
	}
	write("\"box.example\" = \"one\"\n\"box.example:8443\" = \"two\"\n", 0o600)
	for host, want := range map[string]string{"box.example": "one", "box.example:8443": "two", "other.example": ""} {
		if got := ask(none, host); got != want {
			t.Errorf("%s: %q; want got == %v", host, got, want)
		}
	}
	if got := ask(func(string) string { return "three" }, "box.example"); got != "three" {
		t.Errorf("the variable: %q", got)
	}
	write("\"box.example\" = hush\n", 0o600)
	if got := ask(none, "box.example"); !strings.Contains(got, "tokens.toml:1") || strings.Contains(got, "hush") {
		t.Errorf("a wrong file: %q", got)
	}
	write("\"box.example\" = \"one\"\n", 0o644)
	if got := ask(none, "box.example"); runtime.GOOS != "windows" && !strings.Contains(got, "others can read it") {
		t.Errorf("a file for all: %q", got)
	}
}

// Folders of URLs begin with an origin.
func TestSplit(t *testing.T) {
	t.Parallel()
	for url, want := range map[string][2]string{
		"https://h":                 {"https://h", ""},
		"https://h/base/":           {"https://h/base", ""},
		"https://h/laptop-3f9a2c1b": {"https://h", "laptop-3f9a2c1b"},
		"https://h/base/laptop-3f9a2c1b/omp/a b.jsonl": {"https://h/base", "laptop-3f9a2c1b/omp/a b.jsonl"},
	} {
		root, below, err := remote.Split(url)
		if err != nil || root != want[0] || below != want[1] {
			t.Errorf("%s: %q and %q, %v", url, root, below, err)
		}
	}
}

// If the content fails while it is sent, its error is that of the call, and nothing is written.
func TestContentFails(t *testing.T) {
	t.Parallel()
	b := newBox(t).open(t, backend.OpenOptions{Below: "laptop/omp"})
	for _, packed := range []bool{false, true} {
		if packed {
			b.Pack()
		}
		for failing, want := range map[error]error{
			errors.New("the disk is gone"): nil,
			io.EOF:                         io.ErrUnexpectedEOF, // the file became shorter
		} {
			want = cmp.Or(want, failing)
			content := io.NewSectionReader(failingAt{failing}, 0, 1<<20)
			if _, err := b.Overwrite(t.Context(), backend.Log{Name: "a.jsonl"}, "", content); !errors.Is(err, want) {
				t.Errorf("packed %v: %v; want %v", packed, err, want)
			}
			if _, err := b.Stat(context.Background(), "a.jsonl"); !errors.Is(err, backend.ErrNotExist) {
				t.Errorf("packed %v: %v; want the error backend.ErrNotExist", packed, err)
			}
		}
	}
}

type failingAt struct{ err error }

func (f failingAt) ReadAt(p []byte, off int64) (int, error) {
	if off > 100_000 {
		return 0, f.err
	}
	return len(p), nil
}

// A mark may be long, and is kept as it is.
func TestLongMark(t *testing.T) {
	t.Parallel()
	b := newBox(t).open(t, backend.OpenOptions{Below: "laptop/omp"})
	mark := strings.Repeat("märk \"\n", 20_000)
	at, err := b.Overwrite(t.Context(), backend.Log{Name: "a.jsonl"}, mark, strings.NewReader("{}\n"))
	if err == nil {
		at, err = b.Extend(t.Context(), at, mark+"2", strings.NewReader("{}\n"))
	}
	if err != nil {
		t.Fatal(err)
	}
	for m, err := range b.Marks(t.Context(), "") {
		if err != nil || m.Mark != mark+"2" || !m.Log.Same(at) || m.Size != 6 {
			t.Errorf("%+v, %v: %d bytes", m.Log, err, len(m.Mark))
		}
	}
	if _, err := b.Extend(t.Context(), at, strings.Repeat("m", 2<<20), strings.NewReader("{}\n")); err == nil {
		t.Error("a mark without end was accepted")
	}
}

// Bodies to another machine are compressed, and the bytes are the same.
func TestPacked(t *testing.T) {
	t.Parallel()
	box := newBox(t)
	b := box.open(t, backend.OpenOptions{Below: "laptop/omp"})
	b.Pack()
	want := strings.Repeat("{\"tomatoes\":1}\n", 100_000)
	at, err := b.Overwrite(t.Context(), backend.Log{Name: "a.jsonl"}, "m", strings.NewReader(want))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := backend.ReadAll(t.Context(), box.archive, backend.Log{Name: "laptop/omp/a.jsonl", Generation: at.Generation, Size: at.Size}); err != nil || string(got) != want {
		t.Errorf("%d bytes arrived, %v", len(got), err)
	}
	if got, err := backend.ReadAll(t.Context(), b, at); err != nil || string(got) != want {
		t.Errorf("%d bytes came back, %v", len(got), err)
	}
	n := 0
	for _, err := range b.Read(t.Context(), at, 0) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	for range b.List(t.Context(), "") {
		n++
	}
	if n != 100_001 {
		t.Errorf("%d records and logs", n)
	}
}

// A mutation that is cancelled after it was sent may have been carried out: the error says so. The same mutation then succeeds and changes
// nothing; another one is refused.
func TestCancelledUnderWay(t *testing.T) {
	t.Parallel()
	box := newBox(t)
	ctx, cancel := context.WithCancel(t.Context())
	inner := box.Config.Handler
	defer cancel()
	var cut atomic.Bool
	box.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && cut.CompareAndSwap(true, false) {
			inner.ServeHTTP(httptest.NewRecorder(), r)
			cancel()
			<-r.Context().Done()
			return
		}
		inner.ServeHTTP(w, r)
	})
	b := box.open(t, backend.OpenOptions{Below: "laptop/omp"})
	replace := func(ctx context.Context, at backend.Log, text string) (backend.Log, error) {
		return b.Replace(ctx, at, []byte(text))
	}
	old, err := b.Create(t.Context(), "a.jsonl", []byte("old"))
	if err != nil {
		t.Fatal(err)
	}
	cut.Store(true)
	if _, err := replace(ctx, old, "new"); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "unknown") {
		t.Fatalf("cancelled: %v", err)
	}
	now, err := replace(t.Context(), old, "new")
	if err != nil {
		t.Fatalf("the same again: %v", err)
	}
	if there, err := b.Stat(t.Context(), "a.jsonl"); err != nil || there.Generation != now.Generation {
		t.Errorf("%+v was given, %+v is there, %v", now, there, err)
	}
	if _, err := replace(t.Context(), old, "new"); !errors.Is(err, backend.ErrConflict) {
		t.Errorf("a third time: %v", err)
	}
	cut.Store(true)
	second, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	cancel = end
	if _, err := replace(second, now, "newer"); !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled: %v", err)
	}
	if _, err := replace(t.Context(), now, "other"); !errors.Is(err, backend.ErrConflict) {
		t.Errorf("another one: %v", err)
	}
}
