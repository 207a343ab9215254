package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/access"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/server"
)

// These belong to a second project, which the tokens of the tests do not cover. No answer may contain any of them.
const (
	vaulted   = "0198a1b2-0000-7000-8000-00000000000f"
	secretRun = "9f1d7b7a-0000-4000-8000-00000000000f"
	vaultDir  = ".omp/agent/sessions/--vault--/"
)

var secrets = []string{vaulted, secretRun, "vault", "combination", "s1", "gpt-vault"}

// team is a machine with two projects, and tokens for one of them or for all.
type team struct {
	*machine
	book   *access.Memory
	tokens map[string]string
	mu     sync.Mutex
	now    time.Time
	// hidden is a blob that only the session of the other project refers to; shown is one of ours.
	hidden, shown string
}

// clock returns the time of the server.
func (m *team) clock() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// later advances the clock. Streams may read the clock meanwhile.
func (m *team) later(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
}

func newTeam(t *testing.T, change ...func(*server.Options)) *team {
	t.Helper()
	m := &team{machine: newMachine(t), book: &access.Memory{}, tokens: map[string]string{}, now: frozen()}
	m.must(m.Close())
	m.hidden, m.shown = m.blob("a plan of the vault"), m.blob(dot)
	header := strings.ReplaceAll(head(vaulted), "/garden", "/vault")
	m.put(vaultDir+"shed.jsonl", header+said("s1", "", "user", "The combination is 1234 and the picture "+m.hidden)+
		strings.Replace(said("s2", "s1", "assistant", "The combination of tomatoes."), `"role":"assistant"`, `"role":"assistant","model":"gpt-vault"`, 1))
	m.add(garden+"beds.jsonl", said("b4", "b3", "user", "As in "+m.shown))
	m.put(garden+"torn-vault.jsonl", "no session of the vault\n")
	for id, cwd := range map[string]string{secretRun: "/vault", "7f1d7b7a-0000-4000-8000-00000000000f": "/garden"} {
		m.put(".codelia/sessions/2026/02/03/"+id+".jsonl", fmt.Sprintf(
			`{"type":"header","schema_version":1,"run_id":%q,"session_id":%q,"started_at":"2026-02-03T12:34:56.789Z","prompt":"tomatoes of %s","runtime":{"cwd":%q}}`+"\n"+
				`{"type":"run.start","run_id":%q,"ts":"2026-02-03T12:35:00.000Z","input":{"type":"text","text":"tomatoes of %s"}}`+"\n", id, beds, cwd, cwd, id, cwd))
	}
	m.grant(access.Grant{Name: "reader", User: "ann", Projects: []string{"/garden/**"}})
	m.grant(access.Grant{Name: "writer", User: "bob", Machine: "box", Write: true, Projects: []string{"/garden/**"}})
	m.grant(access.Grant{Name: "everything", User: "eve", Write: true})
	m.grant(access.Grant{Name: "looker", User: "lou"})
	m.grant(access.Grant{Name: "nothing", Projects: []string{"/elsewhere"}})
	m.start(append([]func(*server.Options){func(o *server.Options) {
		o.Access, o.Write, o.Clock = m.book, true, m.clock
	}}, change...)...)
	return m
}

// grant adds a token.
func (m *team) grant(g access.Grant) {
	m.Helper()
	token, err := access.NewToken(bytes.NewReader(bytes.Repeat([]byte(g.Name+"................................"), 1)))
	m.must(err)
	g.Created = m.now
	m.must(m.book.Add(m.Context(), g, access.KeysOf(token)))
	m.tokens[g.Name] = token
}

// as sends a request with a token.
func (m *team) as(token, method, url, body string, headers ...string) (int, string) {
	m.Helper()
	w := m.ask(method, url, body, append([]string{"Authorization", "Bearer " + m.tokens[token]}, headers...)...)
	return w.Code, w.Body.String()
}

// walk is a request of an operation or a page that involves something a limited token may not see. outside means that it is about a session
// or run of another project, which does not exist for the token; otherwise it covers everything, and the answer has nothing of the other
// project. writes means that a token that may only read is refused.
type walk struct {
	url, body       string
	outside, writes bool
	// status is the expected status of a request that covers everything, if it is not 200.
	status int
	// want is a part of the expected answer, so that an empty one does not pass.
	want string
}

