package server_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// browser sends a request as a browser does.
func (m *machine) browser(path string) string {
	m.Helper()
	return m.get(path, "Accept", "text/html")
}

// Every page shows what it is for. The tests of package page check what it looks like.
func TestPagesForPeople(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for path, want := range map[string][]string{
		"/":                                  {"Where do the tomatoes go?", "Is the pond deep?", "/api/v1/events?after="},
		"/?title=*pond*":                     {"Is the pond deep?"},
		"/?title=Pond":                       {"Is the pond deep?"},
		"/s/" + beds:                         {"Into the greenhouse.", "/api/v1/sessions/" + beds + "/events?after="},
		"/s/" + beds + "?leaf=b2":            {"Beside the basil."},
		"/s/" + beds + "?mode=focused":       {"Where do the tomatoes go?"},
		"/s/" + beds + "?mode=model&leaf=b2": {"Beside the basil."},
		"/s/" + beds + "?mode=changes":       {"</html>"},
		"/s/" + beds + "?at=b1":              {"Where do the tomatoes go?"},
		"/s/" + beds + "/fragment?after=b1":  {"Into the greenhouse."},
		"/s/" + beds + "/raw/b2":             {"Beside the basil."},
		"/search?q=basil":                    {"Beside the"},
		"/search?q=basil&part=hits":          {"Beside the"},
		"/search?q=%22open":                  {"open"},
		"/search":                            {"</html>"},
		"/runs":                              {theRun[:8]},
		"/runs/" + theRun:                    {theRun[:8]},
		"/usage?since=all":                   {"omp"},
		"/login":                             {"<form"},
	} {
		text := m.browser(path)
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s has no %q:\n%s", path, w, text)
			}
		}
	}
	if text := m.browser("/?title=*pond*"); strings.Contains(text, "tomatoes") {
		t.Error("the filter lets everything through")
	}
	if text := m.browser("/s/" + beds + "?leaf=b2"); strings.Contains(text, ">Into the greenhouse.</p>") {
		t.Error("another branch is shown")
	}
	for path, code := range map[string]int{
		"/s/none": 404, "/s/" + beds + "?leaf=none": 404, "/s/" + beds + "/raw/none": 404, "/runs/none": 404, "/none": 404, "/?sort=moon": 400,
		"/?since=moon": 400, "/s/" + beds + "?at=none": 404, "/s/" + beds + "?mode=changes&file=none": 404, "/s/" + beds + "/image/b1/0": 404, "/s/" + beds + "/image/b1/x": 404, "/assets/none.css": 404,
		"/s/" + beds + "/export?format=pdf": 400, "/s/" + beds + "/export?format=md&leaf=none": 404,
	} {
		w := m.ask("GET", path, "", "Accept", "text/html")
		if w.Code != code || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") || !strings.Contains(w.Body.String(), "</html>") {
			t.Errorf(`%s: %d %s; want w.Code == %v, strings.HasPrefix(w.Header().Get("Content-Type"), "text/html"), strings.Contains(w.Body.String(), "</html>")`, path, w.Code, w.Header().Get("Content-Type"), code)
		}
	}
}

// What a page refers to exists and may be cached forever. A search reports what it could not read, as the API does, and the first page
// explains queries correctly.
func TestSearchPage(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.put(garden+"damaged.jsonl.zst", "not compressed")
	for _, path := range []string{"/search?q=basil", "/search?q=basil&part=hits"} {
		if text := m.browser(path); !strings.Contains(text, "the compressed file is damaged") || !strings.Contains(text, "Beside the") {
			t.Errorf("%s: want the hit and the damaged file, got\n%s", path, text)
		}
	}
	if text := m.browser("/search"); !strings.Contains(text, "leaves out entries with that word") || strings.Contains(text, "role:") {
		t.Errorf("want the help of queries, got\n%s", text)
	}
}

// A request that ends while another one opens the same session does not disturb it. The race detector sees a violation.
func TestOpenTogether(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	const sessions = 20
	for i := range sessions {
		m.put(fmt.Sprintf("%st%d.jsonl", garden, i), head(fmt.Sprintf("together-%d", i))+said("t1", "", "user", "Together"))
	}
	m.get("/api/v1/sessions")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for i := range sessions {
		var all sync.WaitGroup
		for n := range 4 {
			all.Go(func() {
				r := httptest.NewRequestWithContext(t.Context(), "GET", fmt.Sprintf("/api/v1/sessions/together-%d/tree", i), nil)
				if n%2 > 0 {
					r = r.WithContext(gone)
				}
				r.Host = "127.0.0.1:7331"
				w := httptest.NewRecorder()
				if m.ServeHTTP(w, r); n%2 == 0 && w.Code != 200 {
					t.Errorf("session %d: %d %s, want 200", i, w.Code, w.Body)
				}
			})
		}
		all.Wait()
	}
}

