package page_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/internal/diff"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/page"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/transcript"
	"github.com/treeline-dev/treeline/wire"
)

func html(t *testing.T, f func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := f(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// want fails unless the page contains all texts in this order.
func want(t *testing.T, page string, texts ...string) {
	t.Helper()
	rest := page
	for _, s := range texts {
		i := strings.Index(rest, s)
		if i < 0 {
			t.Errorf("the page does not have %q (or not after what comes before it)", s)
			continue
		}
		rest = rest[i+len(s):]
	}
}

func asset(t *testing.T, ext string) page.Asset {
	t.Helper()
	for _, a := range page.Assets() {
		if strings.HasSuffix(a.Name, ext) {
			return a
		}
	}
	t.Fatalf("no asset %s", ext)
	return page.Asset{}
}

// TestAssets: script and style sheet are at most 40 KB together and load nothing.
func TestAssets(t *testing.T) {
	js, css := asset(t, ".js"), asset(t, ".css")
	if n := len(js.Data) + len(css.Data); n > 40<<10 {
		t.Errorf("script and style sheet have %d bytes", n)
	}
	for _, a := range page.Assets() {
		sum := fmt.Sprintf("%x", sha256.Sum256(a.Data))
		if !strings.Contains(a.Name, sum[:12]) {
			t.Errorf("%s has the hash %s", a.Name, sum[:12])
		}
		for _, bad := range []string{`url\(`, "@import", "https://", `eval\(`, "innerHTML ?=[^=]"} {
			if a.Type != "image/svg+xml" && regexp.MustCompile(bad).Match(a.Data) {
				t.Errorf("%s has %s", a.Name, bad)
			}
		}
	}
	want(t, html(t, func(w io.Writer) error { return site().Sessions(w, sessions()) }), "/assets/"+css.Name, "/assets/"+js.Name)
	source, err := os.ReadFile("assets/app.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, literal := range regexp.MustCompile("\"[^\"\\n]*\"|`[^`]*`").FindAll(source, -1) {
		if !bytes.Contains(js.Data, literal) {
			t.Errorf("%s is another string in the script that is served", literal)
		}
	}
}

// TestContrast: text has a contrast of at least 4.5 with its background in both schemes.
func TestContrast(t *testing.T) {
	colours := map[string][2]float64{}
	for _, m := range regexp.MustCompile(`--([\w-]+):light-dark\(#(\w+),#(\w+)\)`).FindAllStringSubmatch(string(asset(t, ".css").Data), -1) {
		colours[m[1]] = [2]float64{luminance(t, m[2]), luminance(t, m[3])}
	}
	pairs := map[string]string{
		"ink": "bg panel wash tint add del", "soft": "bg panel wash tint", "faint": "bg panel wash tint", "accent": "bg panel wash tint",
		"add-ink": "add panel", "del-ink": "del panel", "warn-ink": "warn bg panel wash tint", "bad": "bg panel",
		"c0": "panel bg", "c1": "panel bg wash", "c2": "panel bg wash", "c3": "panel bg wash", "c4": "panel bg", "c5": "panel bg", "c6": "panel bg wash", "c7": "panel bg",
	}
	for text, behind := range pairs {
		for _, b := range strings.Fields(behind) {
			for i, scheme := range []string{"light", "dark"} {
				high, low := colours[text][i], colours[b][i]
				if high < low {
					high, low = low, high
				}
				if c := (high + 0.05) / (low + 0.05); c < 4.5 {
					t.Errorf("%s: %s on %s has a contrast of %.2f", scheme, text, b, c)
				}
			}
		}
	}
}

// luminance is the relative luminance of WCAG 2.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	if len(hex) == 3 {
		hex = hex[:1] + hex[:1] + hex[1:2] + hex[1:2] + hex[2:] + hex[2:]
	}
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

func TestQueries(t *testing.T) {
	q := page.ListQuery{
		Source: "omp", CWD: "/a b", Since: "7d", Until: "2026-11-01", Model: "opus*", Title: "*x&y*", Has: []string{"branch", "run"}, Sort: "cost", Limit: 200,
	}
	if diff := difftest.Diff(q, page.ParseListQuery(q.Values())); diff != "" {
		t.Error(diff)
	}
	u := page.UsageQuery{Since: "30d", Until: "x", Source: "pi", CWD: "/a", Model: "m", Measure: "tokens"}
	if diff := difftest.Diff(u, page.ParseUsageQuery(u.Values())); diff != "" {
		t.Error(diff)
	}
	if n := len((page.ListQuery{}).Values()); n != 0 {
		t.Errorf("a query for everything has %d parameters", n)
	}
	if q := page.ParseListQuery(url.Values{"limit": {"-3"}}); q.Limit != 0 {
		t.Errorf("limit -3 is %d", q.Limit)
	}
}

func TestSessions(t *testing.T) {
	p := sessions()
	p.Query = page.ListQuery{Source: "omp", Has: []string{"branch"}, Limit: 9}
	p.Events, p.Problems = "/api/v1/events", []string{"/x: permission denied"}
	got := html(t, func(w io.Writer) error {
		return (&page.Site{Base: "/tl", Home: "/home/you", Now: site().Now}).Sessions(w, p)
	})
	want(t, got,
		`data-events="/api/v1/events"`,
		`href="/tl/?agent=codex&amp;has=branch"`,                                 // another agent; the other filters are unchanged
		`<a class="chip" href="/tl/?agent=omp" aria-current="true">Branches</a>`, // removed again
		`href="/tl/?agent=omp&amp;has=branch&amp;has=problem">Problems</a>`,
		`href="/tl/?agent=omp&amp;has=branch&amp;sort=cost"`,
		`permission denied`,
		`2 min ago`, `class="dot"`, `<a href="/tl/s/0199a7" data-session>Prices are off by a cent</a>`, `~/shop · 2 branches · labels · compacted`, `data-agent="omp"`, `58.1k`, `$0.21`,
		`<div class="d1">`, `(fork)`,
		`2 sub-agents`, `<span class="flag">1 problem</span>`, `(no title)`,
		`9 of 312 sessions`, `href="/tl/?agent=omp&amp;has=branch&amp;limit=100"`)
	for _, name := range []string{"none", "nomatch"} {
		page := html(t, allPages(site())[name])
		if strings.Contains(page, "<table><thead><tr><th class=\"when\"") {
			t.Errorf("%s shows a table of sessions", name)
		}
	}
	want(t, html(t, allPages(site())["none"]), "No sessions yet", "~/.omp/agent/sessions", "no sessions", "~/.claude/projects", "does not exist")
	want(t, html(t, allPages(site())["nomatch"]), "No session matches these filters", "3 sessions")
}

// TestSession: what a reader looks for is on the page, in the order of the path.
func TestSession(t *testing.T) {
	got := html(t, allPages(site())["session"])
	want(t, got,
		"Tree of the session", "2 branches", "<svg", `href="/s/0199a7?at=2f81d9e0#2f81d9e0"`, "⋯ 3 entries", "⚑ decision", `href="/s/0199a7?at=e01&amp;leaf=e03#e01"`, `aria-current="true">Now the invoices.`,
		"Prices are off by a cent</h1>", "1 problem in the log", "line 14, byte 20121: the last record was cut off in the middle; what came before",
		`aria-current="page"`, `href="/s/0199a7?mode=focused"`, `href="/s/0199a7?mode=model"`, `href="/s/0199a7?mode=changes"`,
		`id="2f81d9e0" data-block data-prompt`, "<b>You</b>", "dotted: no longer seen by the model", `href="/s/0199a7/raw/2f81d9e0"`,
		`id="c40b6a12"`, "claude-sonnet-4", "1.2k tokens", "Money as float64", "<b>grep</b>", "3 lines · 0.1 s",
		`id="5a60be28"`, "⚑ decision",
		"branch 2 of 2", "Count in cents.", `id="b7125ec8"`,
		"<summary>Thinking</summary>", "<b>edit</b>", "+2</span>", "−2</span>", `data-n="12"`, "var total float64",
		`class="tool failed" open`, "failed · 3.1 s",
		"4 calls", "3 read, 1 task", `data-src="/s/sub-1/fragment?first=1"`, "Check the invoices", "14 entries · 20.1k tokens · $0.03", `<a href="/s/sub-1">Open its session</a>`,
		`class="compaction"`, "41,200 → about 1,900 tokens", "The invoices.",
		`id="9ab0c312"`, "[image/png, 48 KB]",
		"2 messages", "≈ 1,950", "$0.21", "+ 20.1k tokens<br>+ $0.03", `data-copy="cd ~/shop &amp;&amp; omp --resume 0199a7c2"`, `href="/s/0199a7/export?format=md"`, "Forked from", "Sub-agents")
	want(t, got, `<a href="/s/0199a7?at=5a60be28&amp;leaf=9ab0c312#5a60be28"><time`)
	if n := strings.Count(got, "no longer seen by the model"); n != 1 {
		t.Errorf("the page says %d times that the model does not see a block", n)
	}
	if strings.Contains(got, `<a href="/s/0199a7?at=e03`) {
		t.Error("there is a link to a branch after the last one")
	}
}

// TestCostIsNotRecorded: without any recorded cost, the sum is a dash, since the agent is not free.
func TestCostIsNotRecorded(t *testing.T) {
	list := sessions()
	list.Rows[0].Known.Cost, list.Cost = 0, 0
	got := html(t, func(w io.Writer) error { return site().Sessions(w, list) })
	want(t, got, `<td class="num hide">–</td>`)
	u := usagePage()
	(*u.Stats.Agents)[0].Cost, (*u.Stats.Agents)[2].Cost = 0, 0
	got += html(t, func(w io.Writer) error { return site().Usage(w, u) })
	want(t, got, "No cost is recorded by claude and omp.", `<td class="num">–</td>`)
	if strings.Contains(got, "$0</td>") || strings.Contains(got, "· $0") {
		t.Error("a cost of $0 is shown")
	}
	if got := html(t, allPages(site())["usage"]); strings.Contains(got, "No cost is recorded") {
		t.Error("all agents record costs")
	}
}

// TestModelNames: the messages that the model sees have the same speakers as in the transcript; a result has none, since it follows its
// call.
func TestModelNames(t *testing.T) {
	d := document()
	d.Mode = page.Model
	d.Window.Blocks = []transcript.Block{
		{ID: "s", Role: session.RoleOther, Speaker: "summary", Native: "compaction", Pieces: []transcript.Piece{transcript.Text{Text: "So far."}}},
		{ID: "c", Role: session.RoleAssistant, Pieces: []transcript.Piece{transcript.Tools{Calls: []transcript.Tool{{CallID: "1", Name: "bash", Title: "ls", Call: "c", Answered: true}}}}},
		{ID: "r", Role: session.RoleTool, Pieces: []transcript.Piece{transcript.Tools{Calls: []transcript.Tool{{CallID: "1", Name: "bash", Result: "r", Answered: true}}}}},
		{ID: "u", Role: session.RoleUser, Unseen: true, Pieces: []transcript.Piece{transcript.Text{Text: "Go on."}}},
	}
	want(t, html(t, func(w io.Writer) error { return site().Session(w, d) }), "<b>Summary</b>", `class="msg" id="c"`, "<b>Assistant</b>", `class="msg again" id="r"`,
		`<span class="what">result</span>`, `class="msg user unseen" id="u"`, "no longer seen")
	if got := html(t, func(w io.Writer) error { return site().Fragment(w, d) }); strings.Contains(got, "no longer seen") {
		t.Error("a part of a page says again what the page says")
	}
}

func TestSessionModes(t *testing.T) {
	want(t, html(t, allPages(site())["model"]), "The model sees 4 messages here, about 1,950 tokens", "about 1,900 tokens", "Now the invoices.")
	want(t, html(t, allPages(site())["changes"]), "3 files changed", "+6", "−3", "pricing/sum.go", `href="/s/0199a7?at=38c9d0ea#38c9d0ea"`, "pricing/cents.go", "new", "pricing/tax.go", "one after the other")
	want(t, html(t, allPages(site())["changes of nothing"]), "No file was edited")
	d := document()
	d.Leaf = "9ab0c312" // the session's own leaf
	if got := html(t, func(w io.Writer) error { return site().Session(w, d) }); strings.Contains(got, "an earlier entry") || !strings.Contains(got, `data-fragment="/s/0199a7/fragment?mode=everything"`) {
		t.Error("a link to the newest entry does not go on with the session")
	}
	d.Leaf, d.Mode = "e03", page.Focused
	d.Window.Earlier, d.Window.Later, d.Window.Position = true, true, 312
	d.Window.Onward = &transcript.Fork{Count: 1, Branches: []transcript.Branch{{Number: 1, First: "n1", Tip: "n9", Entries: 9, Label: "And then?"}}}
	got := html(t, func(w io.Writer) error { return site().Session(w, d) })
	want(t, got,
		`data-fragment="/s/0199a7/fragment?leaf=e03&amp;mode=focused"`,
		`href="/s/0199a7?mode=focused" data-does="Go to the newest`,
		`href="/s/0199a7?before=00aa&amp;leaf=e03&amp;mode=focused" data-more="before"`, "312 entries before",
		`href="/s/0199a7?after=9ab0c312&amp;leaf=e03&amp;mode=focused" data-more="after"`,
		"The conversation continues", `href="/s/0199a7?at=n1&amp;leaf=n9&amp;mode=focused#n1">And then?`)
}

// TestRoom: a page of the server stays small however long the texts are, and links to the rest.
func TestRoom(t *testing.T) {
	long := strings.Repeat("Ein längerer Satz mit Umlauten. ", 2000)
	d := document()
	d.Window = &transcript.Window{}
	for i := range 120 {
		d.Window.Blocks = append(d.Window.Blocks, transcript.Block{
			ID: session.EntryID(fmt.Sprint("e", i)), Role: session.RoleAssistant, Time: at(1), Model: "m", Usage: session.Usage{Total: 1000},
			Pieces: []transcript.Piece{
				transcript.Text{Text: long},
				transcript.Tools{Calls: []transcript.Tool{{Name: "bash", Call: "c", Result: session.EntryID(fmt.Sprint("r", i)), Answered: true,
					Input: session.Raw(`{"command":"` + long + `"}`), Output: []transcript.Piece{transcript.Text{Text: long}}}}},
			},
		})
	}
	got := html(t, func(w io.Writer) error { return site().Session(w, d) })
	if len(got) > 300_000 {
		t.Errorf("the page has %d bytes", len(got))
	}
	want(t, got, `<a href="/s/0199a7/raw/r0">show all of it</a>`, `<a href="/s/0199a7/raw/e119">show all of it</a>`)
	if bytes.ContainsRune([]byte(got), '\uFFFD') {
		t.Error("a text was cut inside a character")
	}
	d.Window.Blocks = d.Window.Blocks[:4]
	all := html(t, func(w io.Writer) error { return exporter().Session(w, d) })
	if n := strings.Count(all, "längerer"); n < 4*3*2000 {
		t.Errorf("an export has %d of the sentences", n)
	}
}

var inlined = regexp.MustCompile(`(?s)<(script|style)>(.*?)</(?:script|style)>`)

// The changes of many files fit into a page, which says what is omitted and links to each file.
func TestManyChanges(t *testing.T) {
	p := document()
	p.Mode, p.Window, p.Files = page.Changes, nil, nil
	for i := range 300 {
		c := transcript.FileChange{Edit: transcript.Edit{Path: fmt.Sprintf("src/f%d.go", i)}}
		for j := range 400 {
			c.Hunks = append(c.Hunks, diff.Hunk{Lines: []diff.Line{{Op: diff.Added, Text: fmt.Sprintf("line %d of %d", j, i)}}})
			c.Entries = append(c.Entries, session.EntryID(fmt.Sprintf("e%d-%d", i, j)))
		}
		c.Edits, c.Added = len(c.Entries), len(c.Entries)
		p.Files = append(p.Files, c)
	}
	show := func(p page.SessionPage) string {
		text := html(t, func(w io.Writer) error { return site().Session(w, p) })
		if len(text) > 300<<10 {
			t.Errorf("%d bytes", len(text))
		}
		return text
	}
	want(t, show(p), "300 files changed", "+120,000", "line 3 of 0", "</table></div><p class=\"whole\">396 more lines", "file=src%2Ff0.go&amp;mode=changes\">show this file</a>", "and 398 more",
		"file=src%2Ff199.go", "100 more files are not shown")
	p.Files, p.File = p.Files[7:8], "src/f7.go"
	want(t, show(p), "1 file changed", "All files</a>", "line 250 of 7", "e7-150")
}

// However many problems there are, a page lists some, and says how many there are.
func TestManyProblems(t *testing.T) {
	p, l := document(), sessions()
	p.Problems, l.Problems = nil, nil
	for i := range 3000 {
		p.Problems = append(p.Problems, session.Problem{Line: i + 1, Message: "a line is not JSON"})
		l.Problems = append(l.Problems, fmt.Sprintf("/home/you/x%d.jsonl: not a session", i))
	}
	one := html(t, func(w io.Writer) error { return site().Session(w, p) })
	want(t, one, "3,000 problems in the log", "line 50, byte 0", "and 2,950 more</li>")
	list := html(t, func(w io.Writer) error { return site().Sessions(w, l) })
	want(t, list, "3,000 problems: ", "x49.jsonl", "and 2,950 more</li>")
	if strings.Contains(one, "line 51,") || strings.Contains(list, "x50.jsonl") {
		t.Error("all are listed")
	}
}

// TestExport: an export is one file. Its policy allows exactly its script and its style sheet, and its links are fragments.
func TestExport(t *testing.T) {
	got := html(t, func(w io.Writer) error { return exporter().Session(w, exported()) })
	checkHTML(t, got, true)
	policy := strings.ReplaceAll(regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(got)[1], "&#39;", "'")
	policy = strings.ReplaceAll(policy, "&#43;", "+")
	want(t, policy, "default-src 'none'; script-src 'sha256-", "; style-src 'sha256-", "; img-src data:")
	found := 0
	for _, m := range inlined.FindAllStringSubmatch(got, -1) {
		sum := sha256.Sum256([]byte(m[2]))
		if hash := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy, m[1]+"-src "+hash) {
			t.Errorf("the policy does not allow the %s: %s", m[1], policy)
		}
		found++
	}
	if found != 2 {
		t.Errorf("%d scripts and style sheets", found)
	}
	for _, m := range regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(inlined.ReplaceAllString(got, ""), -1) {
		if !strings.HasPrefix(m[1], "#") && !strings.HasPrefix(m[1], "data:") {
			t.Errorf("a link to %s", m[1])
		}
	}
	want(t, got, `id="5a60be28"`, `href="#e01" rel="prev"`, `id="b7125ec8"`, `src="data:image/png;base64,`, `data-from="5a60be28"`, "branch 1 of 2", `href="#b7125ec8" rel="next"`, `id="e03"`)

	index := html(t, func(w io.Writer) error {
		p := sessions()
		p.Index = "search.js"
		return (&page.Site{Base: ".", Export: true}).Sessions(w, p)
	})
	checkHTML(t, index, true)
	want(t, index, "strict-dynamic", `data-index="search.js"`, `href="./s/0199a7.html"`)
	script := html(t, func(w io.Writer) error {
		return page.IndexScript(w, []page.IndexEntry{{Href: "s/1.html", Texts: []page.IndexText{{Anchor: "#e", Text: "</script>\u2028"}}}})
	})
	if strings.ContainsAny(script, "<\u2028") || !strings.HasPrefix(script, "treelineIndex([{") {
		t.Errorf("the index is %s", script)
	}
}

