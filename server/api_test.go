package server_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/internal/jsonschema"
	"github.com/treeline-dev/treeline/server"
	"github.com/treeline-dev/treeline/wire"
)

// openAPI is what the tests read of the document.
type openAPI struct {
	OpenAPI string `json:"openapi"`
	Servers []struct {
		URL string `json:"url"`
	} `json:"servers"`
	Paths map[string]map[string]struct {
		ID         string `json:"operationId"`
		Parameters []struct {
			Name     string `json:"name"`
			In       string `json:"in"`
			Required bool   `json:"required"`
		} `json:"parameters"`
		Body *struct {
			Content map[string]struct {
				Schema *jsonschema.Schema `json:"schema"`
			} `json:"content"`
		} `json:"requestBody"`
		Responses map[string]struct {
			Content map[string]struct {
				Schema *jsonschema.Schema `json:"schema"`
			} `json:"content"`
		} `json:"responses"`
	} `json:"paths"`
	Components struct {
		Schemas jsonschema.Defs `json:"schemas"`
	} `json:"components"`
}

// try is a request of an operation. want is a part of the expected answer.
type try struct{ op, path, body, want string }

// tries covers every operation. The requests are sent in this order.
func tries(blob string) []try {
	const api, s = "/api/v1", "/sessions/" + beds
	list := []try{
		{"listSessions", "/sessions?limit=1", "", `"total":2`},
		{"getSession", s, "", `"leafId":"b3"`},
		{"getTree", s + "/tree?leaf=b2", "", `"onPath":true,"here":true`},
		{"listEntries", s + "/entries?leaf=b2", "", "Beside the basil."},
		{"getEntry", s + "/entries/b2", "", "Beside the basil."},
		{"getRecord", s + "/entries/b2/raw", "", `"parentId":"b1","timestamp"`},
		{"getContext", s + "/context?leaf=b2", "", `"estimatedTokens":`},
		{"getContext", s + "/context?form=llm", "", "Into the greenhouse."},
		{"getContext", s + "/context?form=parts", "", `"parts":[`},
		{"getContext", s + "/context?form=llm&provider=anthropic", "", `"max_tokens"`},
		{"getBlob", s + "/blobs/" + blob, "", "picture"},
		{"search", "/search?q=tomatoes", "", `"entry":"b1"`},
		{"getUsage", "/usage", "", `"messages":4`},
		{"listSources", "/sources", "", `"sessions":2`},
		{"listRuns", "/runs", "", theRun},
		{"getRun", "/runs/" + theRun, "", `"outcome":"completed"`},
		{"listRecords", "/runs/" + theRun + "/records", "", `"ended":true`},
		{"getVersion", "/version", "", `"version":"test"`},
		{"getOpenAPI", "/openapi.json", "", `"openapi":"3.1.0"`},
		{"append", s + "/entries", `{"text":"And the beans?"}`, `"durable":true`},
		{"append", s + "/entries", `{"message":{"role":"user","content":"Beans climb."}}`, `"durable":true`},
		{"append", s + "/entries", `{"entry":{"type":"custom","customType":"x","data":1}}`, `"durable":true`},
		{"branch", s + "/branch", `{"entry":"b2"}`, `"parentId":"b2"`},
		{"branch", s + "/branch", `{"entry":"b1","summary":"It was too dark."}`, `"parentId":"b1"`},
		{"label", s + "/label", `{"entry":"b1","label":"decision"}`, `"label":"decision"`},
		{"rename", s + "/rename", `{"title":"Beds"}`, `"title":"Beds"`},
		{"fork", s + "/fork", `{"leaf":"b2"}`, `"parentSession"`},
		{"trash", "/sessions/" + pond + "/trash", "", `"session":"` + pond},
	}
	for i := range list {
		list[i].path = api + list[i].path
	}
	return list
}

// blob stores a blob on the machine and returns its reference.
func (m *machine) blob(content string) string {
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
	m.put(".omp/agent/blobs/"+sum, content)
	return "blob:sha256:" + sum
}