func TestAssets(t *testing.T) {
	t.Parallel()
	m := newMachine(t, func(o *optionsOf) { o.BasePath = "/lines" })
	links := regexp.MustCompile(`(?:href|src)="(/lines/assets/[^"]+)"`).FindAllStringSubmatch(m.browser("/lines/"), -1)
	if len(links) < 2 {
		t.Fatalf("links %v", links)
	}
	for _, l := range links {
		w := m.ask("GET", l[1], "")
		if w.Code != 200 || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") || w.Body.Len() == 0 {
			t.Errorf(`%s: %d %s; want w.Code == 200, strings.Contains(w.Header().Get("Cache-Control"), "immutable"), w.Body.Len() != 0`, l[1], w.Code, w.Header().Get("Cache-Control"))
		}
	}
	if w := m.ask("GET", "/lines", ""); w.Code != http.StatusPermanentRedirect || w.Header().Get("Location") != "/lines/" {
		t.Errorf("the base path: %d to %q", w.Code, w.Header().Get("Location"))
	}
}

// A page that did not change is not sent again.
func TestPageTags(t *testing.T) {
	t.Parallel()
	m := newMachine(t, func(o *optionsOf) { o.Clock = frozen })
	for _, path := range []string{"/", "/s/" + beds, "/s/" + beds + "?mode=focused", "/usage"} {
		w := m.ask("GET", path, "", "Accept", "text/html")
		again := m.ask("GET", path, "", "Accept", "text/html", "If-None-Match", w.Header().Get("Etag"))
		if w.Code != 200 || again.Code != 304 {
			t.Errorf("%s: %d, then %d", path, w.Code, again.Code)
		}
	}
}

// A list with a relative time span changes with the time, although no session does.
func TestAgingList(t *testing.T) {
	t.Parallel()
	var later atomic.Int64
	m := newMachine(t, func(o *optionsOf) { o.Clock = func() time.Time { return frozen().Add(time.Duration(later.Load())) } })
	const path = "/api/v1/sessions?since=7d"
	w := m.ask("GET", path, "")
	tag := w.Header().Get("Etag")
	if again := m.ask("GET", path, "", "If-None-Match", tag); again.Code != 304 {
		t.Errorf("at once: %d", again.Code)
	}
	later.Store(int64(100 * 365 * 24 * time.Hour)) // older than any test
	again := m.ask("GET", path, "", "If-None-Match", tag)
	if again.Code != 200 || again.Body.String() == w.Body.String() || !strings.Contains(again.Body.String(), `"sessions":[]`) {
		t.Errorf("a hundred years later: %d %s", again.Code, again.Body)
	}
}

// A picture in the log is sent with its own type.
func TestImage(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	inline := base64.StdEncoding.EncodeToString([]byte(dot))
	page := base64.StdEncoding.EncodeToString([]byte("<script>alert(1)</script>"))
	ref := m.blob("GIF89a moving")
	m.add(garden+"beds.jsonl", fmt.Sprintf(`{"type":"message","id":"i1","parentId":"b3","timestamp":"2026-02-16T10:00:01.000Z","message":{"role":"user","content":[`+
		`{"type":"image","data":%q,"mimeType":"image/png"},{"type":"image","data":%q,"mimeType":"text/html"},{"type":"image","data":%q,"mimeType":"image/gif"}]}}`+"\n", inline, page, ref))
	for i, want := range []string{"image/png", "application/octet-stream", "image/gif"} {
		w := m.ask("GET", fmt.Sprintf("/s/%s/image/i1/%d", beds, i), "")
		if w.Code != 200 || w.Header().Get("Content-Type") != want {
			t.Errorf("picture %d: %d %s", i, w.Code, w.Header().Get("Content-Type"))
		}
	}
	if text := m.browser("/s/" + beds); !strings.Contains(text, "/s/"+beds+"/image/i1/0") {
		t.Error("the page does not show the picture")
	}
}

// There is a download in each format, and secrets are replaced in the formats that are meant to be shared.
func TestExport(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	const secret = "AKIAIOSFODNN7EXAMPLQ"
	m.add(garden+"beds.jsonl", said("k1", "b3", "user", "The key is "+secret+"."))
	for format, hidden := range map[string]bool{"html": true, "md": true, "json": false, "txt": false} {
		w := m.ask("GET", "/s/"+beds+"/export?format="+format, "")
		if w.Code != 200 || strings.Contains(w.Body.String(), secret) == hidden || !strings.Contains(w.Body.String(), "The key is") {
			t.Errorf("%s: %d, %d bytes", format, w.Code, w.Body.Len())
		}
		if name := w.Header().Get("Content-Disposition"); name != `attachment; filename="session-`+beds+"."+format+`"` {
			t.Errorf("%s is %s", format, name)
		}
	}
	for path, tree := range map[string]bool{"": true, "&leaf=b2": false} {
		if text := m.get("/s/" + beds + "/export?format=html" + path); strings.Contains(text, "Tree of the session") != tree {
			t.Errorf("html%s: a tree is %t", path, !tree)
		}
	}
	for query, shown := range map[string]bool{"md&redact=false": true, "json&redact=true": false, "txt&redact=1": false} {
		if text := m.get("/s/" + beds + "/export?format=" + query); strings.Contains(text, secret) != shown {
			t.Errorf("%s: the secret is shown: %t", query, !shown)
		}
	}
	if text := m.browser("/s/" + beds); !strings.Contains(text, `format=md" title="secrets are replaced"`) || !strings.Contains(text, `format=txt" title="as it is, with secrets"`) {
		t.Error("the page does not say which files have secrets")
	}
}

