package logs_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/backend/remote/protocol"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/server/guard"
	"github.com/treeline-dev/treeline/server/logs"
)

// start serves the operations on a backend without a guard, for callers that are limited by may.
func start(t *testing.T, opt logs.Options, may func(ctx context.Context, log backend.Log, write bool, head []byte) error) *httptest.Server {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	opt.Epoch = "epoch"
	l := logs.New(ctx, opt)
	mux := http.NewServeMux()
	for _, row := range logs.Rows() {
		mux.HandleFunc(row.Method+" "+row.Path, func(w http.ResponseWriter, r *http.Request) {
			params := reflect.New(row.Params)
			fill(params.Elem(), r)
			err := row.Answer(l, &logs.Call{W: w, R: r, May: may, Writer: backend.Writer{Name: "me"}}, params.Interface())
			var no *guard.Refusal
			switch {
			case errors.Is(err, logs.ErrUnsent):
				panic(http.ErrAbortHandler)
			case errors.As(err, &no):
				http.Error(w, no.Message, no.Status)
			case err != nil:
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		})
	}
	s := httptest.NewServer(mux)
	t.Cleanup(func() {
		cancel()
		s.CloseClientConnections()
		s.Close()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// fill sets parameters like package server does.
func fill(v reflect.Value, r *http.Request) {
	query := r.URL.Query()
	for _, f := range reflect.VisibleFields(v.Type()) {
		text := query.Get(f.Tag.Get("query"))
		if f.Tag.Get("path") != "" {
			text = r.PathValue(f.Tag.Get("path"))
		}
		field := v.FieldByIndex(f.Index)
		if f.Anonymous || text == "" {
			continue
		}
		if field.Kind() == reflect.Pointer {
			field.Set(reflect.New(field.Type().Elem()))
			field = field.Elem()
		}
		switch n, _ := strconv.ParseInt(text, 10, 64); field.Kind() {
		case reflect.String:
			field.SetString(text)
		case reflect.Bool:
			field.SetBool(text == "true")
		default:
			field.SetInt(n)
		}
	}
}

// ask sends a request and returns status and body.
func ask(t *testing.T, method, address, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(all)
}

// herbs allows logs whose content mentions herbs; they stand for a project.
func herbs(b *memory.Backend) func(context.Context, backend.Log, bool, []byte) error {
	return func(ctx context.Context, log backend.Log, _ bool, head []byte) error {
		if head != nil && len(head) == 0 {
			return nil // a blob
		}
		if head == nil {
			at, err := b.Stat(ctx, log.Name)
			if err != nil {
				return err
			}
			if log.Generation != "" && log.Generation != at.Generation {
				return backend.ErrConflict
			}
			if head, err = backend.ReadAll(ctx, b, at); err != nil {
				return err
			}
		}
		if !strings.Contains(string(head), "herbs") {
			return guard.Refuse(http.StatusForbidden, "not your garden")
		}
		return nil
	}
}

// A limited caller sees, reads and writes its own logs and no others, with every operation.
func TestLimited(t *testing.T) {
	t.Parallel()
	b := memory.New()
	picture := []byte("a picture")
	ref, err := b.Blobs("").Put(t.Context(), picture)
	if err != nil {
		t.Fatal(err)
	}
	secret := fmt.Sprintf("{\"roses\":%q}\n", ref)
	b.Put("m1/omp/herbs.jsonl", []byte("{\"herbs\":1}\n"))
	b.Put("m1/omp/roses.jsonl", []byte(secret))
	b.Put("m2/omp/roses.jsonl", []byte(secret))
	s := start(t, logs.Options{Backend: b}, herbs(b))
	at := func(name string) string {
		now, err := b.Stat(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("?name=%s&generation=%s&size=%d", url.QueryEscape(name), now.Generation, now.Size)
	}
	for _, c := range []struct {
		method, path, body string
		status             int
		has                string
	}{
		{"GET", "/logs", "", 200, "m1/omp/herbs.jsonl"},
		{"GET", "/logs?marks=true", "", 200, "m1/omp/herbs.jsonl"},
		{"GET", "/logs/folders", "", 200, `["m1"]`},
		{"GET", "/logs/folders?below=m2", "", 200, `[]`},
		{"GET", "/logs/stat?name=m1/omp/roses.jsonl", "", 403, ""},
		{"GET", "/logs/content?name=m1/omp/roses.jsonl", "", 403, ""},
		{"GET", "/logs/content" + at("m1/omp/roses.jsonl") + "&hold=true", "", 403, ""},
		{"GET", "/logs/content?name=m1/omp/herbs.jsonl", "", 200, "herbs"},
		{"POST", "/logs/append" + at("m1/omp/roses.jsonl"), "{\"herbs\":1}\n", 403, ""},
		{"POST", "/logs/extend" + at("m1/omp/roses.jsonl"), "{\"herbs\":1}\n", 403, ""},
		{"POST", "/logs/replace" + at("m1/omp/roses.jsonl"), "{\"herbs\":1}\n", 403, ""},
		{"POST", "/logs/overwrite" + at("m1/omp/roses.jsonl"), "{\"herbs\":1}\n", 403, ""},
		{"POST", "/logs/remove" + at("m1/omp/roses.jsonl"), "", 403, ""},
		{"POST", "/logs/replace" + at("m1/omp/herbs.jsonl"), "{\"roses\":1}\n", 403, ""},
		{"POST", "/logs/overwrite" + at("m1/omp/herbs.jsonl"), "{\"roses\":1}\n", 403, ""},
		{"POST", "/logs/create?name=m1/omp/new.jsonl", "{\"roses\":1}\n", 403, ""},
		{"POST", "/logs/create?name=m1/omp/new.jsonl", "", 403, ""},
		{"POST", "/logs/overwrite?name=m1/omp/new.jsonl", "{\"roses\":1}\n", 403, ""},
		{"GET", "/blobs/" + ref.String() + "?log=m1/omp/roses.jsonl", "", 403, ""},
		{"GET", "/blobs/" + ref.String() + "?log=m1/omp/herbs.jsonl", "", 404, ""},
		{"POST", "/logs/missing?log=m1/omp/roses.jsonl", ref.String() + "\n", 403, ""},
		{"POST", "/logs/append" + at("m1/omp/herbs.jsonl"), "{\"more\":1}\n", 200, `"size":23`},
		{"POST", "/logs/create?name=m1/omp/new.jsonl", "{\"herbs\":2}\n", 200, `"size":12`},
	} {
		status, body := ask(t, c.method, s.URL+c.path, c.body)
		if status != c.status || !strings.Contains(body, c.has) || strings.Contains(body, "roses") && status == 200 {
			t.Errorf("%s %s: %d %s, want %d %s", c.method, c.path, status, body, c.status, c.has)
		}
	}
	for _, name := range []string{"m1/omp/roses.jsonl", "m2/omp/roses.jsonl"} {
		now, err := b.Stat(t.Context(), name)
		if err != nil || now.Size != int64(len(secret)) {
			t.Errorf("%s has changed: %+v, %v", name, now, err)
		}
	}
}

// A HEAD request holds no stream: its connection stays open for the next request.
func TestEventsHead(t *testing.T) {
	t.Parallel()
	s := start(t, logs.Options{Backend: memory.New(), MaxStreams: 1}, nil)
	for range 2 {
		res, err := s.Client().Head(s.URL + "/logs/events")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if kind := res.Header.Get("Content-Type"); res.StatusCode != 200 || kind != protocol.Events {
			t.Fatalf("%s, %s, want 200 and %s", res.Status, kind, protocol.Events)
		}
	}
}

// events reads names from a stream.
func events(t *testing.T, address, last string) func() (id, name string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	lines := bufio.NewScanner(res.Body)
	return func() (id, name string) {
		t.Helper()
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
				id = text
			}
			if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				name, err = strconv.Unquote(text)
				if err != nil {
					t.Fatal(err)
				}
				return id, name
			}
		}
		t.Fatal("the stream ended:", lines.Err())
		return "", ""
	}
}

// A stream continues after the event that its caller knows, and does not give a limited caller the names of other logs.
func TestEvents(t *testing.T) {
	t.Parallel()
	b := memory.New()
	s := start(t, logs.Options{Backend: b}, nil)
	limited := start(t, logs.Options{Backend: b}, herbs(b))
	all, own := events(t, s.URL+"/logs/events", ""), events(t, limited.URL+"/logs/events", "")
	folder := events(t, s.URL+"/logs/events?prefix=m2/", "")
	var ids []string
	for i := range 6 {
		kind := []string{"herbs", "roses"}[i%2]
		name := fmt.Sprintf("m%d/omp/%s.jsonl", i/2, kind)
		b.Put(name, []byte("{\""+kind+"\":1}\n"))
		id, got := all()
		if got != name {
			t.Errorf("told of %q, want %q", got, name)
		}
		ids = append(ids, id)
		if kind == "herbs" {
			if _, got := own(); got != name {
				t.Errorf("a limited caller is told of %q, want %q", got, name)
			}
		}
	}
	if _, got := folder(); got != "m2/omp/herbs.jsonl" {
		t.Errorf("a caller of one folder is told of %q", got)
	}
	again := events(t, s.URL+"/logs/events", ids[2])
	for i := 3; i < 6; i++ {
		if id, _ := again(); id != ids[i] {
			t.Errorf("goes on with %s, want %s", id, ids[i])
		}
	}
	for _, unknown := range []string{"other-3", "epoch-99999", "nonsense", "epoch-"} {
		if id, name := events(t, s.URL+"/logs/events", unknown)(); name != "" || id != ids[5] {
			t.Errorf("after %q: %s %q", unknown, id, name)
		}
	}
	// There are more events than are kept, so anything may have changed.
	for range 10_000 {
		b.Put("m0/omp/herbs.jsonl", nil)
	}
	if _, name := events(t, s.URL+"/logs/events", ids[0])(); name != "" {
		t.Errorf("after too many: %q", name)
	}
}

// A body that comes too slowly, or claims to be too large, is refused, and nothing is written.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	b := memory.New()
	s := start(t, logs.Options{Backend: b, Patience: 100 * time.Millisecond}, nil)
	for name, tc := range map[string]struct{ head, want string }{
		"stops":   {"Content-Length: 100\r\n\r\n{}\n", ""},
		"chunked": {"Transfer-Encoding: chunked\r\n\r\n3\r\n{}\n\r\n", ""},
		"large":   {"Content-Length: 99999999999999\r\n\r\n{}\n", "413"},
		"zstd":    {"Content-Encoding: zstd\r\nContent-Length: 100\r\n\r\n(\xb5/\xfd", ""},
	} {
		for _, op := range []string{"create", "overwrite"} {
			c, err := net.Dial("tcp", s.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(c, "POST /logs/%s?name=a/b/%s.jsonl HTTP/1.1\r\nHost: x\r\n%s", op, name, tc.head)
			began := time.Now()
			answer, _ := io.ReadAll(c) // until the server closes the connection
			if took := time.Since(began); took > 15*time.Second || !strings.Contains(string(answer), tc.want) {
				t.Errorf("%s %s: after %v %q", op, name, took, answer)
			}
			c.Close()
		}
	}
	for at := range b.List(t.Context(), "") {
		t.Errorf("%s was written", at.Name)
	}
}

// A body whose connection is lost is not written, even if it is compressed and was cut between two frames.
func TestCutBody(t *testing.T) {
	t.Parallel()
	b := memory.New()
	s := start(t, logs.Options{Backend: b}, nil)
	frame := protocol.Pack(nil, []byte("{}\n"))
	for name, body := range map[string]string{
		"plain":  "Transfer-Encoding: chunked\r\n\r\n3\r\n{}\n\r\n",
		"packed": fmt.Sprintf("Content-Encoding: zstd\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(frame), frame),
		"length": fmt.Sprintf("Content-Encoding: zstd\r\nContent-Length: 100\r\n\r\n%s", frame),
	} {
		for _, op := range []string{"create", "overwrite"} {
			c, err := net.Dial("tcp", s.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(c, "POST /logs/%s?name=a/b/%s-%s.jsonl HTTP/1.1\r\nHost: x\r\n%s", op, name, op, body)
			if err := c.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if answer, _ := io.ReadAll(c); !strings.Contains(string(answer), "400") {
				t.Errorf("%s %s: %q; want status 400", op, name, answer)
			}
			c.Close()
		}
	}
	for at := range b.List(t.Context(), "") {
		t.Errorf("%s was written", at.Name)
	}
}

// slow takes a while for each long record, and counts how many it had at the same time.
type slow struct {
	*memory.Backend
	now, most atomic.Int64
}

func (s *slow) CreateFrom(ctx context.Context, name string, records iter.Seq2[[]byte, error]) (backend.Log, error) {
	return backend.CreateFrom(ctx, s.Backend, name, func(yield func([]byte, error) bool) {
		for r, err := range records {
			if len(r) > 1<<20 {
				if n := s.now.Add(1); n > s.most.Load() {
					s.most.Store(n)
				}
				time.Sleep(50 * time.Millisecond)
				s.now.Add(-1)
			}
			if !yield(r, err) {
				return
			}
		}
	})
}

// Few long lines are in memory at the same time, however many callers send one.
func TestLongLines(t *testing.T) {
	t.Parallel()
	b := &slow{Backend: memory.New()}
	s := start(t, logs.Options{Backend: b}, nil)
	const callers = 6
	var all sync.WaitGroup
	want := map[string]string{}
	for n := range callers {
		name := fmt.Sprintf("a/b/%d.jsonl", n)
		text := strconv.Quote(strings.Repeat("x", 3<<20+n)) + "\n{}\n" + strconv.Quote(strings.Repeat("y", 64<<10-4+n)) + "\n{}\n"
		want[name] = text
		all.Go(func() {
			if status, body := ask(t, "POST", s.URL+"/logs/create?name="+name, text); status != 200 {
				t.Errorf("%s: %d %.100s; want the status 200", name, status, body)
			}
		})
	}
	all.Wait()
	for name, text := range want {
		if status, body := ask(t, "GET", s.URL+"/logs/content?name="+name, ""); status != 200 || body != text {
			t.Errorf("%s: %d, %d bytes; want the %d bytes that were sent", name, status, len(body), len(text))
		}
	}
	for _, text := range []string{`"` + strings.Repeat("x", 70<<10), `"` + strings.Repeat("x", 2<<20)} {
		if status, body := ask(t, "POST", s.URL+"/logs/create?name=a/b/cut.jsonl", "{}\n"+text); status == 200 || !strings.Contains(body, "newline") {
			t.Errorf("%d %.100s; want that the last line has no newline", status, body)
		}
	}
	if most := b.most.Load(); most > 2 {
		t.Errorf("%d lines at the same time, want at most 2", most)
	}
}

// A write goes to the backend that Writing returns for its writer.
func TestWriter(t *testing.T) {
	t.Parallel()
	b := memory.New()
	var writers []string
	s := start(t, logs.Options{Backend: b, Writing: func(writer backend.Writer) (backend.Backend, error) {
		writers = append(writers, writer.Name)
		return b, nil
	}}, nil)
	ask(t, "POST", s.URL+"/logs/create?name=a/b/c.jsonl", "{}\n")
	ask(t, "GET", s.URL+"/logs/stat?name=a/b/c.jsonl", "")
	ask(t, "PUT", s.URL+"/blobs/"+blob.Sum([]byte("x")).String()+"?log=a/b/c.jsonl", "x")
	if !slices.Equal(writers, []string{"me", "me"}) {
		t.Errorf("writers are %q", writers)
	}
}

// Operations that need an optional interface of the backend are refused without it; the others work.
func TestPlainBackend(t *testing.T) {
	t.Parallel()
	b := memory.New()
	b.Put("m/omp/a.jsonl", []byte("{}\n"))
	s := start(t, logs.Options{Backend: struct{ backend.Backend }{b}}, nil)
	for path, want := range map[string]int{
		"/logs": 200, "/logs/folders": 200, "/logs/stat?name=m/omp/a.jsonl": 200, "/logs/content?name=m/omp/a.jsonl&from=1&hold=true": 200,
		"/logs?marks=true": 501, "/logs/identity": 501, "/logs/events": 501, "/blobs/" + blob.Sum(nil).String() + "?log=m/omp/a.jsonl": 501,
	} {
		if status, body := ask(t, "GET", s.URL+path, ""); status != want {
			t.Errorf("%s: %d %s; want status == %v", path, status, body, want)
		}
	}
	if status, _ := ask(t, "POST", s.URL+"/logs/overwrite?name=m/omp/b.jsonl", "{}\n"); status != 501 {
		t.Errorf("overwrite: %d", status)
	}
}

// Bodies and answers may be compressed.
func TestPacked(t *testing.T) {
	t.Parallel()
	b := memory.New()
	s := start(t, logs.Options{Backend: b}, nil)
	want := strings.Repeat("{\"herbs\":1}\n", 100_000)
	for _, c := range []struct {
		method, path string
		body         io.Reader
	}{
		{"POST", "/logs/create?name=m/omp/a.jsonl", protocol.NewPacking(strings.NewReader(want))},
		{"GET", "/logs/content?name=m/omp/a.jsonl", nil},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, s.URL+c.path, c.body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept-Encoding", "zstd")
		if c.body != nil {
			req.Header.Set("Content-Encoding", "zstd")
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		r, err := protocol.Unpack(res.Header.Get("Content-Encoding"), res.Body)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || res.StatusCode != 200 {
			t.Fatalf("%s: %d %.200s, %v; want no error, res.StatusCode == 200", c.path, res.StatusCode, got, err)
		}
		if c.method == "GET" && (string(got) != want || res.Header.Get("Content-Encoding") != "zstd") {
			t.Errorf("%d bytes, packed with %q", len(got), res.Header.Get("Content-Encoding"))
		}
	}
}

// reads counts how often a log is read.
type reads struct {
	*memory.Backend
	count atomic.Int64
}

func (b *reads) Read(ctx context.Context, at backend.Log, offset int64) iter.Seq2[backend.Record, error] {
	b.count.Add(1)
	return b.Backend.Read(ctx, at, offset)
}

// Many references are one question: a log that consists of one record is read once for all of them.
func TestMissingReadsOnce(t *testing.T) {
	t.Parallel()
	b := &reads{Backend: memory.New()}
	there, other := blob.Sum([]byte("there")), blob.Sum([]byte("other"))
	if _, err := b.Blobs("a/b/c.json").Put(t.Context(), []byte("there")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Create(t.Context(), "a/b/c.json", []byte(`{"x":"`+there.String()+`"}`)); err != nil {
		t.Fatal(err)
	}
	s := start(t, logs.Options{Backend: b}, func(_ context.Context, _ backend.Log, write bool, _ []byte) error {
		if write {
			return backend.ErrForbidden
		}
		return nil
	})
	question := there.String() + "\n"
	for n := range 50 {
		question += blob.Sum([]byte{byte(n)}).String() + "\n"
	}
	code, got := ask(t, http.MethodPost, s.URL+protocol.Logs+"/missing?log=a/b/c.json", question+other.String()+"\n")
	if code != http.StatusOK || strings.Contains(got, there.String()) || strings.Count(got, blob.Prefix) != 51 {
		t.Errorf("%d, %s; want all references but the first", code, got)
	}
	if n := b.count.Load(); n != 1 {
		t.Errorf("the log was read %d times", n)
	}
}

// lostBlobs has blobs that cannot be read to their end.
type lostBlobs struct{ *memory.Backend }

func (b lostBlobs) Blobs(log string) blob.Store { return failingBlob{b.Backend.Blobs(log)} }

// failingBlob returns one piece of a blob, and then an error.
type failingBlob struct{ blob.Store }

func (failingBlob) Open(context.Context, blob.Ref) (io.ReadCloser, error) {
	return io.NopCloser(io.MultiReader(strings.NewReader("the beginning"), iotest.ErrReader(io.ErrUnexpectedEOF))), nil
}

// A blob that cannot be read to its end results in an error, not in a short blob.
func TestLostBlob(t *testing.T) {
	t.Parallel()
	ref := blob.Sum([]byte("x"))
	b := memory.New()
	b.Put("a/b/c.jsonl", []byte(`{"x":"`+ref.String()+"\"}\n"))
	s := start(t, logs.Options{Backend: lostBlobs{b}}, nil)
	if code, got := ask(t, "GET", s.URL+protocol.Blobs+"/"+ref.String()+"?log=a/b/c.jsonl", ""); code != http.StatusInternalServerError {
		t.Errorf("%d %q; want status 500", code, got)
	}
}
