package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/internal/browser"
)

// lone serves one session with this log, and returns the session's page and file.
func lone(t *testing.T, log string) (v viewer, page, file string) {
	t.Helper()
	home := t.TempDir()
	file = filepath.Join(home, garden, "lone.jsonl")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	v = view(t, treeline.Options{Home: home, WorkDir: home, Getenv: func(string) string { return "" }, NoBreadcrumbs: true, NoConfig: true})
	return v, v.url + "/s/" + beds, file
}

func extend(t *testing.T, file, text string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestBrowserBegins: a session without entries has the whole width. With its first entry it gets its title and its tree, and later ones are counted.
func TestBrowserBegins(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	_, page, file := lone(t, head(beds))
	tab := b.Tab(t, browser.Look{})
	tab.Open(page)
	tab.Wait(`document.querySelector("main").innerText.includes("There are no entries yet.")`)
	if tab.Eval(`document.querySelector("main").clientWidth > document.querySelector(".side").clientWidth`) != "true" {
		t.Error("the details are wider than the session")
	}
	extend(t, file, said("b1", "", "user", "Where do the tomatoes go?"))
	tab.Wait(`document.querySelector("h1").innerText == "Where do the tomatoes go?" && document.querySelector(".graph a")`)
	if strings.Contains(tab.Text(), "There are no entries yet.") {
		t.Error("the session is still called empty")
	}
	tab.Wait(`document.querySelector(".meta").innerText.includes("1 entry")`)
	extend(t, file, said("b2", "b1", "assistant", "Beside the basil."))
	tab.Wait(`document.querySelector(".meta").innerText.includes("2 entries")`)
}

// TestBrowserLost: a page says so while its session is removed or the server is away.
func TestBrowserLost(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	v, page, file := lone(t, head(beds)+said("b1", "", "user", "Where do the tomatoes go?"))
	const toast = `document.querySelector(".toast:not([hidden])")?.innerText`
	// Messages that disappear after a while do so at once.
	const hurry = `window.setTimeout = (now => (f, ms) => now(f, ms == 2500 ? 0 : ms))(window.setTimeout)`

	var away atomic.Bool
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			http.Error(w, "away", http.StatusBadGateway)
			return
		}
		v.srv.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	tab := b.Tab(t, browser.Look{})
	t.Cleanup(func() { tab.Open("about:blank") }) // ends its stream, which the server would wait for
	tab.Open(strings.Replace(page, v.url, front.URL, 1))
	tab.Eval(hurry)
	away.Store(true)
	front.CloseClientConnections()
	tab.Wait(toast + `?.includes("connection to the server is lost")`)
	away.Store(false)
	tab.Wait(toast + ` == null`)

	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	tab.Wait(toast + `?.includes("removed")`)
	tab.Eval(`setTimeout(() => { window.later = true }, 2500)`)
	tab.Wait(`window.later`)
	if got := tab.Eval(toast); !strings.Contains(got, "removed") {
		t.Errorf("the page says %s", got)
	}
}

// TestBrowserSignedOut: a page whose token is no longer valid asks for another one.
func TestBrowserSignedOut(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	v, page, _ := lone(t, head(beds)+said("b1", "", "user", "Where do the tomatoes go?"))
	var out atomic.Bool
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if out.Load() {
			http.Error(w, "Sign in", http.StatusUnauthorized)
			return
		}
		v.srv.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	tab := b.Tab(t, browser.Look{})
	page = strings.Replace(page, v.url, front.URL, 1)
	tab.Open(page)
	out.Store(true)
	front.CloseClientConnections()
	tab.Wait(`document.body.innerText.includes("Sign in")`)

	out.Store(false)
	tab.Open(page)
	tab.Wait(`document.querySelector("form.search:not([hidden])")`)
	out.Store(true)
	tab.Press("/tomatoes")
	tab.Wait(`document.body.innerText.includes("Sign in")`)
}