// Every operation of the OpenAPI document is answered as documented, and the mux has no other operation.
func TestOperations(t *testing.T) {
	t.Parallel()
	m := newMachine(t, writing)
	m.must(os.MkdirAll(m.at("garden"), 0o700))
	d := answer[openAPI](m, m.get("/api/v1/openapi.json"))
	if d.OpenAPI != "3.1.0" || d.Servers[0].URL != "/api/v1" {
		t.Errorf("version %s at %s", d.OpenAPI, d.Servers[0].URL)
	}
	used := map[string]bool{"watchSession": true, "watchAll": true, "watchLogs": true} // TestEvents, backend/remote
	for _, op := range []string{"getIndex", "listValues", "selectLogs", "searchLogs", "countLogs", "listIDs"} {
		used[op] = true // index/postgres tests it: this archive has no index
	}
	known := map[string]bool{}
	for _, one := range append(tries(m.blob(dot)), archiveTries()...) {
		used[one.op] = true
		path, method, op := "", "", ""
		for p, methods := range d.Paths {
			for meth, o := range methods {
				known[o.ID] = true
				if o.ID == one.op {
					path, method, op = p, meth, o.ID
				}
			}
		}
		if op == "" {
			t.Fatalf("%s is not in the document", one.op)
		}
		var headers []string
		if body := d.Paths[path][method].Body; body != nil {
			headers = []string{"Content-Type", slices.Sorted(maps.Keys(body.Content))[0]}
		}
		w := m.ask(strings.ToUpper(method), one.path, one.body, headers...)
		if w.Code != 200 || !strings.Contains(w.Body.String(), one.want) {
			t.Errorf("%s %s: %d %s; want w.Code == 200, strings.Contains(w.Body.String(), one.want)", method, one.path, w.Code, w.Body)
			continue
		}
		media := d.Paths[path][method].Responses["200"].Content
		kind, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
		schema, ok := media[kind]
		if one.op == "getBlob" {
			schema, ok = media["application/octet-stream"]
		}
		if !ok {
			t.Errorf("%s: the answer is %s", one.op, kind)
		} else if schema.Schema != nil && kind == "application/json" {
			if err := d.Components.Schemas.Check(schema.Schema, w.Body.Bytes()); err != nil {
				t.Errorf("%s: %v", one.op, err)
			}
		}
	}
	if diff := difftest.Diff(known, used); diff != "" {
		t.Errorf("operations of the document, and those that the tests use:\n%s", diff)
	}
	// The mux answers the methods in the document and no others.
	fill := strings.NewReplacer("{session}", "none", "{entry}", "none", "{run}", "none", "{blob}", "none", "{ref}", "none")
	for path, methods := range d.Paths {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			if strings.HasSuffix(path, "/events") && method == "GET" {
				continue // it does not end
			}
			o, documented := methods[strings.ToLower(method)]
			for _, kind := range []string{"", "text/strange"} {
				w := m.ask(method, "/api/v1"+fill.Replace(path), "", "Content-Type", kind)
				if (w.Code != 405) != documented {
					t.Errorf("%s %s: %d, in the document: %t", method, path, w.Code, documented)
				}
				if _, ok := o.Responses[strconv.Itoa(w.Code)]; documented && !ok {
					t.Errorf("%s %s, type %q: %d is not in the document", method, path, kind, w.Code)
				}
			}
		}
	}
}