// operationWalks returns requests for each operation.
func (m *team) operationWalks() map[string][]walk {
	const s = "/api/v1/sessions/" + vaulted
	out := func(path string) []walk { return []walk{{url: s + path, outside: true}} }
	post := func(path, body string) []walk {
		return []walk{{url: s + path, body: body, outside: true, writes: true}}
	}
	return map[string][]walk{
		"listSessions": {{url: "/api/v1/sessions", want: `"total":2`}, {url: "/api/v1/sessions?title=*combination*", want: `"total":0`}, {url: "/api/v1/sessions?cwd=/vault", want: `"total":0`}},
		"getSession":   out(""), "getTree": out("/tree"), "listEntries": out("/entries"), "getEntry": out("/entries/s1"), "getRecord": out("/entries/s1/raw"),
		"getContext":   append(out("/context"), walk{url: s + "/context?form=llm&provider=anthropic", outside: true}),
		"getBlob":      {{url: s + "/blobs/" + m.hidden, outside: true}, {url: "/api/v1/sessions/" + beds + "/blobs/" + m.hidden, status: 404, want: "does not refer"}},
		"watchSession": out("/events"),
		"search": {{url: "/api/v1/search?q=combination", want: `"hits":[]`}, {url: "/api/v1/search?q=tomatoes", want: beds}, {url: "/api/v1/search?q=tomatoes&rank=true", want: beds},
			{url: "/api/v1/search?q=nothing&source=" + url.QueryEscape(m.at(".nowhere")), status: 400, want: "no such source"}},
		"getUsage":    {{url: "/api/v1/usage", want: `"sessions":2`}, {url: "/api/v1/usage?cwd=/vault", want: `"sessions":0`}},
		"listSources": {{url: "/api/v1/sources", want: `"sessions":2`}},
		"watchAll":    nil, // TestLimitedEvents
		"listRuns":    {{url: "/api/v1/runs", want: `"total":1`}, {url: "/api/v1/runs?cwd=/vault", want: `"total":0`}},
		"getRun":      {{url: "/api/v1/runs/" + secretRun, outside: true}, {url: "/api/v1/runs/" + theRun, outside: true}}, // the second one has no project
		"listRecords": {{url: "/api/v1/runs/" + secretRun + "/records", outside: true}},
		"append":      post("/entries", `{"text":"hi"}`), "branch": post("/branch", `{"entry":"s1"}`), "label": post("/label", `{"entry":"s1","label":"x"}`),
		"rename": post("/rename", `{"title":"x"}`), "trash": post("/trash", ""),
		"fork": append(post("/fork", `{}`), walk{url: "/api/v1/sessions/" + beds + "/fork", body: `{"cwd":"/elsewhere"}`, status: 403, writes: true, want: "not for the project"}),
		// TestLimitedArchive
		"getArchive": nil, "listLogs": nil, "listLogFolders": nil, "getLog": nil, "readLog": nil, "watchLogs": nil, "getArchivedBlob": nil, "findMissingBlobs": nil,
		"createLog": nil, "appendToLog": nil, "replaceLog": nil, "removeLog": nil, "extendLog": nil, "overwriteLog": nil, "putBlob": nil,
		// TestLimitedRemote of index/postgres tests these; this archive has no index.
		"getIndex":   {{url: "/api/v1/index", status: 501, want: "an index"}},
		"listValues": nil, "selectLogs": nil, "searchLogs": nil, "countLogs": nil, "listIDs": nil,
		"getVersion": {{url: "/api/v1/version", want: "test"}}, "getOpenAPI": {{url: "/api/v1/openapi.json", want: "openapi"}},
	}
}

