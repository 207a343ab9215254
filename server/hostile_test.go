package server_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/treeline-dev/treeline/server"
)

// Every session has a key that leads to it, whatever its id is, and no id is the key of another session.
func TestOddIDs(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	first, second := garden+"same.jsonl", ".omp/agent/sessions/--copy--/same.jsonl"
	m.put(first, head("same")+said("s1", "", "user", "the first"))
	m.put(second, head("same")+said("s1", "", "user", "the second"))
	real, err := filepath.EvalSymlinks(m.at(first))
	m.must(err)
	sum := sha256.Sum256([]byte(real))
	ids := []string{
		"..", ".", "../../../etc/passwd", "a/b", `a\b`, "a b", "%2e%2e", "a?b#c", "x\"'><script>alert(1)</script>", "\u202e\u2028", "-", strings.Repeat("i", 500_000),
		"same@" + hex.EncodeToString(sum[:4]), "same@", "@", "@" + hex.EncodeToString(sum[:4]),
	}
	for i, id := range ids {
		m.put(fmt.Sprintf("%sodd%d.jsonl", garden, i), head(id)+said("o1", "", "user", fmt.Sprint("odd ", i)))
	}
	list := answer[struct {
		Sessions []struct{ Key, ID, Path string }
	}](m, m.get("/api/v1/sessions?limit=100"))
	seen := map[string]bool{}
	for _, s := range list.Sessions {
		if seen[s.Key] {
			t.Errorf("the key %q is there twice", s.Key)
		}
		seen[s.Key] = true
		if w := m.ask("GET", "/s/"+url.PathEscape(s.Key), ""); w.Code != 200 {
			t.Errorf("the page of %.80q: %d", s.Key, w.Code)
		}
		if j := answer[struct{ Path string }](m, m.get("/api/v1/sessions/"+url.PathEscape(s.Key))); j.Path != s.Path {
			t.Errorf("%.80q is %s, want %s", s.Key, j.Path, s.Path)
		}
	}
	if len(seen) != len(ids)+4 {
		t.Errorf("%d sessions", len(seen))
	}
	if text := m.get("/"); len(text) > 100_000 {
		t.Errorf("the list has %d bytes", len(text))
	}
}

// A page stays small however long the ids of entries are, and has no links that cannot be answered.
func TestLongEntryIDs(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	log, parent := head("long"), ""
	for i := range 12 {
		id := strings.Repeat("e", 200_000) + fmt.Sprint(i)
		log += said(id, parent, "user", fmt.Sprint("entry ", i)) + said(id+"x", parent, "user", "beside it")
		parent = id
	}
	m.put(garden+"long.jsonl", log+said("..", parent, "user", "a folder"))
	m.put(garden+"title.jsonl", head("title")+said("t1", "", "user", strings.Repeat("A long title ", 100_000)))
	if text := m.get("/s/title"); len(text) > 100<<10 {
		t.Errorf("a long title makes a page of %d bytes", len(text))
	}
	for _, mode := range []string{"", "?mode=focused", "?mode=model", "?mode=changes"} {
		text := m.get("/s/long" + mode)
		if len(text) > 300<<10 {
			t.Errorf("%q has %d bytes", mode, len(text))
		}
		if strings.Contains(text, "/raw/..") {
			t.Errorf("%q has a link to a folder", mode)
		}
	}
}

// A client that must read anew gets no earlier events.
func TestReloadAlone(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	base := m.listen()
	all := m.hear(base+"/api/v1/events", "")
	for i := range 3 {
		m.add(garden+"beds.jsonl", said(fmt.Sprint("n", i), "b3", "user", "more"))
		all.next()
	}
	for _, id := range []string{"x", "other-1", "-1", strings.Split(all.last, "-")[0] + "-18446744073709551615"} {
		late := m.hear(base+"/api/v1/events", id)
		if e := late.next(); e[0] != all.last || e[1] != "reload" {
			t.Fatalf("%q: %v, want to reload at %s", id, e, all.last)
		}
		m.add(garden+"pond.jsonl", said("after"+url.PathEscape(id), "p1", "user", "after"))
		if e := late.next(); !strings.Contains(e[2], `"id":"after`) {
			t.Errorf("%q: %v; want strings.Contains(e[2], `\"id\":\"after`)", id, e)
		}
		late.stop()
		all.next()
	}
}