// Every required parameter must be given, and an unknown one is refused.
func TestParameters(t *testing.T) {
	t.Parallel()
	m := newMachine(t, writing)
	for url, want := range map[string]string{
		"/api/v1/search":                                        `"q\" is missing`,
		"/api/v1/search?q=a&limit=2000":                         "from 1 to 1000",
		"/api/v1/search?q=a&in=nose":                            "user, assistant",
		"/api/v1/search?q=%22":                                  "",
		"/api/v1/search?q=a&colour=red":                         `no parameter \"colour`,
		"/api/v1/sessions?limit=x":                              "must be a number",
		"/api/v1/sessions?cursor=x":                             "not one that a page gave",
		"/api/v1/sessions?since=yesterday":                      "2026-01-31",
		"/api/v1/sessions?has=nose":                             "label, branch",
		"/api/v1/sessions?source=nowhere":                       "nowhere",
		"/api/v1/usage?by=moon":                                 "agent, model",
		"/api/v1/sessions/" + beds + "/context?form=x":          "native, llm, parts",
		"/api/v1/sessions/" + beds + "/context?provider=openai": "form llm",
		"/api/v1/sessions/" + beds + "/entries?cursor=b3":       "not one that a page gave",
		"/api/v1/search?q=a&regexp=perhaps":                     "true or false",
		"/api/v1/search?q=a&q=b":                                "given twice",
	} {
		w := m.ask("GET", url, "")
		if want != "" && (w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want)) {
			t.Errorf(`%s: %d %s; want not (want != "" && (w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want)))`, url, w.Code, w.Body)
		}
	}
	for body, want := range map[string]string{
		`{}`:                                                 "exactly one",
		`{"text":"a","message":{}}`:                          "exactly one",
		`{"text":"a","role":"cat"}`:                          "user or assistant",
		`{"message":"a"}`:                                    "must be objects",
		`{"message":null}`:                                   "must be objects",
		`{"entry":[]}`:                                       "must be objects",
		`{"text":"a","colour":1}`:                            "colour",
		`{"parts":[{"type":"text","colour":1}]}`:             "colour",
		`{"parts":[{"type":"sound"}]}`:                       "not text, thinking",
		`{"parts":[{"type":"thinking"}]}`:                    "one text and images",
		`{"role":"tool","parts":[{"type":"text"}]}`:          "one toolResult",
		`{"role":"cat","parts":[]}`:                          "user, assistant or tool",
		`{"text":"a","parts":[]}`:                            "exactly one",
		`{"parts":[{"type":"text","text":"a"}],"model":"m"}`: "of the assistant",
		`{"text":"a"}{"text":"b"}`:                           "more than one",
		"{\"text\":\"\xff\"}":                                "not UTF-8",
		`{"text":`:                                           "the body",
		`{"message":{},"role":"me"}`:                         "needs",
	} {
		w := m.ask("POST", "/api/v1/sessions/"+beds+"/entries", body)
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s; want w.Code == http.StatusBadRequest, strings.Contains(w.Body.String(), want)", body, w.Code, w.Body)
		}
	}
	for path, code := range map[string]int{
		"/api/v1/sessions/" + beds + "/entries/none":         404,
		"/api/v1/sessions/" + beds + "/entries?leaf=none":    404,
		"/api/v1/sessions/none":                              404,
		"/api/v1/runs/none":                                  404,
		"/api/v1/sessions/" + beds + "/blobs/blob:sha256:00": 404,
		"/api/v1/sessions/" + beds + "/blobs/..%2f..%2fbeds": 404,
		"/api/v1/sessions/" + beds + "/tree?leaf=none":       404,
		"/api/v1/none": 404,
		"/api/v1/search?q=" + strings.Repeat("a", 2000):       414,
		"/api/v1/sessions?title=" + strings.Repeat("a", 9000): 414,
	} {
		if w := m.ask("GET", path, ""); w.Code != code {
			t.Errorf("%.80s: %d %s; want w.Code == %v", path, w.Code, w.Body, code)
		}
	}
	if w := m.ask("DELETE", "/api/v1/sessions", ""); w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("DELETE: %d, allowed %q, want GET and HEAD", w.Code, w.Header().Get("Allow"))
	}
	if w := m.ask("POST", "/api/v1/sessions/"+beds+"/fork", `{"cwd":"../garden"}`); w.Code != 400 || !strings.Contains(w.Body.String(), "absolute") {
		t.Errorf("a fork for a directory that depends on where the server was started: %d %s", w.Code, w.Body)
	}
	if w := m.ask("POST", "/api/v1/sessions/"+beds+"/branch", `{"entry":"none"}`); w.Code != 404 {
		t.Errorf("branch to nowhere: %d %s", w.Code, w.Body)
	}
}

