package server_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/internal/browser"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

var pictures = flag.String("pictures", "", "folder for pictures of all pages")

// TestLooks opens every page in the three looks; outside of CI, in one. No page may be wider than its window, break the content policy, or fail.
// With -pictures it also takes a picture of each; docs/*.png come from there.
func TestLooks(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	v := demonstration(t)
	prices, returns := key(t, v, "Prices are off by a cent"), key(t, v, "Customers can return items")
	runs, err := v.store.Runs(t.Context(), treeline.RunListOptions{})
	if err != nil || len(runs) == 0 {
		t.Fatalf("runs of the demo: %v, %v", runs, err)
	}
	pages := []struct{ name, path string }{
		{"sessions", "/"},
		{"filtered", "/?agent=omp&has=branch"},
		{"empty", "/?agent=wave&title=nothing"},
		{"session", "/s/" + prices},
		{"fork", "/s/" + prices + "#" + tip(t, v, prices, "Prices are ")},
		{"branch", "/s/" + prices + "?leaf=" + tip(t, v, prices, "Done, but two tests still fail")},
		{"agents", "/s/" + returns},
		{"focused", "/s/" + prices + "?mode=focused"},
		{"model", "/s/" + prices + "?mode=model"},
		{"changes", "/s/" + returns + "?mode=changes"},
		{"raw", "/s/" + prices + "/raw/" + tip(t, v, prices, "Done, but two tests still fail")},
		{"search", "/search?q=cents"},
		{"runs", "/runs"},
		{"run", "/runs/" + runs[0].Header.RunID},
		{"usage", "/usage"},
		{"error", "/s/nosuch"},
	}
	for _, look := range []struct {
		name string
		browser.Look
	}{
		{"light", browser.Look{Width: 1280, Height: 860}},
		{"dark", browser.Look{Width: 1280, Height: 860, Dark: true}},
		{"phone", browser.Look{Width: 390, Height: 844, Phone: true}},
	} {
		if look.name != "light" && *pictures == "" && !soaktest.Every() {
			continue // CI looks at all of them
		}
		tab := b.Tab(t, look.Look)
		for _, p := range pages {
			tab.Open(v.url + p.path)
			tab.Wait(`document.readyState == "complete"`)
			if wide := tab.Eval("document.documentElement.scrollWidth - document.documentElement.clientWidth"); wide != "0" {
				t.Errorf("%s, %s: the page is %s pixels too wide", p.name, look.name, wide)
			}
			if *pictures != "" {
				if err := os.MkdirAll(*pictures, 0o755); err != nil {
					t.Fatal(err)
				}
				tab.Screenshot(filepath.Join(*pictures, fmt.Sprintf("%s-%s.png", p.name, look.name)))
			}
		}
		for _, f := range tab.Faults() {
			if !strings.Contains(f, "404") { // the page of a missing session
				t.Errorf(`%s: %s; want strings.Contains(f, "404")`, look.name, f)
			}
		}
	}
}

// tip returns the entry of a session whose text begins with text.
func tip(t *testing.T, v viewer, id, text string) string {
	t.Helper()
	row, err := v.store.Find(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	s, err := v.store.Open(t.Context(), row.Path, treeline.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for e := range s.Tree().Entries() {
		raw, err := e.Raw()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), `"text":"`+text) {
			return string(e.ID)
		}
	}
	t.Fatalf("no entry begins with %q", text)
	return ""
}