// TestImages: only pictures of types that browsers paint, and paths of the site.
func TestImages(t *testing.T) {
	d := document()
	for src, ok := range map[string]bool{
		"/s/1/image/2": true, "data:image/png;base64,AAAA": true, "data:image/webp;base64,AA+/==": true,
		"//evil.example/x.png": false, "https://evil.example/x.png": false, "javascript:alert(1)": false, "data:image/svg+xml;base64,AAAA": false,
		"data:image/png;base64,AA\" onerror=": false, "data:text/html;base64,AAAA": false, "": false,
	} {
		d.Image = func(transcript.Image) string { return src }
		got := html(t, func(w io.Writer) error { return site().Session(w, d) })
		if strings.Contains(got, "<img") != ok {
			t.Errorf("%q is shown: %v", src, !ok)
		}
	}
}

func TestSearch(t *testing.T) {
	want(t, html(t, allPages(site())["search"]),
		`value="cent"`, "The first 3 hits", `<a href="/s/0199a7" data-session>Prices are off by a cent</a>`,
		`href="/s/0199a7?at=2f81d9e0#2f81d9e0"`, "by one <mark>cent</mark>. Find",
		`href="/s/0199a7?leaf=e02#e02"`, "on another branch",
		"&lt;b&gt;99.9 per <mark>cent</mark>&lt;/b&gt;", "There are more hits")
	whole := search()
	whole.More = false
	want(t, html(t, func(w io.Writer) error { return site().SearchHits(w, whole) }), "3 hits in 2 sessions<")
	whole.Hits = append(whole.Hits, page.Hit{Hit: wire.Hit{Run: "r1", Snippet: "a cent"}})
	want(t, html(t, func(w io.Writer) error { return site().SearchHits(w, whole) }), "4 hits in 2 sessions and 1 run<")
	if hits := html(t, allPages(site())["hits"]); strings.Contains(hits, "<html") {
		t.Error("the list of hits is a whole page")
	}
	odd := page.Hit{Hit: wire.Hit{Snippet: "äöü", Marks: [][2]int{{2, 9}, {1, 2}, {-4, 0}}}}
	if got := odd.Marked(); got != "äö<mark>ü</mark>" {
		t.Errorf("marks outside of the snippet: %s", got)
	}
}