// pageWalks returns requests for each page.
func (m *team) pageWalks() map[string][]walk {
	const s = "/s/" + vaulted
	return map[string][]walk{
		"GET /{$}":                               {{url: "/", want: "pond"}, {url: "/?cwd=/vault"}, {url: "/?sort=size", want: "pond"}, {url: "/?model=vault", want: "/?model=vault"}},
		"GET /s/{session}":                       {{url: s, outside: true}, {url: "/s/" + beds, want: "tomatoes"}},
		"GET /s/{session}/fragment":              {{url: s + "/fragment", outside: true}},
		"GET /s/{session}/raw/{entry}":           {{url: s + "/raw/s1", outside: true}, {url: s + "/raw/s1?form=download", outside: true}},
		"GET /s/{session}/image/{entry}/{index}": {{url: s + "/image/s1/0", outside: true}},
		"GET /s/{session}/export":                {{url: s + "/export?format=html", outside: true}, {url: s + "/export?format=json", outside: true}},
		"GET /search":                            {{url: "/search?q=combination"}, {url: "/search?q=tomatoes", want: "tomatoes"}, {url: "/search?q=tomatoes&part=hits", want: "tomatoes"}},
		"GET /runs":                              {{url: "/runs", want: "7f1d7b7a"}},
		"GET /runs/{run}":                        {{url: "/runs/" + secretRun, outside: true}},
		"GET /usage":                             {{url: "/usage?since=all", want: "omp"}},
		"GET /usage.csv":                         {{url: "/usage.csv?since=all", want: "/garden"}},
		"GET /metrics":                           {{url: "/metrics", status: 403, want: "limited to projects"}},
		"GET /login":                             {{url: "/login", want: "form"}},
		"POST /login":                            nil, // TestUserLogin
		"POST /logout":                           nil,
		"GET /assets/{name}":                     nil, // the same for all clients
	}
}

// Every operation and every page is limited to the projects of the token. One that is not in the lists above fails the test.
func TestLimited(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	before, err := os.ReadFile(m.at(vaultDir + "shed.jsonl"))
	m.must(err)
	_, text := m.as("everything", "GET", "/api/v1/openapi.json", "")
	d := answer[openAPI](m.machine, text)
	operations := m.operationWalks()
	known := map[string]bool{}
	for path, methods := range d.Paths {
		for method, o := range methods {
			known[o.ID] = true
			walks, ok := operations[o.ID]
			if !ok {
				t.Errorf("%s %s (%s) is not classified: say in operationWalks what a limited token sees of it", method, path, o.ID)
			}
			for _, w := range walks {
				m.walk(strings.ToUpper(method), w)
			}
		}
	}
	pages := m.pageWalks()
	for _, pattern := range m.Patterns() {
		if strings.Contains(pattern, "/api/v1/") {
			continue
		}
		walks, ok := pages[pattern]
		if !ok {
			t.Errorf("%s is not classified: say in pageWalks what a limited token sees of it", pattern)
		}
		delete(pages, pattern)
		for _, w := range walks {
			method, _, _ := strings.Cut(pattern, " ")
			m.walk(method, w)
		}
	}
	for id := range operations {
		if !known[id] {
			t.Errorf("there is no operation %s", id)
		}
	}
	if len(pages) > 0 {
		t.Errorf("there are no pages %v", pages)
	}
	after, err := os.ReadFile(m.at(vaultDir + "shed.jsonl"))
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the session of the other project was changed (%v)", err)
	}
}

// walk sends a request with a token that may write in one project, and with one that may only read there.
func (m *team) walk(method string, w walk) {
	m.Helper()
	for _, token := range []string{"writer", "reader"} {
		code, body := m.as(token, method, w.url, w.body)
		for _, secret := range append(secrets, m.hidden) {
			if asked := strings.Contains(w.url+w.body, secret); strings.Contains(body, secret) && !asked {
				m.Errorf("%s %s as %s: %q is in the answer:\n%s", method, w.url, token, secret, body)
			}
		}
		want := max(w.status, 200)
		if w.writes && token == "reader" {
			want = 403
		} else if w.outside {
			want = 404
			// The answer is the same as for something that does not exist.
			swap := strings.NewReplacer(vaulted, "0198a1b2-0000-7000-8000-0000000000ee", secretRun, "0f1d7b7a-0000-4000-8000-0000000000ee",
				theRun, "0f1d7b7a-0000-4000-8000-0000000000dd")
			code2, body2 := m.as(token, method, swap.Replace(w.url), w.body)
			if code2 != code || body2 != swap.Replace(body) {
				m.Errorf("%s %s as %s: %d %s\nbut of what does not exist %d %s", method, w.url, token, code, body, code2, body2)
			}
		} else if !strings.Contains(body, w.want) {
			m.Errorf("%s %s as %s: no %q in %s", method, w.url, token, w.want, body)
		}
		if code != want {
			m.Errorf("%s %s as %s: %d, want %d: %s", method, w.url, token, code, want, body)
		}
	}
}

