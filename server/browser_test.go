package server_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend/all"
	"github.com/treeline-dev/treeline/internal/browser"
	"github.com/treeline-dev/treeline/internal/demo"
	"github.com/treeline-dev/treeline/server"
	"github.com/treeline-dev/treeline/wire"
)

// viewer is a server of a machine on a real port, for a browser.
type viewer struct {
	store *treeline.Store
	srv   *server.Server
	url   string
}

// view serves a store until the test ends.
func view(t *testing.T, opt treeline.Options) viewer {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	store, err := treeline.New(opt)
	must(err)
	srv, err := server.New(server.Options{Store: store, Host: "127.0.0.1", Home: opt.Home, Version: wire.Version{Version: "test"}})
	must(err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	h := &http.Server{Handler: srv}
	go func() { _ = h.Serve(l) }()
	t.Cleanup(func() {
		_ = h.Close()
		must(srv.Close())
		must(store.Close())
	})
	return viewer{store, srv, "http://" + l.Addr().String()}
}

// demonstration serves the machine of the demo.
func demonstration(t *testing.T) viewer {
	t.Helper()
	dir := t.TempDir()
	if err := demo.Write(t.Context(), dir, time.Now, all.Drivers()...); err != nil {
		t.Fatal(err)
	}
	return view(t, demo.Machine(dir, time.Now, all.Drivers()...))
}

func TestMain(m *testing.M) { browser.Main(m) }

// TestBrowser goes through the viewer as a person would: list, search, session, branch, context, live entry, changes, raw entry, permanent
// link.
func TestBrowser(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	v := demonstration(t)
	tab := b.Tab(t, browser.Look{})
	has := func(text string) {
		t.Helper()
		tab.Wait(fmt.Sprintf(`document.querySelector("main").innerText.includes(%q)`, text))
	}

	tab.Open(v.url)
	has("Prices are off by a cent")
	has("Customers can return items")

	tab.Press("/")
	tab.Press("rounding twice")
	tab.Wait(`!document.querySelector(".found").hidden && document.querySelector(".found a")`)
	if text := tab.Eval(`document.querySelector(".found").innerText`); !strings.Contains(text, "rounding twice") {
		t.Errorf("the hits while typing are %q", text)
	}
	tab.Press("\x1b")
	tab.Wait(`document.querySelector(".found").hidden && document.activeElement == document.body`)
	tab.Press("/rounding twice\r")
	tab.Wait(`location.pathname == "/search"`)
	tab.Wait(`document.querySelector("main mark")`)

	tab.Open(v.url)
	tab.Click(`a[data-session]`)
	tab.Wait(`location.pathname.startsWith("/s/")`)
	tab.Open(v.url)
	tab.Eval(`[...document.querySelectorAll("a[data-session]")].find(a => a.innerText.includes("Prices are off by a cent")).click()`)
	has("branch 2 of 2: Count in cents.")
	has("All amounts are")
	if tab.Eval(`document.querySelectorAll(".rail svg circle").length`) == "0" {
		t.Error("the tree is not drawn")
	}

	// These are the keys for: next message, next prompt, unfold, menu.
	tab.Press("j")
	tab.Wait(`document.querySelector("[data-block].now")`)
	tab.Press("J")
	tab.Wait(`document.querySelector("[data-prompt].now")`)
	tab.Press("?")
	tab.Wait(`document.querySelector("dialog[open]")`)
	tab.Press("\x1b")
	tab.Wait(`!document.querySelector("dialog")`)
	tab.Click(".switch summary")
	tab.Wait(`document.querySelector(".switch .menu[open]")`)
	tab.Press("\x1b")
	tab.Wait(`!document.querySelector(".menu[open]") && document.activeElement.matches(".switch summary")`)
	tab.Eval(`document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "k", ctrlKey: true, bubbles: true}))`)
	tab.Wait(`document.querySelector("dialog[open]")`)
	tab.Press("previous branch")
	tab.Wait(`document.querySelectorAll("dialog li").length == 1`)
	tab.Press("\r")
	has("branch 1 of 2: Round at the end.")
	has("two tests still fail")
	if strings.Contains(tab.Eval(`document.querySelector("main").innerText`), "All amounts are") {
		t.Error("the other branch is shown, too")
	}
	tab.Click(`.switch a[rel=next]`)
	has("All amounts are")

	tab.Eval(`[...document.querySelectorAll(".modes a")].find(a => a.innerText.startsWith("What the model")).click()`)
	tab.Wait(`location.search.includes("mode=model")`)
	has("Now the invoices.")
	if strings.Contains(tab.Eval(`document.querySelector("main").innerText`), "Shall I round at the end, or count in cents?") {
		t.Error("the context has what the compaction left out")
	}

	tab.Eval(`[...document.querySelectorAll(".modes a")].find(a => a.innerText == "Everything").click()`)
	has("All amounts are")
	id := strings.TrimPrefix(tab.Eval("location.pathname"), "/s/")
	s := v.write(t, id)
	done, err := s.AppendUser(t.Context(), "Written while the page is open.")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	has("Written while the page is open.")
	tab.Wait(`document.querySelector(".fork.new")`)

	tab.Eval(`[...document.querySelectorAll(".modes a")].find(a => a.innerText == "Changes").click()`)
	has("3 files changed")
	has("total += it.Price * Cents(it.Count)")

	tab.Open(fmt.Sprintf("%s/s/%s/raw/%s", v.url, id, done.ID))
	has(`"Written while the page is open."`)

	link := fmt.Sprintf("%s/s/%s?leaf=%s#%s", v.url, id, done.ID, done.ID)
	tab.Open(link)
	tab.Reload()
	has("Written while the page is open.")
	if at := tab.Address(); at != link {
		t.Errorf("the link became %s", at)
	}
	if tab.Eval(`document.getElementById("`+string(done.ID)+`").getBoundingClientRect().top < innerHeight`) != "true" {
		t.Error("the link does not lead to its entry")
	}
	tab.Wait(`document.querySelector(".graph a[aria-current]")?.innerText == "Written while the page is open."`)
	if f := tab.Faults(); len(f) > 0 {
		t.Errorf("faults: %s", strings.Join(f, "\n"))
	}
}

// TestBrowserSubAgent unfolds a sub-agent in the call that started it, and comes back to a session that has grown meanwhile.
func TestBrowserSubAgent(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	v := demonstration(t)
	tab := b.Tab(t, browser.Look{})
	tab.Open(v.url + "/s/" + key(t, v, "Customers can return items"))
	const inner = `document.querySelector("details[open] > .inner")`
	if got := tab.Eval(`document.querySelectorAll("[data-src]").length`); got != "2" {
		t.Errorf("%s sub-agents, not 2", got)
	}
	own := tab.Eval(`document.querySelectorAll("[data-block]").length`)
	tab.Click(`[data-src] > summary`)
	tab.Wait(inner + `?.innerText.includes("Calling agent") && ` + inner + `.innerText.includes("Items have no state of their own")`)
	if got := tab.Eval(`document.querySelectorAll("[data-block]").length`); got != own {
		t.Errorf("%s blocks, before %s", got, own)
	}
	tab.Press("[")
	tab.Click(`details[open] > .whole a`)
	tab.Wait(`document.querySelector("aside").innerText.includes("Sub-agent of")`)

	prices := key(t, v, "Prices are off by a cent")
	tab.Open(v.url + "/s/" + prices)
	tab.Open(v.url + "/usage")
	s := v.write(t, prices)
	if _, err := s.AppendUser(t.Context(), "Written between two visits."); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	tab.Open(v.url + "/s/" + prices)
	tab.Wait(`document.querySelector(".fork.new + [data-block]")?.innerText.includes("Written between two visits.")`)
	if f := tab.Faults(); len(f) > 0 {
		t.Errorf("faults: %s", strings.Join(f, "\n"))
	}
}

// TestBrowserBusyList: a list is refreshed although a session is written all the time.
func TestBrowserBusyList(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	v := demonstration(t)
	tab := b.Tab(t, browser.Look{})
	prices := key(t, v, "Prices are off by a cent")
	row, err := v.store.Find(t.Context(), prices)
	if err != nil {
		t.Fatal(err)
	}
	tab.Open(v.url)
	messages := fmt.Sprintf(`document.querySelector('a[href$="/s/%s"]').closest("tr").cells[3].innerText`, prices)
	before := tab.Eval(messages)
	s, err := v.store.OpenWrite(t.Context(), row.Path, treeline.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	end, done := make(chan struct{}), make(chan error, 1)
	go func() {
		var err error
		for ended := false; err == nil && !ended; {
			_, err = s.AppendUser(t.Context(), "One more.")
			select {
			case <-end:
				ended = true
			case <-time.After(100 * time.Millisecond):
			}
		}
		done <- errors.Join(err, s.Close())
	}()
	tab.Wait(fmt.Sprintf("%s != %q", messages, before))
	close(end)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestBrowserBack: a page that the browser kept shows what was written meanwhile when it is shown again.
func TestBrowserBack(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	v := demonstration(t)
	tab := b.Tab(t, browser.Look{})
	prices := key(t, v, "Prices are off by a cent")
	row, err := v.store.Find(t.Context(), prices)
	if err != nil {
		t.Fatal(err)
	}
	tab.Open(v.url + "/s/" + prices)
	tab.Eval(`window.kept = true`)
	tab.Click(`header nav a[href$="/usage"]`)
	tab.Wait(`location.pathname == "/usage"`)
	s, err := v.store.OpenWrite(t.Context(), row.Path, treeline.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.AppendUser(t.Context(), "Written while the page was away."); err != nil {
		t.Fatal(err)
	}
	tab.Eval(`history.back()`)
	tab.Wait(`location.pathname != "/usage" && document.readyState == "complete"`)
	if tab.Eval(`window.kept`) != "true" {
		t.Log("the browser did not keep the page")
	}
	tab.Wait(`document.querySelector("main").innerText.includes("Written while the page was away.")`)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestBrowserHidden: a page that is not visible holds no connection, of which a browser has few. When it is visible again, it shows all
// that was written.
func TestBrowserHidden(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	v := demonstration(t)
	tab := b.Tab(t, browser.Look{})
	prices := key(t, v, "Prices are off by a cent")
	s := v.write(t, prices)
	defer s.Close()
	tab.Open(v.url + "/s/" + prices)
	streams := func(n string) {
		t.Helper()
		tab.Wait(`(x => (x.open("GET", "/metrics", false), x.send(), x.responseText.includes("\ntreeline_event_clients ` + n + `\n")))(new XMLHttpRequest())`)
	}
	hidden := func(is bool) {
		tab.Eval(fmt.Sprintf(`Object.defineProperty(document, "hidden", {value: %t, configurable: true}), document.dispatchEvent(new Event("visibilitychange"))`, is))
	}
	streams("1")
	hidden(true)
	streams("0")
	for i := range 100 {
		if _, err := s.AppendUser(t.Context(), fmt.Sprintf("Unseen %d.", i)); err != nil {
			t.Fatal(err)
		}
	}
	hidden(false)
	tab.Wait(`document.querySelector("[data-live=blocks]").innerText.includes("Unseen 99.")`)
	streams("1")
	if got := tab.Eval(`[...document.querySelectorAll("[data-live=blocks] > article")].filter(e => e.innerText.includes("Unseen")).length`); got != "100" {
		t.Errorf("%s of 100 entries are shown", got)
	}
}

// TestBrowserRefused: a page whose stream of events was refused, for example because there are too many clients, asks again.
func TestBrowserRefused(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	v := demonstration(t)
	var refusals atomic.Int64
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/events") && refusals.Add(1) == 1 {
			http.Error(w, "too many clients", http.StatusServiceUnavailable)
			return
		}
		v.srv.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	tab := b.Tab(t, browser.Look{})
	t.Cleanup(func() { tab.Open("about:blank") }) // ends its stream, which the server would wait for
	prices := key(t, v, "Prices are off by a cent")
	s := v.write(t, prices)
	defer s.Close()
	tab.Open(front.URL + "/s/" + prices)
	if _, err := s.AppendUser(t.Context(), "The last word."); err != nil {
		t.Fatal(err)
	}
	tab.Wait(`document.querySelector("[data-live=blocks]").innerText.includes("The last word.")`)
}

// TestBrowserTired: a list that the server may not read again yet is refreshed as soon as it may, although nothing else happens.
func TestBrowserTired(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	v := demonstration(t)
	tab := b.Tab(t, browser.Look{})
	prices := key(t, v, "Prices are off by a cent")
	s := v.write(t, prices)
	tab.Open(v.url)
	v.srv.Tire(4 * time.Second)
	if _, err := s.AppendUser(t.Context(), "The last word."); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	tab.Wait(fmt.Sprintf(`document.querySelector("main a[data-session]").href.endsWith(%q)`, prices))
}

// TestBrowserStays: the focus and what is unfolded stay where they are while a list, the changes of a session and its details are
// refreshed.
func TestBrowserStays(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	v := demonstration(t)
	tab := b.Tab(t, browser.Look{})
	prices := key(t, v, "Prices are off by a cent")
	s := v.write(t, prices)
	say := func(message string) {
		t.Helper()
		if _, err := s.AppendMessage(t.Context(), []byte(message)); err != nil {
			t.Fatal(err)
		}
	}
	focus := `document.activeElement.getAttribute("href")`
	tab.Open(v.url)
	tab.Press("jjj")
	at := tab.Eval(focus)
	say(`{"role":"user","content":"One more.","timestamp":1}`)
	tab.Wait(fmt.Sprintf(`document.querySelector("main a[data-session]").href.endsWith(%q)`, prices))
	if now := tab.Eval(focus); now != at {
		t.Errorf("the focus went from %s to %s", at, now)
	}
	next := tab.Eval(`[...document.querySelectorAll("main a[data-session]")].at([...document.querySelectorAll("main a[data-session]")].indexOf(document.activeElement) + 1).getAttribute("href")`)
	tab.Press("j")
	tab.Wait(fmt.Sprintf("%s == %q", focus, next))

	tab.Open(v.url + "/s/" + prices + "?mode=changes")
	tab.Click(".resume summary")
	tab.Click(".file summary")
	say(`{"role":"assistant","content":[{"type":"toolCall","id":"w1","name":"write","arguments":{"path":"notes.md","content":"new\n"}}],"model":"m","provider":"p","api":"a","usage":{},"stopReason":"toolUse","timestamp":2}`)
	say(`{"role":"toolResult","toolCallId":"w1","toolName":"write","content":[{"type":"text","text":"ok"}],"isError":false,"timestamp":3}`)
	tab.Wait(`document.querySelector("main").innerText.includes("4 files changed")`)
	if tab.Eval(`document.querySelector(".resume").open && !document.querySelector(".file").open && document.querySelectorAll(".file[open]").length == 3`) != "true" {
		t.Error("what is unfolded is another than before")
	}
	if tab.Eval(`document.activeElement.matches(".file:first-of-type > summary")`) != "true" {
		t.Error("the focus was lost")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if f := tab.Faults(); len(f) > 0 {
		t.Errorf("faults: %s", strings.Join(f, "\n"))
	}
}

// TestBrowserPrints: a page is printed dark on white, even in the dark theme.
func TestBrowserPrints(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	v := demonstration(t)
	tab := b.Tab(t, browser.Look{Dark: true, Print: true})
	tab.Open(v.url + "/s/" + key(t, v, "Prices are off by a cent"))
	for _, theme := range []string{"", "dark"} {
		tab.Eval(fmt.Sprintf(`document.documentElement.dataset.theme = %q`, theme))
		if got := tab.Eval(`getComputedStyle(document.body).color + " on " + getComputedStyle(document.body).backgroundColor`); got != "rgb(27, 29, 32) on rgb(255, 255, 255)" {
			t.Errorf("theme %q prints %s", theme, got)
		}
	}
}

// TestBrowserFolded: a tree that was folded with a key is unfolded with the same key.
func TestBrowserFolded(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	v := demonstration(t)
	tab := b.Tab(t, browser.Look{})
	tab.Open(v.url + "/s/" + key(t, v, "Prices are off by a cent"))
	tab.Eval(`document.querySelector(".fold").focus()`)
	for _, folded := range []string{"true", "false"} {
		tab.Press(" ")
		tab.Wait(`(document.querySelector(".graph").getClientRects().length == 0) == ` + folded)
		if tab.Eval(`document.querySelector(".fold").getClientRects().length`) != "1" {
			t.Errorf("folded %s: the focus cannot be where the tree is folded", folded)
		}
	}
}

// TestBrowserWithoutScript: pages can be read and walked through without JavaScript.
func TestBrowserWithoutScript(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	v := demonstration(t)
	tab := b.Tab(t, browser.Look{NoScript: true, Width: 390, Height: 844, Phone: true})
	tab.Open(v.url)
	tab.Click(`a[data-session][href$="` + key(t, v, "Prices are off by a cent") + `"]`)
	tab.Wait(`location.pathname.startsWith("/s/")`)
	tab.Click(`.switch a[rel=prev]`)
	tab.Wait(`document.body.innerText.includes("branch 1 of 2")`)
	tab.Click(`.modes a[href*="mode=focused"]`)
	tab.Wait(`location.search.includes("mode=focused")`)
	if tab.Eval(`document.documentElement.scrollWidth > innerWidth`) == "true" {
		t.Error("the page is wider than a phone")
	}
}

func key(t *testing.T, v viewer, title string) string {
	t.Helper()
	rows, err := v.store.Catalogue(t.Context(), treeline.RefreshOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.Heading() == title {
			return string(r.ID)
		}
	}
	t.Fatalf("no session is called %q", title)
	return ""
}

// TestBrowserHostile shows sessions full of what could harm a page. All of it is text.
func TestBrowserHostile(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	home := t.TempDir()
	attacks := []string{
		`<script>window.hit = 1</script>`, `<img src=x onerror="window.hit = 2">`, `<svg onload=window.hit=3>`,
		`[link](javascript:window.hit=4)`, `[link](  JaVaScRiPt:window.hit=5)`, `<javascript:window.hit=6>`, `![x](http://127.0.0.9/x.png)`,
		"[x](data:text/html,<script>window.hit=7</script>)", "```html\n<script>window.hit=8</script>\n```", "</pre></article><script>window.hit=9</script>",
		"\x1b]0;title\x07 \x1b[2J \x1b[31mred", "a\u202ed\u2066ef", `<a href="x" onclick="window.hit=10">x</a>`, `<style>*{display:none}</style>`,
		`<iframe src="http://127.0.0.9/"></iframe>`, `<meta http-equiv=refresh content="0;url=http://127.0.0.9/">`, `<base href="http://127.0.0.9/">`,
		`"><script>window.hit=11</script>`, `{{.}} ${window.hit=12} <!--`, strings.Repeat("[", 3000) + strings.Repeat(">", 3000),
	}
	file := filepath.Join(home, garden, "hostile.jsonl")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	const id = "0198a1b2-0000-7000-8000-00000000000f"
	log, parent := head(id), ""
	add := func(role, text string) {
		entry := fmt.Sprintf("x%d", strings.Count(log, "\n"))
		log, parent = log+said(entry, parent, role, text), entry
	}
	for _, a := range attacks {
		add("user", a)
		add("assistant", "> "+a+"\n\n| a | b |\n|---|---|\n| "+a+" | x |\n")
	}
	add("assistant", strings.Repeat("<b>long</b> ", 5<<20/12))
	long := strings.Repeat("long", 100)
	add("assistant", "`"+long+"` | "+long+"\n\n# "+long+"\n\nhttps://example.com/"+long)
	log = strings.Replace(log, `"cwd":"/garden"`, `"cwd":"/garden/`+long+`"`, 1)
	log += `{"type":"message","id":"t1","parentId":"` + parent + `","timestamp":"2026-02-16T10:00:02.000Z","message":{"role":"assistant","model":"` + long + `","content":[{"type":"toolCall","id":"c1","name":"mcp__` + long + `","arguments":{"path":"` + long + `"}}]}}` + "\n"
	log += `{"type":"label","id":"n3","parentId":"t1","timestamp":"2026-02-16T10:00:02.000Z","targetId":"t1","label":"` + long + `"}` + "\n"
	log += `{"type":"session_info","id":"n4","parentId":"n3","timestamp":"2026-02-16T10:00:02.000Z","name":"` + long + `"}` + "\n"
	log += `{"type":"session_info","id":"n1","parentId":null,"timestamp":"2026-02-16T10:00:02.000Z","name":"</title><script>window.hit=20</script>"}` + "\n"
	log += `{"type":"label","id":"n2","parentId":null,"timestamp":"2026-02-16T10:00:02.000Z","targetId":"x1","label":"<img src=x onerror=window.hit=21>"}` + "\n"
	if err := os.WriteFile(file, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	v := view(t, treeline.Options{Home: home, WorkDir: home, Getenv: func(string) string { return "" }, NoBreadcrumbs: true, NoConfig: true})
	s := v.url + "/s/" + id
	phone := b.Tab(t, browser.Look{Width: 390, Height: 844, Phone: true})
	for _, page := range []string{v.url, s, s + "?leaf=t1", s + "?leaf=t1&mode=model", s + "?mode=focused", s + "?mode=model", s + "/raw/t1", v.url + "/search?q=long*", v.url + "/usage"} {
		phone.Open(page)
		phone.Wait(`document.readyState == "complete"`)
		if wide := phone.Eval("document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide != "0" {
			t.Errorf("%s is %s pixels wider than a phone", page, wide)
		}
	}
	tab := b.Tab(t, browser.Look{})
	tab.Open(v.url)
	if tab.Eval(`document.querySelector(".list").scrollWidth > document.querySelector(".list").clientWidth`) == "true" {
		t.Error("a long title pushes columns out of the list")
	}
	for _, page := range []string{
		v.url, s, s + "?at=x1#x1", s + "?leaf=x20", s + "?mode=model", s + "?mode=focused", s + "?mode=changes", s + "/raw/x1", v.url + "/search?q=window.hit",
		v.url + "/search?q=%3Cscript%3Ewindow.hit=30%3C/script%3E", v.url + "/usage", v.url + "/s/%3Cscript%3Ewindow.hit=31%3C%2Fscript%3E",
	} {
		tab.Open(page)
		tab.Wait(`document.readyState == "complete"`)
		if got := tab.Eval("window.hit"); got != "undefined" {
			t.Errorf("%s: a script of a session ran: %s", page, got)
		}
		if got := tab.Eval(`document.querySelectorAll("main iframe, main style, main base, main meta, main script, main [onerror], main [onclick]").length`); got != "0" {
			t.Errorf("%s: %s elements of a session are in the page", page, got)
		}
		if got := tab.Eval(`[...document.links].filter(a => !/^(https?|mailto):$/.test(a.protocol)).length`); got != "0" {
			t.Errorf("%s: %s links lead to code", page, got)
		}
	}
	for _, f := range tab.Faults() {
		if !strings.Contains(f, "404") { // the page of a missing session
			t.Errorf("fault: %s", f)
		}
	}
}

// write opens a session for appending, like an agent beside the server.
func (v viewer) write(t *testing.T, key string) *treeline.Session {
	t.Helper()
	row, err := v.store.Find(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	s, err := v.store.OpenWrite(t.Context(), row.Path, treeline.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