// TestSignOut: the button is on every page of a server with a token but the one for signing in.
func TestSignOut(t *testing.T) {
	s := site()
	s.SignOut = true
	want(t, html(t, allPages(s)["runs"]), "Sign out")
	if strings.Contains(html(t, allPages(s)["login"]), "Sign out") {
		t.Error("one can sign out before signing in")
	}
}

func TestUsage(t *testing.T) {
	got := html(t, allPages(site())["usage"])
	want(t, got, "30 days", `href="/usage?measure=tokens&amp;since=30d"`, `href="/usage.csv?since=30d"`, "$212.40", "61.8M", "312", "84 %",
		"Cost per day", "<title>21 Oct: $5.70 · claude $4.20 · codex $0.30 · omp $1.20</title>", `data-agent="claude"`, "By agent", "By model", "(not recorded)", "By project", "~/gateway", "By day", "2026-11-16")
	if n := strings.Count(got, `class="day"`); n != 28 {
		t.Errorf("%d bars", n) // including days without usage
	}
	// The columns of a row add up: tokens that were read from or written to a cache count as cached.
	want(t, got, `<td class="num hide">3.8M</td><td class="num hide">1.9M</td><td class="num hide">32.5M</td><td class="num">38.2M</td>`)
	unasked := usagePage()
	unasked.Query.Since = ""
	want(t, html(t, func(w io.Writer) error { return site().Usage(w, unasked) }), `aria-current="true">30 days`)
	odd := usagePage()
	odd.ByAgent = nil
	*odd.Stats.Days = []wire.Group{{Name: "0001-01-01"}, {Name: "2026-11-16", Amount: wire.Amount{Cost: math.MaxFloat64}}, {Name: "no day", Amount: wire.Amount{Cost: -1}}}
	got = html(t, func(w io.Writer) error { return site().Usage(w, odd) })
	if n := strings.Count(got, `class="day"`); n != 400 {
		t.Errorf("a day that is far away makes %d bars", n)
	}
	for _, bad := range []string{"NaN", "Inf"} {
		if strings.Contains(got, bad) {
			t.Errorf("the chart has %s", bad)
		}
	}
}