// A token for no project sees an empty server; one for all projects sees everything.
func TestProjects(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	for token, total := range map[string]string{"reader": `"total":2`, "nothing": `"total":0`, "everything": `"total":3`, "looker": `"total":3`} {
		if code, body := m.as(token, "GET", "/api/v1/sessions", ""); code != 200 || !strings.Contains(body, total) {
			t.Errorf("%s: %d %s; want code == 200, strings.Contains(body, total)", token, code, body)
		}
	}
	if code, body := m.as("looker", "GET", "/metrics", ""); code != 200 || !strings.Contains(body, "treeline_") {
		t.Errorf("metrics: %d", code)
	}
	if code, body := m.as("looker", "GET", "/api/v1/sessions/"+vaulted+"/blobs/"+m.hidden, ""); code != 200 || !strings.Contains(body, "a plan") {
		t.Errorf("a blob of a session: %d %s", code, body)
	}
	if code, _ := m.as("looker", "GET", "/api/v1/sessions/"+vaulted+"/blobs/"+m.shown, ""); code != 404 {
		t.Errorf("a blob of another session: %d", code)
	}
}

// A fork into a directory that is a link into another project is refused, since some agents keep the copy under the link's target.
func TestForkThroughLink(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	home, err := filepath.EvalSymlinks(m.home)
	m.must(err)
	mine, other := filepath.Join(home, "mine"), filepath.Join(home, "other")
	m.must(errors.Join(os.Mkdir(mine, 0o700), os.Mkdir(other, 0o700)))
	if err := os.Symlink(other, filepath.Join(mine, "link")); err != nil {
		t.Skip(err) // Windows requires a privilege
	}
	m.must(os.Symlink(mine, filepath.Join(mine, "here")))
	m.grant(access.Grant{Name: "mine", Write: true, Projects: []string{mine + "/**"}})
	m.grant(access.Grant{Name: "other", Projects: []string{other + "/**"}})
	const omp, claude = "0198a1b2-0000-7000-8000-0000000000a1", "0198a1b2-0000-4000-8000-0000000000a2"
	m.put(".omp/agent/sessions/--mine--/a.jsonl", strings.ReplaceAll(head(omp), "/garden", mine)+said("x1", "", "user", "hello"))
	m.put(".claude/projects/-mine/"+claude+".jsonl", fmt.Sprintf(`{"type":"user","uuid":"u1","parentUuid":null,"sessionId":%q,"cwd":%q,`+
		`"timestamp":"2026-02-16T10:00:00.000Z","message":{"role":"user","content":"hello"}}`+"\n", claude, mine))
	for _, id := range []string{omp, claude} {
		for _, dir := range []string{"/link", "/./link/", "/here/link", "/../other", "/link/../other"} {
			code, body := m.as("mine", "POST", "/api/v1/sessions/"+id+"/fork", fmt.Sprintf(`{"cwd":%q}`, mine+dir))
			if code != 403 || !strings.Contains(body, "not for the project") {
				t.Errorf("fork of %s into %s: %d %s", id, dir, code, body)
			}
		}
		if code, body := m.as("mine", "POST", "/api/v1/sessions/"+id+"/fork", fmt.Sprintf(`{"cwd":%q}`, mine+"/here")); code != 200 {
			t.Errorf("fork of %s into a link within the project: %d %s", id, code, body)
		}
	}
	if code, body := m.as("other", "GET", "/api/v1/sessions", ""); code != 200 || !strings.Contains(body, `"total":0`) {
		t.Errorf("sessions of the other project: %d %s", code, body)
	}
}

// A token that may only read changes nothing, whatever its projects are.
func TestReadToken(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	before, err := os.ReadFile(m.at(garden + "beds.jsonl"))
	m.must(err)
	for _, token := range []string{"reader", "looker"} {
		for _, one := range tries("") {
			if one.op == "append" || one.op == "branch" || one.op == "label" || one.op == "rename" || one.op == "fork" || one.op == "trash" {
				if code, body := m.as(token, "POST", one.path, one.body); code != 403 || !strings.Contains(body, "may only read") {
					t.Errorf(`%s: %d %s; want code == 403, strings.Contains(body, "may only read")`, one.op, code, body)
				}
			}
		}
	}
	after, err := os.ReadFile(m.at(garden + "beds.jsonl"))
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the session was changed (%v)", err)
	}
	m.must(m.Close())
	m.start(func(o *server.Options) { o.Access, o.Clock = m.book, m.clock })
	if code, body := m.as("everything", "POST", "/api/v1/sessions/"+beds+"/label", `{"entry":"b1","label":"x"}`); code != 403 || !strings.Contains(body, "--write") {
		t.Errorf("a server that only reads: %d %s", code, body)
	}
}