// The numbers of the usage page can be had as CSV.
func TestUsageCSV(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.put(garden+"odd.jsonl", strings.Replace(head("odd"), "/garden", "=cmd()", 1)+said("x", "", "user", "formula"))
	w := m.ask("GET", "/usage.csv?since=all", "")
	text := w.Body.String()
	if !strings.HasPrefix(text, "by,name,sessions,messages,") || !strings.Contains(text, "\nall,,3,5,") || !strings.Contains(text, "\nproject,'=cmd(),1,1,0,0,0,0,0,\n") {
		t.Errorf(`%d %s; want strings.HasPrefix(text, "by,name,sessions,messages,"), strings.Contains(text, "\nall,,3,5,"), strings.Contains(text, "\nproject,'=cmd(),1,1,0,0,0,0,0,\n")`, w.Code, text)
	}
}

// The list counts the rows that it can show: a sub-agent is in the row of its session, what a fork copied counts once, and "show more"
// leads to more.
func TestListCounts(t *testing.T) {
	t.Parallel()
	v := demonstration(t)
	res, err := http.Get(v.url + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(b); !strings.Contains(text, `<p class="foot">19 sessions · 1.3M tokens · $0.62</p>`) || strings.Contains(text, "show more") || !strings.Contains(text, "2 sub-agents") {
		t.Errorf("the foot of the list:\n%s", text[strings.Index(text, `<p class="foot">`):])
	}
	m := newMachine(t)
	for i := range 1001 {
		m.put(fmt.Sprintf("%sn%d.jsonl", garden, i), head(fmt.Sprint("n", i))+said("x", "", "user", "one of many"))
	}
	for url, want := range map[string]string{"/": "60 of 1,003 sessions", "/?limit=1000": "1,000 of 1,003 sessions"} {
		text := m.browser(url)
		if more := strings.Contains(text, "show more"); !strings.Contains(text, want) || more != (url == "/") {
			t.Errorf("%s: show more is %v; the foot:\n%s", url, more, text[strings.Index(text, `<p class="foot">`):])
		}
	}
}

// A call counts the lines of its whole result, of which the page has the beginning.
func TestLongResult(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.put(garden+"long.jsonl", head("long")+
		`{"type":"message","id":"c","parentId":null,"timestamp":"2026-02-16T10:00:01.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"t","name":"bash","arguments":{"command":"ls"}}],"stopReason":"toolUse"}}`+"\n"+
		fmt.Sprintf(`{"type":"message","id":"r","parentId":"c","timestamp":"2026-02-16T10:00:02.000Z","message":{"role":"toolResult","toolCallId":"t","toolName":"bash","content":[{"type":"text","text":%q}]}}`+"\n", strings.Repeat("a line of text\n", 9000)))
	if text := m.browser("/s/long"); !strings.Contains(text, "9,000 lines") {
		t.Errorf("the page does not say how many lines the result has:\n%s", text[strings.Index(text, "<main"):][:2000])
	}
}

// TestChangesCount: what a page of changes keeps counts as memory of its session, so that many such pages do not fill the server's memory.
func TestChangesCount(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	const size = 3 << 20
	m.add(garden+"pond.jsonl", `{"type":"message","id":"p2","parentId":"p1","timestamp":"2026-02-16T10:00:02.000Z","message":{"role":"assistant","content":[`+
		`{"type":"toolCall","id":"c1","name":"write","arguments":{"path":"pond.txt","content":"`+strings.Repeat("deep ", size/5)+`"}}]}}`+"\n"+
		`{"type":"message","id":"p3","parentId":"p2","timestamp":"2026-02-16T10:00:03.000Z","message":{"role":"toolResult","toolCallId":"c1","toolName":"write","content":[{"type":"text","text":"ok"}]}}`+"\n")
	held := func() int {
		_, rest, _ := strings.Cut(m.get("/metrics"), "\ntreeline_open_sessions_bytes ")
		text, _, _ := strings.Cut(rest, "\n")
		n, err := strconv.Atoi(text)
		m.must(err)
		return n
	}
	m.get("/s/" + pond)
	before := held()
	if page := m.get("/s/" + pond + "?mode=changes"); !strings.Contains(page, "pond.txt") {
		t.Fatalf("no change is shown: %s", page)
	}
	if more := held() - before; more < size {
		t.Errorf("a change of %d bytes counts as %d", size, more)
	}
}
