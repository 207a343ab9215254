package postgres_test

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/access"
	"github.com/treeline-dev/treeline/backend"
	store "github.com/treeline-dev/treeline/backend/postgres"
	server "github.com/treeline-dev/treeline/backend/remote"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/postgres"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/index/remote"
	"github.com/treeline-dev/treeline/index/remote/protocol"
	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/place"
	face "github.com/treeline-dev/treeline/server"
	"github.com/treeline-dev/treeline/wire"
)

// box is a server in front of a database.
type box struct {
	*httptest.Server
	drivers []backend.Driver

	mu    sync.Mutex
	asked map[string]int // requests by path
}

// newBox serves the archive in a database, with these indexes. change may change the options.
func newBox(t *testing.T, url string, indexes []index.Driver, change ...func(*face.Options)) *box {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	home := t.TempDir()
	s, err := treeline.New(treeline.Options{
		Home: home, WorkDir: home, Getenv: func(string) string { return "" }, NoBreadcrumbs: true,
		Backends: []backend.Driver{store.Driver(store.Options{})}, Indexes: indexes, Roots: []string{url},
	})
	must(err)
	archive, err := store.Open(url, store.Options{}, backend.OpenOptions{})
	must(err)
	opt := face.Options{Store: s, Archive: archive, Host: "127.0.0.1", Token: "a token of the tests", Home: home, Version: wire.Version{Version: "test"}}
	for _, f := range change {
		f(&opt)
	}
	h, err := face.New(opt)
	must(err)
	b := &box{asked: map[string]int{}}
	b.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		b.asked[r.URL.Path]++
		b.mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	b.Config.ErrorLog = log.New(io.Discard, "", 0)
	b.StartTLS()
	t.Cleanup(func() {
		b.CloseClientConnections()
		b.Server.Close()
		for _, c := range []io.Closer{h, archive, s} {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	roots := x509.NewCertPool()
	roots.AddCert(b.Certificate())
	b.drivers = server.Drivers(server.Options{Roots: roots, Token: func(string) (string, error) { return opt.Token, nil }})
	return b
}

// index returns the index of the server.
func (b *box) index(t *testing.T) index.Shared {
	t.Helper()
	x, err := remote.Drivers(b.drivers)[0].Open(b.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

// count returns how many requests came since the last call.
func (b *box) count(path string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.asked["/api/v1"+path]
	b.asked["/api/v1"+path] = 0
	return n
}

func indexes() []index.Driver { return []index.Driver{postgres.Driver()} }

// behind returns the archive as a client of a server sees it.
func (a *archive) behind(b *box) *archive {
	opt := world.Options(a.TempDir(), nil)
	opt.Drivers, opt.Roots = b.drivers, []string{b.URL}
	m := place.New(opt)
	a.Cleanup(func() { m.Close() })
	return &archive{T: a.T, url: b.URL, m: m, b: a.b, now: a.now}
}

// Over a server the index returns what an index of this machine returns, and lists do not read logs. A server without an index is read as
// before.
func TestSameRemote(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "sameremote")
	home := t.TempDir()
	_, err := gen.Machine(home, 3)
	a.must(err)
	a.must(gen.Tree(filepath.Join(home, ".omp/agent"), gen.TreeOptions{Seed: 4, Sessions: 4}))
	a.push("one-00000001", home)
	texts := a.phrases()
	b, plain := newBox(t, a.url, indexes()), newBox(t, a.url, nil)
	c, d := a.behind(b), a.behind(plain)
	shared, local := find.NewShared(c.m, b.index(t), c.clock), c.local()
	for _, by := range place.Orders {
		c.pages(shared, by, place.Filter{}, 7)
	}
	if n, read := b.count("/index/select"), b.count("/logs/content")+b.count("/logs"); n == 0 || read != 0 {
		t.Errorf("lists took %d pages of the index and %d requests about logs", n, read)
	}
	c.sameRows(local, shared, 0)
	c.sameRows(local, shared, 3)
	for _, opt := range []find.Options{{}, {Limit: 3}, {Rank: true}, {Case: true}, {Source: "claude"}} {
		for i := range soaktest.Part(4, 1) {
			word, _, _ := strings.Cut(texts[i*len(texts)/4], " ")
			c.sameHits(local, shared, word, opt)
		}
	}
	c.sameHits(local, shared, `"`+texts[0]+`"`, find.Options{})
	c.sameHits(local, shared, texts[0][1:4], find.Options{})
	c.sameHits(local, shared, `[A-Z][a-z]+Error\b`, find.Options{Regexp: true, Limit: 5})
	c.sameHits(local, shared, "nosuchwordanywhere", find.Options{})
	if c.found < soaktest.Part(50, 15) {
		t.Errorf("only %d hits were compared", c.found)
	}
	// A store opens it by the scheme of its root.
	s, err := treeline.New(treeline.Options{Home: home, WorkDir: home, Getenv: func(string) string { return "" }, NoBreadcrumbs: true,
		Backends: b.drivers, Indexes: remote.Drivers(b.drivers), Roots: []string{b.URL}, ReadOnly: true})
	a.must(err)
	defer s.Close()
	b.count("/index/select")
	if p, err := s.Page(t.Context(), treeline.Filter{}, treeline.PageOptions{Limit: 3}); err != nil || len(p.Rows) != 3 || b.count("/index/select") == 0 {
		t.Errorf("a store lists %d sessions without the index of the server, %v", len(p.Rows), err)
	}
	none := find.NewShared(d.m, plain.index(t), d.clock)
	if d.sameRows(d.local(), none, 0); none.Paged() {
		t.Error("a server without an index is asked for pages")
	}
	d.sameHits(d.local(), none, texts[0], find.Options{})
}

// The server sends nothing of a project that the token does not cover.
func TestLimitedRemote(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "limitedremote")
	for i := range 40 {
		project := []string{"garden", "vault", "vault", "vault"}[i%4]
		text := fmt.Sprintf(`{"type":"session","version":3,"id":"%[1]s-%[2]d","timestamp":"2026-02-16T10:00:%02[2]d.000Z","cwd":"/%[1]s","parentSession":"vault-%[2]d"}`+"\n"+
			`{"type":"message","id":"m1","parentId":null,"timestamp":"2026-02-16T10:00:%02[2]d.000Z","message":{"role":"assistant","model":"%[1]s-model","provider":"x","content":[{"type":"text","text":"tomatoes"}]}}`+"\n", project, i)
		run := fmt.Sprintf(`{"type":"header","schema_version":1,"run_id":"7f1d7b7a-0000-4000-8000-0000000000%02d","session_id":"x","started_at":"2026-02-03T12:34:%02[1]d.000Z","runtime":{"cwd":"/%[2]s"}}`+"\n"+
			`{"type":"run.start","run_id":"x","ts":"2026-02-03T12:35:00.000Z","input":{"type":"text","text":"tomatoes"}}`+"\n", i, project)
		for name, text := range map[string]string{
			fmt.Sprintf("%s-00000001/omp/-p/%d.jsonl", project, i):                                                 text,
			fmt.Sprintf("%s-00000001/codelia/2026/02/03/7f1d7b7a-0000-4000-8000-0000000000%02d.jsonl", project, i): run,
		} {
			_, err := a.b.(backend.Mirror).Overwrite(t.Context(), backend.Log{Name: name}, "", strings.NewReader(text))
			a.must(err)
		}
	}
	book := &access.Memory{}
	secret := "treeline_" + strings.Repeat("a", 40)
	a.must(book.Add(t.Context(), access.Grant{Name: "ann", User: "ann", Projects: []string{"/garden"}, Created: a.now}, access.KeysOf(secret)))
	b := newBox(t, a.url, indexes(), func(o *face.Options) { o.Access, o.Token, o.Clock = book, "", a.clock })
	ask := func(path string, question any) (answer []byte) {
		t.Helper()
		method, body := "GET", []byte(nil)
		if question != nil {
			method = "POST"
			var err error
			body, err = json.Marshal(question)
			a.must(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), method, b.URL+"/api/v1"+path, bytes.NewReader(body))
		a.must(err)
		req.Header.Set("Authorization", "Bearer "+secret)
		req.Header.Set("Content-Type", "application/json")
		res, err := b.Client().Do(req)
		a.must(err)
		defer res.Body.Close()
		answer, err = io.ReadAll(res.Body)
		if a.must(err); res.StatusCode != 200 {
			t.Fatalf("%s: %d %s; want res.StatusCode == 200", path, res.StatusCode, answer)
		}
		return answer
	}
	clean := func(what string, said []byte) {
		t.Helper()
		if bytes.Contains(said, []byte("vault")) || bytes.Contains(said, []byte("postgres:")) {
			t.Errorf("%s tells of another project: %s", what, said)
		}
	}
	ask("/index", nil)
	for of, want := range map[index.Value]string{index.ValueModel: `["x/garden-model"]`, index.ValueCWD: `["/garden"]`} {
		for _, cwds := range [][]string{nil, {"/garden", "/vault", "/none"}} {
			if got := bytes.TrimSpace(ask("/index/values", protocol.Values{Of: of, CWDs: cwds})); string(got) != want {
				t.Errorf("%s in %q: %s", of, cwds, got)
			}
		}
		if got := bytes.TrimSpace(ask("/index/values", protocol.Values{Of: of, CWDs: []string{"/vault"}})); string(got) != "[]" {
			t.Errorf("%s of another project: %s", of, got)
		}
	}
	for _, c := range []struct {
		sel  index.Selection
		want int
	}{
		{index.Selection{IDs: []string{"garden-0", "vault-1"}}, 1},
		{index.Selection{Names: []string{"garden-00000001/omp/-p/4.jsonl", "vault-00000001/omp/-p/5.jsonl"}}, 1},
		{index.Selection{Files: []string{"0.jsonl", "1.jsonl"}}, 1},
		{index.Selection{Parents: []string{"vault-0", "vault-4"}}, 0}, // the parents are hidden
	} {
		var page protocol.Page
		a.must(json.Unmarshal(ask("/index/select", protocol.Question{Selection: c.sel}), &page))
		if len(page.Logs) != c.want || page.Next != "" {
			t.Errorf("%+v: %d logs, want %d", c.sel, len(page.Logs), c.want)
		}
	}
	q, err := query.Parse("tomatoes", query.Options{})
	a.must(err)
	form := q.Form()
	for _, path := range []string{"/index/select", "/index/search"} {
		for _, runs := range []bool{false, true} {
			for _, cwds := range [][]string{nil, {"/garden"}, {"/vault"}} {
				n, sel := 0, index.Selection{Runs: runs, CWDs: cwds, Limit: 3}
				if path == "/index/search" {
					sel.Order = index.OrderUsed
				}
				for {
					var page protocol.Page
					a.must(json.Unmarshal(ask(path, protocol.Question{Selection: sel, Query: &form}), &page))
					for _, l := range page.Logs {
						n++
						f, err := l.Found()
						a.must(err)
						clean(path, append([]byte(l.Source), index.EncodeLog(&f.Log)...))
					}
					next, err := protocol.ReadCursor(page.Next, sel.Order)
					a.must(err)
					if next == nil {
						break
					}
					clean(path, []byte(next.Name))
					sel.After = next
				}
				want := 10
				if cwds != nil && cwds[0] == "/vault" {
					want = 0
				}
				if n != want {
					t.Errorf("%s of runs: %v in %q: %d logs, want %d", path, runs, cwds, n, want)
				}
			}
		}
	}
	var n protocol.Counts
	a.must(json.Unmarshal(ask("/index/count", protocol.Question{Selection: index.Selection{Limit: 4}}), &n))
	if n.Logs != 4 {
		t.Errorf("counted %d logs, not 4", n.Logs)
	}
	a.must(json.Unmarshal(ask("/index/count", protocol.Question{Query: &form}), &n))
	if n.Logs != 10 || n.Chunks != 0 || len(n.With) != 1 || n.With[0] != 0 {
		t.Errorf("counts: %+v", n)
	}
	if said := ask("/index/ids", protocol.Place{Source: "vault-00000001/omp", Name: "-p/1.jsonl", Chunks: 9}); string(bytes.TrimSpace(said)) != "[]" {
		t.Errorf("ids: %s", said)
	}
}

// A malformed question is refused as such, and never reaches the database.
func TestHostileQuestions(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "questions")
	b := newBox(t, a.url, indexes())
	for _, c := range []struct {
		path, body string
		want       int
	}{
		{"select", `{}`, 200},
		{"select", `{"selection":{"Dialects":["' or 1=1 --"],"Sources":["%"],"CWDs":["\u0000"],"Like":["$1"],"Models":["'"]}}`, 200},
		{"select", `{"selection":{"Limit":-5,"Order":"nothing"}}`, 200},
		{"search", `{"query":{"Text":"' or 1=1 --"}}`, 200},
		{"count", `{"query":{"Text":"a b"}}`, 200},
		{"ids", `{"source":"a/b","name":"c","chunks":-1}`, 200},
		{"select", `{"selection":{"IDs":["\u0000"],"Names":["../x","'"],"Files":["%"],"Parents":["\u0000"]}}`, 200},
		{"values", `{"of":"cwd","cwds":["\u0000","' or 1=1 --"]}`, 200},
		{"values", `{"of":"password"}`, 400},
		{"select", ``, 400},
		{"select", `[]`, 400},
		{"select", `{"selection":{"Below":"../x"}}`, 400},
		{"select", `{"selection":{"Dialects":["\u0000"]}}`, 400},
		{"select", `{"selection":{"Sources":["a","\u0000"]}}`, 400},
		{"select", `{"selection":{"Prefixes":["a"` + strings.Repeat(`,"\u0000'"`, index.MostPrefixes-1) + `]}}`, 200},
		{"select", `{"selection":{"Prefixes":["a"` + strings.Repeat(`,"a"`, index.MostPrefixes) + `]}}`, 400},
		{"select", `{"selection":{"Prefixes":["a"` + strings.Repeat(`,"a"`, 40_000) + `]}}`, 400},
		{"select", `{"selection":{"After":{"Key":"text"}}}`, 400},
		{"select", `{"selection":{"After":{"Key":1e999}}}`, 400},
		{"select", `{"selection":{"After":{"Key":1,"Name":"\u0000"}}}`, 400},
		{"search", `{}`, 400},
		{"search", `{"query":{"Text":""}}`, 400},
		{"search", `{"query":{"Text":"(","Options":{"Regexp":true}}}`, 400},
		{"search", `{"query":{"Text":"\"a\"","Substrings":true}}`, 400},
		{"search", `{"query":{"Text":"` + strings.Repeat("a", 70_000) + `"}}`, 400},
		{"ids", `{"source":"..","name":"x"}`, 400},
		{"select", `{"selection":{"Below":"` + strings.Repeat("a", 2<<20) + `"}}`, 413},
	} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", b.URL+"/api/v1/index/"+c.path, strings.NewReader(c.body))
		a.must(err)
		req.Header.Set("Authorization", "Bearer a token of the tests")
		req.Header.Set("Content-Type", "application/json")
		res, err := b.Client().Do(req)
		a.must(err)
		said, err := io.ReadAll(res.Body)
		res.Body.Close()
		if a.must(err); res.StatusCode != c.want {
			t.Errorf("%s %.80s: %d, want %d: %.200s", c.path, c.body, res.StatusCode, c.want, said)
		}
	}
}