// Tags of answers differ between users, and do not change with other projects.
func TestTags(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	tag := func(token, url string) string {
		return m.ask("GET", url, "", "Authorization", "Bearer "+m.tokens[token]).Header().Get("Etag")
	}
	for _, url := range []string{"/api/v1/sessions", "/api/v1/usage", "/"} {
		mine, all := tag("reader", url), tag("everything", url)
		if mine == "" || mine == all || mine == tag("nothing", url) {
			t.Errorf("%s: the tags are %s and %s", url, mine, all)
		}
		// The tag of another user's answer does not reveal whether this user's answer is the same.
		for _, given := range []string{all, `"x"`} {
			if code, _ := m.as("reader", "GET", url, "", "If-None-Match", given); code != 200 {
				t.Errorf("%s with the tag of another user: %d", url, code)
			}
		}
		if code, _ := m.as("reader", "GET", url, "", "If-None-Match", mine); code != 304 {
			t.Errorf("%s with its own tag: %d", url, code)
		}
	}
	session := tag("everything", "/api/v1/sessions/"+vaulted)
	for _, given := range []string{session, "*"} {
		if code, body := m.as("reader", "GET", "/api/v1/sessions/"+vaulted, "", "If-None-Match", given); code != 404 {
			t.Errorf("a session with the tag of another user: %d %s", code, body)
		}
	}
	if h := m.ask("GET", "/api/v1/sessions", "", "Authorization", "Bearer "+m.tokens["reader"]).Header(); !strings.Contains(h.Get("Vary"), "Authorization") ||
		!strings.Contains(h.Get("Vary"), "Cookie") || !strings.Contains(h.Get("Cache-Control"), "private") {
		t.Errorf("a cache may share the answer: %v", h)
	}
}

// A stream of events has only the events of the token's projects.
func TestLimitedEvents(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	base := m.listen()
	hear := func(token string) *listener { return m.hearAs(base+"/api/v1/events", "", "Bearer "+m.tokens[token]) }
	mine, all := hear("reader"), hear("everything")
	start := mine.last
	m.add(vaultDir+"shed.jsonl", said("s3", "s2", "user", "The combination changed."))
	m.put(vaultDir+"new.jsonl", strings.ReplaceAll(head("0198a1b2-0000-7000-8000-00000000000d"), "/garden", "/vault")+said("s9", "", "user", "vault"))
	for want := map[string]bool{"s3": true, "s9": true}; len(want) > 0; {
		data := all.next()[2]
		for id := range want {
			if strings.Contains(data, `"id":"`+id+`"`) {
				delete(want, id)
			}
		}
	}
	m.add(garden+"beds.jsonl", said("b9", "b3", "user", "Ours."))
	for {
		e := mine.next()
		if strings.Contains(e[2], "vault") || strings.Contains(e[2], "combination") || strings.Contains(e[2], vaulted) {
			t.Fatalf("an event of another project: %s", e[2])
		}
		if strings.Contains(e[2], `"id":"b9"`) {
			break
		}
	}
	// Events that are kept for a client that was away are limited, too.
	late := m.hearAs(base+"/api/v1/events", start, "Bearer "+m.tokens["reader"])
	for {
		e := late.next()
		if strings.Contains(e[2], "vault") {
			t.Fatalf("an event of another project: %s", e[2])
		}
		if strings.Contains(e[2], `"id":"b9"`) {
			break
		}
	}
}