// A request that is not a valid write, or names something that does not exist, is refused with a status of its own.
func TestRefusals(t *testing.T) {
	t.Parallel()
	m := newMachine(t, writing)
	m.put(".wave/projects/-garden/w0.jsonl", `{"type":"metadata","sessionId":"w0","workdir":"/garden","startedAt":"2026-02-16T10:00:01.000Z"}`+"\n"+
		`{"role":"user","blocks":[{"type":"text","content":"hello"}],"timestamp":"2026-02-16T10:00:01.000Z","id":"m1"}`+"\n")
	s := "/api/v1/sessions/" + beds
	for _, c := range []struct {
		method, path, body string
		headers            []string
		want               int
	}{
		{"POST", s + "/trash", "", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415}, // a form
		{"POST", s + "/trash", "x", []string{"Content-Type", "text/plain"}, 415},
		{"GET", s + "/blobs/x", "", []string{"If-None-Match", "*"}, 404},
		{"POST", s + "/entries", `{"entry":{"type":"session","version":3,"id":"x"}}`, nil, 422},
		{"POST", s + "/entries", `{"entry":{}}`, nil, 422},
		{"POST", s + "/entries", `{"text":""}`, nil, 422},
		{"POST", s + "/entries", " ", nil, 400},
		{"POST", "/api/v1/sessions/w0/label", `{"entry":"m1","label":"x"}`, nil, 422}, // Wave has no labels
		{"GET", "//", "", nil, 404},
	} {
		if w := m.ask(c.method, "http://127.0.0.1:7331"+c.path, c.body, c.headers...); w.Code != c.want {
			t.Errorf("%s %s %s: %d %s, want %d", c.method, c.path, c.body, w.Code, w.Body, c.want)
		}
	}
}

// TestFull: everything but a stream of events counts as a request, even at a path that looks like one.
func TestFull(t *testing.T) {
	t.Parallel()
	m := newMachine(t, func(o *server.Options) { o.MaxRequests = -1 })
	for _, path := range []string{"/", "/s/events", "/api/v1/sessions/events", "/api/v1/sessions/" + beds + "/entries/events", "/none/events"} {
		if w := m.ask("GET", path, ""); w.Code != 503 {
			t.Errorf("%s: %d, want 503", path, w.Code)
		}
	}
}

// deaf is a client that is gone when its answer is written.
type deaf struct{ *httptest.ResponseRecorder }

func (deaf) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// TestGone: a client that has gone away is no failure of the server, and is not logged as one.
func TestGone(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for _, path := range []string{"/", "/s/" + beds, "/api/v1/sessions", "/api/v1/sessions/" + beds + "/tree", "/api/v1/sessions/" + beds + "/context"} {
		r := httptest.NewRequest("GET", path, nil)
		r.Host = "127.0.0.1:7331"
		func() {
			defer func() {
				if p := recover(); p != http.ErrAbortHandler {
					t.Errorf("%s: panic %v", path, p)
				}
			}()
			m.ServeHTTP(deaf{httptest.NewRecorder()}, r)
		}()
	}
	if logged := m.logs.String(); strings.Contains(logged, "level=ERROR") {
		t.Errorf("logged: %s", logged)
	}
}

// Without a token, clients on other machines are let in only through a proxy, and Unguarded reports this. Tokens that can be guessed, and
// paths that do not fit, are refused.
func TestPlaces(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for _, c := range []struct {
		opt  server.Options
		open bool
		err  string
	}{
		{server.Options{PublicURL: "https://box.example/lines"}, true, ""},
		{server.Options{PublicURL: "https://box.example/", BasePath: "/lines"}, true, ""},
		{server.Options{PublicURL: "https://box.example/lines/", BasePath: "/lines"}, true, ""},
		{server.Options{PublicURL: "https://box.example", Token: "short"}, false, ""},
		{server.Options{PublicURL: "http://localhost:8080"}, false, ""},
		{server.Options{}, false, ""},
		{server.Options{PublicURL: "https://box.example/a", BasePath: "/b"}, false, "is not the base path"},
		{server.Options{BasePath: "/a\nb"}, false, "base path"},
		{server.Options{BasePath: "/caf\u00e9"}, false, "base path"},
		{server.Options{Host: "0.0.0.0", Token: "short"}, false, server.ErrShortToken.Error()},
	} {
		c.opt.Store = m.store
		if c.opt.Host == "" {
			c.opt.Host = "127.0.0.1"
		}
		s, err := server.New(c.opt)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q %q: %v, want %q", c.opt.PublicURL, c.opt.BasePath, err, c.err)
			}
			continue
		}
		m.must(err)
		if s.Unguarded() != c.open {
			t.Errorf("%q: unguarded is %t", c.opt.PublicURL, s.Unguarded())
		}
		m.must(s.Close())
	}
}