// A message is appended as parts, in the agent's own form.
func TestAppendParts(t *testing.T) {
	t.Parallel()
	m := newMachine(t, writing)
	at := "/api/v1/sessions/" + pond
	for _, body := range []string{
		`{"parts":[{"type":"text","text":"How deep?"},{"type":"image","mime":"image/png","data":"iVBORw0KGgo="}]}`,
		`{"role":"assistant","provider":"acme","model":"m1","parts":[{"type":"thinking","text":"Measure."},{"type":"toolCall","id":"c1","name":"bash","arguments":{"command":"sound"}}]}`,
		`{"role":"tool","parts":[{"type":"toolResult","callId":"c1","parts":[{"type":"text","text":"2 m"}],"isError":true}]}`,
	} {
		if w := m.ask("POST", at+"/entries", body); w.Code != 200 {
			t.Fatalf("%s: %d %s; want the status 200", body, w.Code, w.Body)
		}
	}
	got := m.get(at + "/context?form=parts")
	for _, want := range []string{`"text":"How deep?"`, `"mime":"image/png"`, `"text":"Measure."`, `"type":"toolCall","id":"c1","name":"bash","arguments":{"command":"sound"}`,
		`"type":"toolResult","callId":"c1"`, `"isError":true`, `"text":"2 m"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	if w := m.ask("POST", at+"/entries", `{"role":"tool","parts":[{"type":"toolResult","callId":"c9","parts":[{"type":"text","text":"x"}]}]}`); !strings.Contains(w.Body.String(), `"kind":"refused"`) {
		t.Errorf("a result without its call: %d %s", w.Code, w.Body)
	}
}

// Errors have the kinds of RPC. A refusal has none.
func TestErrorKinds(t *testing.T) {
	t.Parallel()
	m := newMachine(t, writing)
	m.put(garden+"newer.jsonl", strings.Replace(head("newer"), `"version":3`, `"version":99`, 1)+said("x", "", "user", "hello"))
	for _, tt := range []struct{ method, path, body, kind string }{
		{"GET", "/sessions/none", "", "no-session"},
		{"GET", "/runs/none", "", "no-run"},
		{"GET", "/sessions/" + beds + "/entries/none", "", "unknown-entry"},
		{"POST", "/sessions/" + beds + "/branch", `{"entry":"none"}`, "unknown-entry"},
		{"POST", "/sessions/" + beds + "/entries", `{"text":""}`, "silent"},
		{"POST", "/sessions/newer/entries", `{"text":"more"}`, "newer"},
		{"POST", "/sessions/" + beds + "/entries", `{}`, ""},
		{"GET", "/sessions/" + beds + "/blobs/blob:sha256:00", "", ""},
	} {
		w := m.ask(tt.method, "/api/v1"+tt.path, tt.body)
		var got struct{ Error struct{ Kind string } }
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.Error.Kind != tt.kind {
			t.Errorf("%s %s %s: %d %s; want the kind %q", tt.method, tt.path, tt.body, w.Code, w.Body, tt.kind)
		}
	}
}

// The pages of a list have every session once, whatever is written in between.
func TestPages(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for i := range 5 {
		m.put(fmt.Sprintf("%sn%d.jsonl", garden, i), head(fmt.Sprint("n", i))+said("x", "", "user", fmt.Sprint("number ", i)))
	}
	type page struct {
		Sessions []struct{ Key string }
		Next     *string
		Total    int
	}
	var keys []string
	for next := ""; ; {
		p := answer[page](m, m.get("/api/v1/sessions?limit=2&cursor="+next))
		for _, s := range p.Sessions {
			keys = append(keys, s.Key)
		}
		if p.Total != 7 {
			t.Errorf("%d in all", p.Total)
		}
		if p.Next == nil {
			break
		}
		next = *p.Next
	}
	slices.Sort(keys)
	if want := []string{beds, pond, "n0", "n1", "n2", "n3", "n4"}; !slices.Equal(keys, want) {
		t.Errorf("sessions %v", keys)
	}
	if p := answer[page](m, m.get("/api/v1/sessions?title=*pond*")); p.Total != 1 || p.Sessions[0].Key != pond {
		t.Errorf("filtered: %v", p)
	}
	var ids []string
	for next := ""; ; {
		p := answer[struct {
			Entries []wire.Entry
			Next    *string
		}](m, m.get("/api/v1/sessions/"+beds+"/entries?limit=1&cursor="+next))
		for _, e := range p.Entries {
			ids = append(ids, string(e.ID))
		}
		if next == "" { // the leaf moves on, but the pages keep the old one
			m.add(garden+"beds.jsonl", said("b4", "b3", "user", "more"))
		}
		if p.Next == nil {
			break
		}
		next = *p.Next
	}
	if !slices.Equal(ids, []string{"b1", "b3"}) {
		t.Errorf("entries %v", ids)
	}
}

// Sessions with the same id differ by a hash of their paths; the id alone finds neither.
func TestSameID(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.put(".omp/agent/sessions/--copy--/beds.jsonl", head(beds)+said("c1", "", "user", "copied"))
	p := answer[struct {
		Sessions []struct{ Key, Path string }
	}](m, m.get("/api/v1/sessions"))
	found := 0
	for _, s := range p.Sessions {
		if !strings.HasPrefix(s.Key, beds+"@") {
			continue
		}
		found++
		if j := answer[struct{ Path string }](m, m.get("/api/v1/sessions/"+s.Key)); j.Path != s.Path {
			t.Errorf("%s is %s, want %s", s.Key, j.Path, s.Path)
		}
	}
	w := m.ask("GET", "/api/v1/sessions/"+beds, "")
	if found != 2 || w.Code != 404 || !strings.Contains(w.Body.String(), beds+"@") {
		t.Errorf("%d keys; the id alone: %d %s", found, w.Code, w.Body)
	}
}

// The next answer has what was appended, without reading the session again, and the tag changes with it.
func TestGrowing(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	url := "/api/v1/sessions/" + beds + "/entries"
	w := m.ask("GET", url, "")
	tag := w.Header().Get("Etag")
	if again := m.ask("GET", url, "", "If-None-Match", tag); again.Code != 304 || again.Body.Len() > 0 || tag == "" {
		t.Errorf("unchanged: %d, tag %q", again.Code, tag)
	}
	m.add(garden+"beds.jsonl", said("b4", "b3", "user", "And now?"))
	w = m.ask("GET", url, "", "If-None-Match", tag)
	if w.Code != 200 || !strings.Contains(w.Body.String(), "And now?") || w.Header().Get("Etag") == tag {
		t.Errorf("grown: %d %s", w.Code, w.Body)
	}
	text := m.get("/metrics")
	for _, want := range []string{"treeline_sessions_opened_total 1\n", "treeline_sessions_grown_total 1\n", `route="GET /api/v1/sessions/{session}/entries",status="304"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	m.put(garden+"beds.jsonl", head(beds)+said("z1", "", "user", "All new."))
	if text := m.get(url); !strings.Contains(text, "All new.") || strings.Contains(text, "tomatoes") {
		t.Errorf("replaced: %s", text)
	}
}

// HEAD answers like GET, without the body.
func TestHead(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for _, path := range []string{"/", "/api/v1/sessions", "/api/v1/sessions/" + beds + "/context", "/api/v1/sessions/" + beds + "/tree", "/healthz"} {
		get, head := m.ask("GET", path, ""), m.ask("HEAD", path, "")
		if head.Code != 200 || get.Header().Get("Content-Type") != head.Header().Get("Content-Type") || path != "/healthz" && head.Body.Len() > 0 {
			t.Errorf("%s: %d %s, %d bytes", path, head.Code, head.Header().Get("Content-Type"), head.Body.Len())
		}
	}
	if strings.Contains(m.get("/metrics"), `status="499"`) {
		t.Error("an answer counts as one that was not sent")
	}
}

// The next request reads what the server wrote.
func TestWrites(t *testing.T) {
	t.Parallel()
	m := newMachine(t, writing)
	done := answer[wire.Appended](m, m.ask("POST", "/api/v1/sessions/"+beds+"/entries", `{"text":"A new one","role":"assistant"}`).Body.String())
	if text := m.get("/api/v1/sessions/" + beds); !strings.Contains(text, `"leafId":"`+string(done.ID)) {
		t.Errorf("the leaf is not %s in %s", done.ID, text)
	}
	for range 3 { // each one is in the list at once
		before := answer[struct{ Total int }](m, m.get("/api/v1/sessions")).Total
		made := answer[struct{ Key string }](m, m.ask("POST", "/api/v1/sessions/"+beds+"/fork", `{}`).Body.String())
		if after := answer[struct{ Total int }](m, m.get("/api/v1/sessions")).Total; after != before+1 || made.Key == "" {
			t.Errorf("%d sessions after a fork of %d, key %q", after, before, made.Key)
		}
		m.get("/api/v1/sessions/" + made.Key)
	}
	m.ask("POST", "/api/v1/sessions/"+pond+"/trash", "")
	if w := m.ask("GET", "/api/v1/sessions/"+pond, ""); w.Code != 404 {
		t.Errorf("after the trash: %d", w.Code)
	}
}

// An answer is compressed for clients that accept it, and has the same content for others.
func TestGzip(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	long := strings.Repeat("The tomatoes grow. ", 20_000)
	m.add(garden+"beds.jsonl", said("b4", "b3", "user", long))
	for _, path := range []string{"/entries/b4", "/tree", "/context"} {
		url := "/api/v1/sessions/" + beds + path
		plain := m.get(url)
		w := m.ask("GET", url, "", "Accept-Encoding", "br, gzip;q=0.5")
		if path != "/tree" && w.Header().Get("Content-Encoding") != "gzip" {
			t.Errorf("%s is not packed", path)
		}
		text := w.Body.String()
		if w.Header().Get("Content-Encoding") == "gzip" {
			text = gunzip(t, w.Body)
		}
		if text != plain || !json.Valid([]byte(text)) {
			t.Errorf("%s: %d bytes packed, %d plain", path, len(text), len(plain))
		}
	}
	if w := m.ask("GET", "/api/v1/sessions/"+beds+"/entries/b4", "", "Accept-Encoding", "gzip;q=0"); w.Header().Get("Content-Encoding") != "" {
		t.Error("packed for a client that does not want it")
	}
}

// TestJustCreated: a session that another program created a moment ago is found, although the list is not yet due to be read again.
// Requests for unknown ids do not read the list again and again.
func TestJustCreated(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	var slow atomic.Bool // each call of the clock takes a second
	m := newMachine(t, func(o *server.Options) {
		o.Clock = func() time.Time {
			if slow.Load() {
				now.Add(1)
			}
			return frozen().Add(time.Duration(now.Load()) * time.Second)
		}
	})
	const id = "0198a1b2-0000-7000-8000-0000000000aa"
	slow.Store(true)
	m.get("/api/v1/sessions")
	m.put(garden+"new.jsonl", head(id)+said("n1", "", "user", "Just now."))
	m.get("/api/v1/sessions/" + id)
	slow.Store(false)
	reads := func() string {
		_, rest, _ := strings.Cut(m.get("/metrics"), "\ntreeline_catalogue_refreshes_total ")
		count, _, _ := strings.Cut(rest, "\n")
		return count
	}
	before := reads()
	for i := range 50 {
		if w := m.ask("GET", fmt.Sprintf("/api/v1/sessions/none%d", i), ""); w.Code != 404 {
			t.Errorf("a session that does not exist: %d %s", w.Code, w.Body)
		}
	}
	if after := reads(); after != before || before == "" {
		t.Errorf("unknown ids: the list was read %s times, before %s", after, before)
	}
	now.Add(1000)
	m.ask("GET", "/api/v1/sessions/none", "")
	if after := reads(); after == before {
		t.Error("the list is not read again later")
	}
}