// TestBrowserTyping: the hits so far stay while a search is typed, and go when the focus leaves it.
func TestBrowserTyping(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	v, _, _ := lone(t, head(beds)+said("b1", "", "user", "Where do the tomatoes go?"))
	tab := b.Tab(t, browser.Look{})
	tab.Open(v.url)
	tab.Press("/tomato*")
	tab.Wait(`document.querySelector(".found:not([hidden]) a")`)
	tab.Eval(`window.seen = [], new MutationObserver(() => window.seen.push(document.querySelector(".found").hidden)).observe(document.querySelector(".found"), { attributes: true })`)
	tab.Press(" where")
	tab.Wait(`document.querySelectorAll(".found mark").length == 2`)
	if seen := tab.Eval(`window.seen.includes(true)`); seen != "false" {
		t.Error("the hits vanish while the next ones are looked for")
	}
	tab.Eval(`document.querySelector("main [data-session]").focus()`)
	tab.Wait(`document.querySelector(".found").hidden`)
}

// TestBrowserTreeFollows: the row of the message that a key selects is scrolled into view.
func TestBrowserTreeFollows(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	log, parent := head(beds), ""
	for i := range 80 {
		id := fmt.Sprintf("m%d", i)
		log, parent = log+said(id, parent, "user", fmt.Sprintf("Row %d.", i)), id
	}
	_, page, _ := lone(t, log)
	tab := b.Tab(t, browser.Look{Width: 1280, Height: 480})
	tab.Open(page + "?first=1")
	for range 30 {
		tab.Press("j")
	}
	tab.Wait(`document.querySelector("[data-block].now")?.innerText.includes("Row 2")`)
	const inSight = `(([row, rail]) => row.top >= rail.top && row.bottom <= rail.bottom)([".graph [aria-current]", ".rail"].map((q) => document.querySelector(q).getBoundingClientRect()))`
	if tab.Eval(inSight) != "true" {
		t.Error("the row of the message is out of sight")
	}
}

// TestBrowserDirection: a paragraph and a list in a right-to-left script begin at the right, and code does not.
func TestBrowserDirection(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	_, page, _ := lone(t, head(beds)+said("b1", "", "user", "שלום עולם")+said("b2", "b1", "assistant", "Hello.\n\n```\nשלום\n```")+said("b3", "b2", "assistant", "- שלום\n\n1. Hello."))
	tab := b.Tab(t, browser.Look{})
	tab.Open(page)
	right := func(selector string) string {
		return tab.Eval(`(e => { const r = document.createRange(); r.selectNodeContents(e); const box = r.getBoundingClientRect(), all = e.getBoundingClientRect();
			return all.right - box.right < box.left - all.left })(document.querySelector("` + selector + `"))`)
	}
	for selector, want := range map[string]string{"#b1 .md p": "true", "h1": "true", "#b2 .md p": "false", "#b2 pre": "false"} {
		if got := right(selector); got != want {
			t.Errorf("%s begins at the right: %s, want %s", selector, got, want)
		}
	}
	for selector, want := range map[string]string{".md ul": "rtl", ".md ol": "ltr"} { // the side of the bullets
		if got := tab.Eval(`getComputedStyle(document.querySelector("` + selector + `")).direction`); got != want {
			t.Errorf("%s is written %s, want %s", selector, got, want)
		}
	}
}

// TestBrowserReadable: marked words are as bright as the text in the dark theme, links within a line are underlined, and the headings of
// hits are one level below that of the page.
func TestBrowserReadable(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	v := demonstration(t)
	tab := b.Tab(t, browser.Look{Dark: true})
	tab.Open(v.url + "/search?q=cents")
	if tab.Eval(`getComputedStyle(document.querySelector("main mark")).color == getComputedStyle(document.body).color`) != "true" {
		t.Error("marked words are darker than the text")
	}
	if got := tab.Eval(`document.querySelector("main section").firstElementChild.localName`); got != "h2" {
		t.Errorf("the heading below h1 is %s", got)
	}
	tab.Open(v.url + "/runs")
	if got := tab.Eval(`getComputedStyle(document.querySelector(".list .s a")).textDecorationLine`); got != "underline" {
		t.Errorf("a link within a line has the decoration %s", got)
	}
}
