package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/browser"
	"github.com/treeline-dev/treeline/server"
)

// noWider fails if the page is wider than its window.
func noWider(t *testing.T, tab *browser.Tab, what string) {
	t.Helper()
	if wide := tab.Eval("document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide != "0" {
		t.Errorf("%s: the page is %s pixels too wide", what, wide)
	}
}

// TestBrowserNarrow: menus, hits, long names and sessions without a tree fit into windows of every width.
func TestBrowserNarrow(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	demo := demonstration(t)
	_, empty, _ := lone(t, head(beds))
	long := strings.Repeat("tomatoes ", 12)
	_, full, _ := lone(t, head(beds)+`{"type":"model_change","id":"b0","parentId":null,"timestamp":"2026-02-16T10:00:00.000Z","model":"anthropic/claude-sonnet-4-5-with-a-long-name"}`+"\n"+
		said("b1", "b0", "user", "Root")+said("b2", "b1", "assistant", long)+said("b3", "b1", "assistant", strings.Repeat("tomato", 20))+said("b4", "b1", "assistant", long)+
		fmt.Sprintf(`{"type":"message","id":"b5","parentId":"b4","timestamp":"2026-02-16T10:00:01.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"water","arguments":{%q:"1 l","bed":"west"}}],"stopReason":"toolUse"}}`+"\n", strings.Repeat("k", 60)))
	for _, width := range []int64{320, 390, 600, 800, 1000, 1280} {
		at := func(what string) string { return fmt.Sprintf("%d pixels, %s", width, what) }
		tab := b.Tab(t, browser.Look{Width: width, Height: 800, Phone: width < 600})
		tab.Open(demo.url)
		if got := tab.Eval(`[...document.querySelectorAll(".filters .menu")].every((e) => e.clientWidth >= e.firstElementChild.offsetWidth)`); got != "true" {
			t.Error(at("the filters overlap"))
		}
		tab.Eval(`window.turns = 0, document.addEventListener("toggle", () => turns++, true)`)
		for i := range 5 {
			tab.Eval(fmt.Sprintf(`window.turns = 0, document.querySelectorAll(".filters .menu")[%d].open = true`, i))
			tab.Wait(`turns > 0`)
			noWider(t, tab, at(fmt.Sprintf("menu %d", i)))
			tab.Eval(`window.turns = 0, document.querySelector(".filters .menu[open]").open = false`)
			tab.Wait(`turns > 0`)
		}
		tab.Press("/cents")
		tab.Wait(`document.querySelector(".found:not([hidden]) a")`)
		noWider(t, tab, at("hits"))
		if got := tab.Eval(`(e => e.scrollWidth - e.clientWidth)(document.querySelector(".found"))`); got != "0" {
			t.Errorf("%s pixels too wide", at("the list of hits is "+got))
		}

		tab.Open(empty)
		noWider(t, tab, at("no entries"))
		if got := tab.Eval(`document.querySelector("main").clientWidth > innerWidth / 2`); got != "true" {
			t.Error(at("the session is narrower than half of the window"))
		}

		tab.Open(full)
		tab.Eval(`document.querySelectorAll("main details").forEach((d) => { d.open = true })`)
		noWider(t, tab, at("long names"))
		if got := tab.Eval(`[...document.querySelectorAll(".switch .menu > div > a")].every((a) => a.scrollWidth <= a.clientWidth)`); got != "true" {
			t.Error(at("a branch is wider than the menu"))
		}
		if got := tab.Eval(`[...document.querySelectorAll(".tool .args dd")].filter((d) => d.clientWidth > 100).length`); got != "2" {
			t.Errorf("%s: %s arguments have room, want 2", at("tool"), got)
		}
		if got := tab.Eval(`[...document.querySelectorAll(".note > :not(:first-child)")].every((e) => e.getBoundingClientRect().height < 24)`); got != "true" {
			t.Error(at("the time or the id of a note is broken into lines"))
		}
	}
}