// Every write, and every refusal, is recorded with token, user, machine and session.
func TestAudit(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	path := "/api/v1/sessions/" + beds + "/label"
	m.as("writer", "POST", path, `{"entry":"b1","label":"x"}`)
	m.as("writer", "POST", path, `{"entry":"b1","label":"y"}`)
	m.as("writer", "POST", path, `{"entry":"none","label":"y"}`)
	m.as("reader", "POST", path, `{"entry":"b1","label":"z"}`)
	m.as("reader", "GET", "/api/v1/sessions/"+vaulted, "")
	m.as("reader", "GET", "/api/v1/sessions/none", "") // not recorded
	m.as("wrong", "GET", "/api/v1/sessions", "", "Authorization", "Bearer treeline_wrong")
	m.must(m.Close())
	list, err := m.book.Records(t.Context(), access.Query{})
	m.must(err)
	session := access.Record{Time: m.now, Address: "192.0.2.1", Target: m.at(garden + "beds.jsonl"), Project: "/garden", Count: 1}
	make := func(change func(*access.Record)) access.Record {
		r := session
		change(&r)
		return r
	}
	want := []access.Record{
		make(func(r *access.Record) {
			r.Token, r.User, r.Machine, r.Action, r.Outcome, r.Count = "writer", "bob", "box", "label", access.Done, 2
		}),
		make(func(r *access.Record) {
			r.Token, r.User, r.Machine, r.Action, r.Outcome, r.Reason = "writer", "bob", "box", "label", access.Failed, "entry none not found"
		}),
		make(func(r *access.Record) {
			r.Token, r.User, r.Action, r.Outcome, r.Reason = "reader", "ann", "label", access.Refused, `the token "reader" may only read`
			r.Target, r.Project = beds, ""
		}),
		make(func(r *access.Record) {
			r.Token, r.User, r.Action, r.Outcome, r.Reason = "reader", "ann", "GET /api/v1/sessions/{session}", access.Refused, "it belongs to another project"
			r.Target, r.Project = m.at(vaultDir+"shed.jsonl"), "/vault"
		}),
		make(func(r *access.Record) {
			r.Action, r.Outcome, r.Reason, r.Target, r.Project = "token", access.Refused, "the token is wrong", "", ""
		}),
	}
	order := func(a, b access.Record) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }
	slices.SortFunc(list, order)
	slices.SortFunc(want, order)
	if diff := difftest.Diff(want, list); diff != "" {
		t.Errorf("the audit log differs:\n%s", diff)
	}
	grants, err := m.book.List(t.Context())
	m.must(err)
	for _, g := range grants {
		if used := g.Name == "reader" || g.Name == "writer"; used == g.Used.IsZero() {
			t.Errorf("%s was used at %s", g.Name, g.Used)
		}
	}
	m.start() // so that Close has one at the end
}

// A user logs in with a token, and the cookie is valid until the token is revoked.
func TestUserLogin(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	login := func(token string) (int, string) {
		form := url.Values{"token": {token}, "next": {"/"}}.Encode()
		w := m.ask("POST", "/login", form, "Content-Type", "application/x-www-form-urlencoded", "Origin", "http://127.0.0.1:7331")
		cookie, _, _ := strings.Cut(w.Header().Get("Set-Cookie"), ";")
		return w.Code, cookie
	}
	if code, cookie := login("treeline_wrong"); code != 401 || cookie != "" {
		t.Errorf("a wrong token: %d %s", code, cookie)
	}
	code, cookie := login(" " + m.tokens["reader"] + "\n") // as when it is pasted
	if code != 303 || strings.Contains(cookie, m.tokens["reader"]) {
		t.Fatalf(`%d %s; want code == 303, not strings.Contains(cookie, m.tokens["reader"])`, code, cookie)
	}
	get := func(cookie string) (int, string) {
		w := m.ask("GET", "/", "", "Cookie", cookie, "Accept", "text/html")
		return w.Code, w.Body.String()
	}
	if code, body := get(cookie); code != 200 || !strings.Contains(body, "pond") || strings.Contains(body, "vault") {
		t.Errorf("with the cookie: %d %s", code, body)
	}
	if code, body := m.as("nothing", "GET", "/", "", "Accept", "text/html"); code != 200 || !strings.Contains(body, "your token does not cover their projects") || strings.Contains(body, "<table") {
		t.Errorf("a token that sees nothing: %d %s", code, body)
	}
	if _, err := m.book.Revoke(t.Context(), "reader", m.now); err != nil {
		t.Fatal(err)
	}
	m.later(6 * time.Second) // a known token is not looked up for five seconds
	if code, body := get(cookie); code != 401 || !strings.Contains(body, "<form") || !strings.Contains(body, "&#34;reader&#34; was revoked") || !strings.Contains(body, "treeline token add") {
		t.Errorf("after it was revoked: %d %s", code, body)
	}
	// The login form after a logout does not lead back to the logout: that address accepts only POST.
	if w := m.ask("POST", "/logout", "", "Cookie", cookie, "Accept", "text/html"); w.Code != 401 || strings.Contains(w.Body.String(), `value="/logout"`) {
		t.Errorf("logout after it was revoked: %d %s", w.Code, w.Body)
	}
	if code, body := m.as("reader", "GET", "/api/v1/version", ""); code != 401 || !strings.Contains(body, `the token \"reader\" was revoked`) {
		t.Errorf("the token after it was revoked: %d %s", code, body)
	}
}

