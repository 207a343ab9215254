package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend/all"
	"github.com/treeline-dev/treeline/server"
	"github.com/treeline-dev/treeline/wire"
)

// machine is a home directory with sessions, and a server for them.
type machine struct {
	*testing.T
	home  string
	store *treeline.Store
	*server.Server
	logs *lines
}

// lines collects the lines of a log.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

const (
	garden = ".omp/agent/sessions/--garden--/"
	beds   = "0198a1b2-0000-7000-8000-000000000001"
	pond   = "0198a1b2-0000-7000-8000-000000000002"
	theRun = "8f1d7b7a-0000-4000-8000-000000000000"
	dot    = "\x89PNG\r\n\x1a\n picture"
)

func head(id string) string {
	return fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":"2026-02-16T10:00:00.000Z","cwd":"/garden"}`+"\n", id)
}

func said(id, parent, role, text string) string {
	p := "null"
	if parent != "" {
		p = fmt.Sprintf("%q", parent)
	}
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-02-16T10:00:01.000Z","message":{"role":%q,"content":[{"type":"text","text":%q}]}}`+"\n",
		id, p, role, text)
}

// newMachine returns a machine with two sessions and a run. change may change the options of the server.
func newMachine(t *testing.T, change ...func(*server.Options)) *machine {
	t.Helper()
	m := &machine{T: t, home: t.TempDir(), logs: &lines{}}
	m.put(garden+"beds.jsonl", head(beds)+said("b1", "", "user", "Where do the tomatoes go?")+said("b2", "b1", "assistant", "Beside the basil.")+
		said("b3", "b1", "assistant", "Into the greenhouse."))
	m.put(garden+"pond.jsonl", head(pond)+said("p1", "", "user", "Is the pond deep?"))
	m.put(".codelia/sessions/2026/02/03/"+theRun+".jsonl", fmt.Sprintf(
		`{"type":"header","schema_version":1,"run_id":%q,"session_id":"c0de0001","started_at":"2026-02-03T12:34:56.789Z","prompt":"dig"}`+"\n"+
			`{"type":"run.end","run_id":%q,"ts":"2026-02-03T12:35:00.000Z","outcome":"completed"}`+"\n", theRun, theRun))
	var err error
	m.store, err = treeline.New(treeline.Options{
		Backends: all.Drivers(), Home: m.home, WorkDir: m.home, Getenv: func(string) string { return "" }, NoBreadcrumbs: true,
	})
	m.must(err)
	m.start(change...)
	t.Cleanup(func() {
		m.must(m.Close())
		m.must(m.store.Close())
	})
	return m
}

// start starts a server for the machine.
func (m *machine) start(change ...func(*server.Options)) {
	m.Helper()
	opt := server.Options{
		Store: m.store, Archive: newArchive(), Host: "127.0.0.1", Home: m.home, Version: wire.Version{Version: "test"},
		Log: slog.New(slog.NewTextHandler(m.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, f := range change {
		f(&opt)
	}
	var err error
	m.Server, err = server.New(opt)
	m.must(err)
}

// optionsOf are the options of a server.
type optionsOf = server.Options

// frozen is a clock that stands still.
func frozen() time.Time { return time.Date(2026, 2, 16, 12, 0, 0, 0, time.UTC) }

func writing(opt *server.Options) { opt.Write = true }

func (m *machine) must(err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

func (m *machine) at(name string) string { return filepath.Join(m.home, filepath.FromSlash(name)) }

func (m *machine) put(name, content string) {
	m.Helper()
	m.must(os.MkdirAll(filepath.Dir(m.at(name)), 0o700))
	m.must(os.WriteFile(m.at(name), []byte(content), 0o600))
}

func (m *machine) add(name, content string) {
	m.Helper()
	f, err := os.OpenFile(m.at(name), os.O_WRONLY|os.O_APPEND, 0)
	m.must(err)
	_, err = f.WriteString(content)
	m.must(errors.Join(err, f.Close()))
}

// ask sends a request without a network. headers are pairs of name and value.
func (m *machine) ask(method, url, body string, headers ...string) *httptest.ResponseRecorder {
	m.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	r := httptest.NewRequest(method, url, in)
	r.Host = "127.0.0.1:7331"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	m.ServeHTTP(w, r)
	return w
}

// get returns an answer, which must have status 200.
func (m *machine) get(url string, headers ...string) string {
	m.Helper()
	w := m.ask("GET", url, "", headers...)
	if w.Code != 200 {
		m.Fatalf("GET %s: %d %s", url, w.Code, w.Body)
	}
	return w.Body.String()
}

// answer decodes JSON.
func answer[T any](m *machine, text string) (v T) {
	m.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		m.Fatalf("%v in %s", err, text)
	}
	return v
}

// listen serves the machine on a port of its own and returns the URL.
func (m *machine) listen() string {
	m.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	m.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Serve(ctx, l) }()
	m.Cleanup(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, http.ErrServerClosed) {
			m.Error(err)
		}
	})
	return "http://" + l.Addr().String()
}

// wait returns a deadline for what must happen soon.
func wait(t *testing.T) <-chan time.Time {
	t.Helper()
	return time.After(20 * time.Second)
}