// TestBrowserFollows: a page that follows a session stays where it is after its reader went back, and follows into another branch.
func TestBrowserFollows(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	log, parent := head(beds), ""
	for i := range 30 {
		id := fmt.Sprintf("m%d", i)
		log, parent = log+said(id, parent, "user", fmt.Sprintf("Row %d.", i)), id
	}
	_, page, file := lone(t, log)
	tab := b.Tab(t, browser.Look{})
	tab.Open(page)
	const end = `innerHeight + scrollY > document.body.scrollHeight - 2`
	tab.Press("f")
	tab.Wait(end)
	extend(t, file, said("n1", parent, "user", "One more."))
	tab.Wait(`document.querySelector("#n1") && ` + end)
	tab.Wait(`document.querySelector("[data-do=follow]").textContent == "Following"`)
	tab.Eval(`scrollBy(0, -600)`)
	tab.Wait(`document.querySelector("[data-do=follow]").textContent == "Follow"`)
	at := tab.Eval("scrollY")
	extend(t, file, said("n2", "n1", "user", "And another."))
	tab.Wait(`document.querySelector("#n2") && document.querySelector("[data-do=newest]").textContent == "1 new entry"`)
	if now := tab.Eval("scrollY"); now != at {
		t.Errorf("the page moved from %s to %s", at, now)
	}
	tab.Press("f")
	tab.Wait(end)
	extend(t, file, said("n3", "m20", "user", "In another branch.")+said("n4", "n3", "assistant", strings.Repeat("A long line.\n\n", 60)))
	tab.Wait(`document.querySelector("#n4") && document.readyState == "complete" && document.querySelector("[data-do=follow]").textContent == "Following" && ` + end)
	extend(t, file, said("n5", "n4", "user", "Onward."))
	tab.Wait(`document.querySelector("#n5") && ` + end)
	tab.Eval(`scrollBy(0, -600)`)
	tab.Wait(`document.querySelector("[data-do=follow]").textContent == "Follow" && history.scrollRestoration == "auto"`)
}

// TestBrowserMore: the keys lead to the last entry and to the links to earlier and later entries, and the focus stays on such a link.
func TestBrowserMore(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	log, parent := head(beds), ""
	for i := range 300 {
		id := fmt.Sprintf("m%d", i)
		log, parent = log+said(id, parent, "user", fmt.Sprintf("Row %d.", i)), id
	}
	_, page, _ := lone(t, log)
	tab := b.Tab(t, browser.Look{})
	tab.Open(page)
	tab.Press("Gk")
	tab.Wait(`document.querySelector("#m298.now")`)
	for _, way := range []struct{ key, attribute string }{{"j", "after"}, {"k", "before"}} {
		tab.Open(page + "?at=m150")
		link := fmt.Sprintf(`document.querySelector("[data-more=%s]")`, way.attribute)
		tab.Wait(link)
		n := tab.Eval(`document.querySelectorAll("[data-block]").length`)
		tab.Eval(fmt.Sprintf(`%s.scrollIntoView({ block: "center" })`, link))
		tab.Press(strings.Repeat(way.key, 20))
		tab.Wait("document.activeElement == " + link)
		tab.Press("\r")
		tab.Wait(`document.querySelectorAll("[data-block]").length > ` + n)
		tab.Wait("document.activeElement == " + link)
	}
}

// TestBrowserRaw: j and k lead from a raw entry to the next and the previous one.
func TestBrowserRaw(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	_, page, _ := lone(t, head(beds)+said("b1", "", "user", "Where do the tomatoes go?")+said("b2", "b1", "assistant", "Beside the basil."))
	tab := b.Tab(t, browser.Look{})
	tab.Open(page + "/raw/b1")
	tab.Press("j")
	tab.Wait(`location.pathname.endsWith("/raw/b2") && document.readyState == "complete"`)
	tab.Press("k")
	tab.Wait(`location.pathname.endsWith("/raw/b1")`)
}

// TestBrowserSignsIn: the forms work in a browser: a wrong token is told, the right one opens the page that was asked for, and signing out
// closes it. A link on another site needs no second sign-in.
func TestBrowserSignsIn(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	m := newMachine(t)
	m.must(m.Close())
	m.start(func(o *server.Options) { o.Token = "secret" })
	url := m.listen()
	tab := b.Tab(t, browser.Look{})
	tab.Open(url + "/usage")
	tab.Wait(`document.activeElement.matches("[type=password]")`)
	tab.Press("wrong\r")
	tab.Wait(`document.body.innerText.includes("Not accepted") && document.activeElement.matches("[type=password]")`)
	tab.Press("secret\r")
	tab.Wait(`location.pathname == "/usage" && document.querySelector("h1")?.innerText == "Usage"`)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `<a href="%s/runs">runs</a>`, url) // a browser that is gone
	}))
	t.Cleanup(other.Close)
	elsewhere := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	if res, err := http.Get(elsewhere); err == nil { // the name may have another address
		m.must(res.Body.Close())
		tab.Open(elsewhere)
		tab.Eval(`document.querySelector("a").click()`)
		tab.Wait(`location.pathname == "/runs" && document.querySelector("h1")?.innerText == "Runs"`)
	}
	tab.Open(url)
	tab.Click(`form[action$="logout"] button`)
	tab.Wait(`document.querySelector("[type=password]")`)
	tab.Open(url + "/usage")
	tab.Wait(`document.querySelector("[type=password]")`)
}