func TestExpired(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	m.grant(access.Grant{Name: "brief", Expires: m.now.Add(time.Second)})
	if code, body := m.as("brief", "GET", "/api/v1/version", ""); code != 200 {
		t.Errorf("%d %s; want code == 200", code, body)
	}
	m.later(time.Second) // at once, though the token is known
	if code, body := m.as("brief", "GET", "/api/v1/version", ""); code != 401 || !strings.Contains(body, `\"brief\" expired on 2026-02-16`) {
		t.Errorf("%d %s; want code == 401, strings.Contains(body, `\\\"brief\\\" expired on 2026-02-16`)", code, body)
	}
}

// Wrong tokens are limited by address. A token that was valid before still works meanwhile, and other addresses are not affected.
func TestWrongTokens(t *testing.T) {
	t.Parallel()
	m := newTeam(t, func(o *server.Options) { o.Token = "shared secret" })
	ask := func(token string, headers ...string) *http.Response {
		return m.ask("GET", "/api/v1/version", "", append([]string{"Authorization", "Bearer " + token}, headers...)...).Result()
	}
	if code := ask(m.tokens["looker"]).StatusCode; code != 200 {
		t.Fatal(code)
	}
	for i := range 10 {
		if code := ask(fmt.Sprint("guess", i)).StatusCode; code != 401 {
			t.Fatalf("guess %d: %d", i, code)
		}
	}
	res := ask("guess")
	if res.StatusCode != 429 || res.Header.Get("Retry-After") == "" {
		t.Errorf(`%d %v; want res.StatusCode == 429, res.Header.Get("Retry-After") != ""`, res.StatusCode, res.Header)
	}
	// Even a valid token is refused, so that guessing cannot go on.
	for _, token := range []string{"shared secret", m.tokens["reader"]} {
		if code := ask(token).StatusCode; code != 429 {
			t.Errorf("a good token meanwhile: %d", code)
		}
	}
	if code := ask(m.tokens["looker"]).StatusCode; code != 200 {
		t.Errorf("a token that was good before: %d", code)
	}
	form := url.Values{"token": {"shared secret"}}.Encode()
	if w := m.ask("POST", "/login", form, "Content-Type", "application/x-www-form-urlencoded", "Origin", "http://127.0.0.1:7331"); w.Code != 429 {
		t.Errorf("the form: %d", w.Code)
	}
	m.later(7 * time.Second)
	if code := ask("shared secret").StatusCode; code != 200 {
		t.Errorf("after the wait: %d", code)
	}
	if code, _ := m.as("looker", "GET", "/api/v1/version", ""); code != 200 {
		t.Errorf("later: %d", code)
	}
}

// broken is a book that cannot be read.
type broken struct{ access.Memory }

func (*broken) Find(context.Context, access.Sum) (access.Grant, error) {
	return access.Grant{}, errors.New("password authentication failed for user vault")
}

// If the tokens cannot be read, all clients are refused, and are not told why.
func TestBrokenBook(t *testing.T) {
	t.Parallel()
	m := newTeam(t, func(o *server.Options) { o.Access = &broken{} })
	if code, body := m.as("reader", "GET", "/api/v1/version", ""); code != 503 || strings.Contains(body, "vault") {
		t.Errorf(`%d %s; want code == 503, not strings.Contains(body, "vault")`, code, body)
	}
	if !strings.Contains(m.logs.String(), "password authentication failed") {
		t.Error("the reason is not logged")
	}
}

// A server that other machines reach needs users or a token.
func TestNeedsUsers(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for _, one := range []struct {
		opt  server.Options
		want error
	}{
		{server.Options{Host: "0.0.0.0"}, server.ErrNeedsToken},
		{server.Options{Host: "0.0.0.0", Access: &access.Memory{}}, nil},
		{server.Options{Host: "0.0.0.0", Access: &access.Memory{}, Token: "short"}, server.ErrShortToken},
	} {
		one.opt.Store = m.store
		s, err := server.New(one.opt)
		if !errors.Is(err, one.want) {
			t.Errorf("%v, want %v", err, one.want)
		}
		if s != nil {
			m.must(s.Close())
		}
	}
}