func TestRun(t *testing.T) {
	want(t, html(t, allPages(site())["runs"]), `<a href="/runs/run-01"`, "completed", "bad", "error", "no end")
	want(t, html(t, allPages(site())["run"]), "Triage the open bugs", "18 s", "1 failed", "Timeline", `class="l-request"`, `class="l-tokens"`, `class="l-tool"`, `class="l-error"`,
		"Step by step", "&#43;0.2 s", "request 1 · tool_use", "1.0k tokens · 3.8 s", "bash", "#12 crash on start", `class="l-error"`, "label", "final", "end: completed")
}

func TestRaw(t *testing.T) {
	p := rawPage()
	want(t, html(t, func(w io.Writer) error { return site().Raw(w, p) }), "line 3, byte 412", `href="/s/0199a7/raw/c40b6a12?form=exact"`, `href="/s/0199a7/raw/2f81d9e0"`, "\n  ", `form=download`)
	p.Exact = true
	want(t, html(t, func(w io.Writer) error { return site().Raw(w, p) }), `aria-current="page" data-does="Show: Exact"`, `href="/s/0199a7/raw/c40c?form=exact"`)
	p.JSON = append([]byte(`{"a":"`), bytes.Repeat([]byte("ü"), 1<<20)...)
	got := html(t, func(w io.Writer) error { return site().Raw(w, p) })
	if len(got) > 400_000 {
		t.Errorf("a page of %d bytes", len(got))
	}
	want(t, got, "1.8 MB more are not shown")
}

func TestTimes(t *testing.T) {
	s := &page.Site{Zone: time.FixedZone("", 3600)}
	if got := s.Clock(at(59), time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)); !strings.Contains(string(got), ">2 Mar 15:59<") || !strings.Contains(string(got), `datetime="2026-03-02T14:59:00.000Z"`) {
		t.Errorf("a message of another day: %s", got)
	}
	if got := s.Ago(at(1)); !strings.Contains(string(got), ">2 Mar 2026<") {
		t.Errorf("without a clock: %s", got)
	}
	if got := s.Clock(time.Time{}, at(1)); got != "" {
		t.Errorf("no time: %s", got)
	}
}
