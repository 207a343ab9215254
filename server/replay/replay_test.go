package replay

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/runs"
)

const header = `{"type":"header","schema_version":1,"run_id":"9a7c1c5d-0e6b-4b7a-8f1d-7b7a7e8f4e0f","started_at":"2026-05-04T08:15:00.000Z"}
`

const exchange = `{"type":"llm.request","run_id":"9a7c1c5d-0e6b-4b7a-8f1d-7b7a7e8f4e0f","ts":"2026-05-04T08:15:00.200Z","seq":1,"input":{"messages":[{"role":"user","content":"Hello."}]}}
{"type":"llm.response","run_id":"9a7c1c5d-0e6b-4b7a-8f1d-7b7a7e8f4e0f","ts":"2026-05-04T08:15:01.200Z","seq":1,"output":{"messages":[{"role":"assistant","content":"Good day."}],"stop_reason":"end_turn"}}
`

func openRun(t *testing.T, log string) *runs.Run {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.jsonl")
	if err := os.WriteFile(path, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := treeline.New(treeline.Options{Home: t.TempDir(), Getenv: func(string) string { return "" }, ReadOnly: true, NoBreadcrumbs: true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.OpenRun(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// A recorded response is sent once, whatever the request is; the difference is reported.
func TestPlayer(t *testing.T) {
	t.Parallel()
	var told []Served
	p, err := New(openRun(t, header+exchange).Log, func(s Served) { told = append(told, s) })
	if err != nil {
		t.Fatal(err)
	}
	ask := func(body string) (status int, answer, differs string) {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/chat/completions", strings.NewReader(body))
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		b, err := io.ReadAll(w.Result().Body)
		if err != nil {
			t.Fatal(err)
		}
		return w.Code, string(b), w.Header().Get("X-Treeline-Difference")
	}
	if status, answer, _ := ask(`[]`); status != http.StatusBadRequest {
		t.Errorf("%d %s; want status == http.StatusBadRequest", status, answer)
	}
	status, answer, differs := ask(`{"messages":[{"role":"user","content":"Bye."}]}`)
	if status != http.StatusOK || !strings.Contains(answer, "Good day.") || differs != "/messages/0/content" {
		t.Errorf("%d %s, differs at %q", status, answer, differs)
	}
	if status, answer, _ := ask(`{"messages":[]}`); status != http.StatusGone {
		t.Errorf("%d %s; want status == http.StatusGone", status, answer)
	}
	select {
	case <-p.done:
	default:
		t.Error("it is not done")
	}
	var seqs []int64
	for _, s := range told {
		seqs = append(seqs, s.Seq)
	}
	if diff := difftest.Diff([]int64{1}, seqs); diff != "" {
		t.Error(diff)
	}
}

func TestEmpty(t *testing.T) {
	t.Parallel()
	if _, err := New(openRun(t, header).Log, nil); !errors.Is(err, ErrEmpty) {
		t.Error(err)
	}
}

func TestLoopback(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"localhost:80": "127.0.0.1:80", "127.0.0.1:0": "127.0.0.1:0", "[::1]:8080": "[::1]:8080",
		"localhost": "", "example.org:80": "", "0.0.0.0:80": "", "127.0.0.1:x": "", "127.0.0.1:70000": "", ":80": "",
	} {
		if got, err := Loopback(addr); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v; want got == %v, (err == nil) == %v", addr, got, err, want, (want != ""))
		}
	}
}

// TestOrigin: pages of other machines are refused, and use up no responses.
func TestOrigin(t *testing.T) {
	t.Parallel()
	p, err := New(openRun(t, header+exchange).Log, func(Served) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		origin string
		status int
	}{
		{"https://example.org", http.StatusForbidden}, {"null", http.StatusForbidden}, {"http://localhost.example.org", http.StatusForbidden},
		{"http://%", http.StatusForbidden}, {"file://", http.StatusForbidden}, {"http://LOCALHOST:3000", http.StatusOK}, {"http://[::1]:1", http.StatusGone},
	} {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/chat/completions", strings.NewReader(`{"messages":[]}`))
		r.Header.Set("Origin", c.origin)
		w := httptest.NewRecorder()
		if p.ServeHTTP(w, r); w.Code != c.status {
			t.Errorf("%s: %d, want %d", c.origin, w.Code, c.status)
		}
	}
}

// stuck is a client that reads nothing until it is released.
type stuck struct {
	*httptest.ResponseRecorder
	begun, release chan struct{}
}

func (s stuck) Write(b []byte) (int, error) {
	close(s.begun)
	<-s.release
	return s.ResponseRecorder.Write(b)
}

// TestSlowClient: a client that does not read delays no other one, and the replay ends once that client has its response.
func TestSlowClient(t *testing.T) {
	t.Parallel()
	p, err := New(openRun(t, header+exchange+strings.ReplaceAll(exchange, `"seq":1`, `"seq":2`)).Log, func(Served) {})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(w http.ResponseWriter) {
		p.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://localhost/chat/completions", strings.NewReader(`{"messages":[]}`)))
	}
	slow := stuck{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
	go ask(slow)
	<-slow.begun
	w := httptest.NewRecorder()
	if ask(w); w.Code != http.StatusOK || w.Header().Get("X-Treeline-Seq") != "2" {
		t.Errorf(`%d %v; want w.Code == http.StatusOK, w.Header().Get("X-Treeline-Seq") == "2"`, w.Code, w.Header())
	}
	select {
	case <-p.done:
		t.Error("it is done before the first response is written")
	default:
	}
	close(slow.release)
	<-p.done
}

// TestWriteTimeout: a client that never reads does not keep the replay from ending.
func TestWriteTimeout(t *testing.T) {
	t.Parallel()
	long := strings.ReplaceAll(exchange, "Good day.", strings.Repeat("Good day. ", 2<<20)) // more than the system buffers
	p, err := New(openRun(t, header+long).Log, func(Served) {})
	if err != nil {
		t.Fatal(err)
	}
	p.patience = 100 * time.Millisecond
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "POST /chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 15\r\n\r\n{\"messages\":[]}"); err != nil {
		t.Fatal(err)
	}
	if res, err := p.Serve(t.Context(), l); err != nil || res.Served != 1 {
		t.Errorf("%+v, %v; want no error, res.Served == 1", res, err)
	}
}
