package page_test

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/page"
)

var write = flag.String("write", "", "write the pages to this `folder`, to look at them in a browser")

// allPages are one of each, by name.
func allPages(s *page.Site) map[string]func(io.Writer) error {
	doc := document()
	mode := func(m page.Mode) func(io.Writer) error {
		return func(w io.Writer) error {
			d := doc
			if d.Mode = m; m == page.Model {
				win := *d.Window
				win.Blocks, win.Estimate = slices.Clone(win.Blocks[7:]), 1950
				win.Blocks[0].Estimate = 1900
				d.Window = &win
			}
			return s.Session(w, d)
		}
	}
	return map[string]func(io.Writer) error{
		"sessions": func(w io.Writer) error { return s.Sessions(w, sessions()) },
		"none":     func(w io.Writer) error { return s.Sessions(w, page.SessionsPage{Sources: sources()}) },
		"nomatch": func(w io.Writer) error {
			return s.Sessions(w, page.SessionsPage{Total: 3, Query: page.ListQuery{Source: "pi", Has: []string{"branch"}}})
		},
		"session": mode(page.Everything),
		"model":   mode(page.Model),
		"changes": mode(page.Changes),
		"search":  func(w io.Writer) error { return s.Search(w, search()) },
		"usage":   func(w io.Writer) error { return s.Usage(w, usagePage()) },
		"runs":    func(w io.Writer) error { return s.Runs(w, runsPage()) },
		"error": func(w io.Writer) error {
			return s.Error(w, page.ErrorPage{Status: 404, Message: "no session with the id 0199zz", Advice: "It may have been moved to the trash. The list shows the sessions that are there."})
		},
		"login":    func(w io.Writer) error { return s.Login(w, page.LoginPage{Next: "/s/1", Wrong: true}) },
		"raw":      func(w io.Writer) error { return s.Raw(w, rawPage()) },
		"run":      func(w io.Writer) error { return s.Run(w, runPage()) },
		"fragment": func(w io.Writer) error { return s.Fragment(w, doc) },
		"hits":     func(w io.Writer) error { return s.SearchHits(w, search()) },
	}
}

func site() *page.Site {
	return &page.Site{Home: "/home/you", Now: func() time.Time { return now }}
}

// TestPages writes every page. With -write they can be looked at.
func TestPages(t *testing.T) {
	s := site()
	if *write != "" {
		s.Base = *write
		for _, a := range page.Assets() {
			save(t, filepath.Join(*write, "assets", a.Name), a.Data)
		}
	}
	for name, f := range allPages(s) {
		var b bytes.Buffer
		if err := f(&b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if *write != "" {
			save(t, filepath.Join(*write, name+".html"), b.Bytes())
		}
	}
}

func save(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
