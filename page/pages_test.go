package page_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/page"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/transcript"
)

var write = flag.String("write", "", "write the pages to this `folder`, to look at them in a browser")

// allPages returns one page of each kind, by name.
func allPages(s *page.Site) map[string]func(io.Writer) error {
	doc := document()
	mode := func(m page.Mode) func(io.Writer) error {
		return func(w io.Writer) error {
			d := doc
			if d.Mode = m; m == page.Model {
				win := *d.Window
				win.Blocks, win.Total, win.Estimate = slices.Clone(win.Blocks[7:]), 4, 1950
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
		"login": func(w io.Writer) error { return s.Login(w, page.LoginPage{Next: "/s/1", Wrong: "the token is wrong"}) },
		"raw":   func(w io.Writer) error { return s.Raw(w, rawPage()) },
		"run":   func(w io.Writer) error { return s.Run(w, runPage()) },
		"changes of nothing": func(w io.Writer) error {
			d := doc
			d.Mode, d.Files, d.Rail = page.Changes, nil, nil
			return s.Session(w, d)
		},
		"fragment": func(w io.Writer) error { return s.Fragment(w, doc) },
		"hits":     func(w io.Writer) error { return s.SearchHits(w, search()) },
	}
}

func site() *page.Site {
	return &page.Site{Home: "/home/you", Now: func() time.Time { return now }}
}

// TestPages writes every page. With -write they are written to files.
func TestPages(t *testing.T) {
	s := site()
	if *write != "" {
		s.Base = *write
		for _, a := range page.Assets() {
			save(t, filepath.Join(*write, "assets", a.Name), a.Data)
		}
	}
	all := allPages(s)
	all["export"] = func(w io.Writer) error { return exporter().Session(w, exported()) }
	all["index"] = func(w io.Writer) error {
		p := sessions()
		p.Index = "search.js"
		return (&page.Site{Base: ".", Export: true}).Sessions(w, p)
	}
	all["search.js"] = func(w io.Writer) error {
		return page.IndexScript(w, []page.IndexEntry{{Href: "s/0199a7.html", Title: "Prices are off by a cent", Dialect: "omp", Texts: []page.IndexText{{Anchor: "#b7125ec8", Text: "Count in </script> cents."}}}})
	}
	for name, f := range all {
		var b bytes.Buffer
		if err := f(&b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if *write != "" {
			if filepath.Ext(name) == "" {
				name += ".html"
			}
			save(t, filepath.Join(*write, name), b.Bytes())
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

func exporter() *page.Site { return &page.Site{Export: true} }

// exported returns the document with its other branch.
func exported() page.SessionPage {
	d := document()
	d.Events, d.Resume, d.Exports = "", "", nil
	fork := *d.Window.Blocks[4].Fork
	fork.Current = 1
	d.Sections = []page.Section{{From: "5a60be28", Branch: 1, Of: 2, Label: "Round at the end.", Window: &transcript.Window{Blocks: []transcript.Block{
		{ID: "e01", Role: session.RoleUser, Prompt: true, Fork: &fork, Time: at(4), Pieces: []transcript.Piece{transcript.Text{Text: "Round at the end."}}},
		{ID: "e03", Role: session.RoleAssistant, Time: at(5), Pieces: []transcript.Piece{transcript.Text{Text: "Done, but two tests still fail."}}},
	}}}}
	d.Image = func(transcript.Image) string { return "data:image/png;base64,iVBORw0KGgo=" }
	return d
}

// BenchmarkSession writes a page of 120 blocks.
func BenchmarkSession(b *testing.B) {
	d := document()
	for len(d.Window.Blocks) < 120 {
		d.Window.Blocks = append(d.Window.Blocks, d.Window.Blocks[:8]...)
	}
	s := site()
	for b.Loop() {
		if err := s.Session(io.Discard, d); err != nil {
			b.Fatal(err)
		}
	}
}

// TestDeepRail: the drawing of a tree is wide enough for its last column.
func TestDeepRail(t *testing.T) {
	d := document()
	for i := range d.Rail.Rows {
		d.Rail.Rows[i].Column = i
	}
	d.Rail.Columns = len(d.Rail.Rows)
	text := html(t, func(w io.Writer) error { return site().Session(w, d) })
	width := 0
	if _, err := fmt.Sscanf(text[strings.Index(text, `<svg width="`):], `<svg width="%d"`, &width); err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`<circle [^>]*cx="(\d+)"`).FindAllStringSubmatch(text, -1) {
		if x, err := strconv.Atoi(m[1]); err != nil || x+6 > width {
			t.Errorf("a circle at %s in a picture of %d pixels", m[1], width)
		}
	}
}

// TestBeforeFirst: a session whose leaf is before its first entry is not said to be empty.
func TestBeforeFirst(t *testing.T) {
	d := document()
	d.Window.Blocks = nil
	want(t, html(t, func(w io.Writer) error { return site().Session(w, d) }), "before its first entry")
	d.Entries = 0
	want(t, html(t, func(w io.Writer) error { return site().Session(w, d) }), "There are no entries yet")
}
