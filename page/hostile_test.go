package page_test

import (
	"bytes"
	"io"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/page"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/transcript"
)

// hostile is used for every text: it tries to end an attribute, to begin an element, to run a script, to control a terminal and to change
// the direction of writing.
const hostile = "x\"'><script>alert(1)</script><img src=x onerror=alert(2)>[l](javascript:alert(3)) \x1b[31m\u202e\u2066javascript:alert(4) ]]>{{.}}"

// poison replaces all strings of a value, except those of types whose values are our own words.
func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			poison(v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() && v.CanSet() {
			inner := reflect.New(v.Elem().Type()).Elem()
			inner.Set(v.Elem())
			poison(inner)
			v.Set(inner)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				poison(f)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			if v.CanSet() && v.Len() > 0 {
				v.SetBytes([]byte(hostile))
			}
			return
		}
		for i := range v.Len() {
			poison(v.Index(i))
		}
	case reflect.String:
		if v.Type() != reflect.TypeFor[page.Mode]() && v.CanSet() {
			v.SetString(hostile)
		}
	}
}

func poisoned[T any](v T) T {
	poison(reflect.ValueOf(&v).Elem())
	return v
}

// hostilePages returns all pages with hostile texts in every place.
func hostilePages(s *page.Site) map[string]func(io.Writer) error {
	show := func(m page.Mode) func(io.Writer) error {
		d := poisoned(document())
		d.Mode, d.Events = m, "/events"
		d.Image = func(transcript.Image) string { return hostile }
		d.SessionKey = func(session.ID) string { return hostile }
		for i := range d.Window.Blocks {
			if f := d.Window.Blocks[i].Fork; f != nil {
				f.Current = 2
			}
		}
		return func(w io.Writer) error { return s.Session(w, d) }
	}
	list, hits, stats, runs, one, raw := poisoned(sessions()), poisoned(search()), poisoned(usagePage()), poisoned(runsPage()), runPage(), poisoned(rawPage())
	list.Events, list.Index = "/events", "" // the server's own
	one.RunRow, one.Audit = poisoned(one.RunRow), poisoned(one.Audit)
	return map[string]func(io.Writer) error{
		"sessions": func(w io.Writer) error { return s.Sessions(w, list) },
		"none":     func(w io.Writer) error { return s.Sessions(w, page.SessionsPage{Sources: poisoned(sources())}) },
		"session":  show(page.Everything), "model": show(page.Model), "changes": show(page.Changes),
		"search": func(w io.Writer) error { return s.Search(w, hits) },
		"failed": func(w io.Writer) error { return s.Search(w, page.SearchPage{Query: hostile, Error: hostile}) },
		"usage":  func(w io.Writer) error { return s.Usage(w, stats) },
		"runs":   func(w io.Writer) error { return s.Runs(w, runs) },
		"run":    func(w io.Writer) error { return s.Run(w, one) },
		"raw":    func(w io.Writer) error { return s.Raw(w, raw) },
		"error":  func(w io.Writer) error { return s.Error(w, page.ErrorPage{Message: hostile, Advice: hostile}) },
		"login":  func(w io.Writer) error { return s.Login(w, page.LoginPage{Next: hostile, Wrong: hostile}) },
	}
}

// TestHostile: whatever a log contains, a page has only our elements and attributes, and shows everything else as text.
func TestHostile(t *testing.T) {
	for name, f := range hostilePages(site()) {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := f(&b); err != nil {
				t.Fatal(err)
			}
			checkHTML(t, b.String(), false)
			for _, c := range []string{"\x1b", "\u202e", "\u2066"} {
				if i := strings.Index(b.String(), c); i >= 0 {
					t.Errorf("the page has the character %q: %q", c, b.String()[max(i-120, 0):i+20])
				}
			}
			if strings.Contains(b.String(), "ZgotmplZ") {
				t.Error("html/template refused a value: the page has a broken link")
			}
		})
	}
}

// TestCleanPages: pages with usual values pass the same check, and each of their links leads to a page of the site.
func TestCleanPages(t *testing.T) {
	for name, f := range allPages(site()) {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := f(&b); err != nil {
				t.Fatal(err)
			}
			checkHTML(t, b.String(), false)
		})
	}
}

var (
	tagForm       = regexp.MustCompile(`^<(/?)([a-z][a-z0-9]*)((?:\s+[a-zA-Z-]+(?:="[^"]*")?)*)\s*(/?)>`)
	attributeForm = regexp.MustCompile(`\s+([a-zA-Z-]+)(?:="([^"]*)")?`)
	void          = map[string]bool{"meta": true, "link": true, "input": true, "img": true, "br": true, "hr": true}
)

// What pages may contain. Attributes that begin with data- or aria- are not restricted.
var (
	allowedTags = words(`html head meta link title script style body a b i p div span main nav header aside section article details summary form input
		label button h1 h2 h3 h4 h5 h6 ul ol li dl dt dd table thead tbody tr th td pre code kbd small time img svg g path rect circle text mark em strong del blockquote hr br`)
	allowedAttributes = words(`href src class id rel type name value content charset lang role action method placeholder autocomplete autofocus required
		spellcheck maxlength hidden for tabindex title datetime scope colspan open alt loading d x y r cx cy rx width height viewBox start dir text-anchor http-equiv align checked disabled`)
)

func words(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}

// checkHTML parses a page strictly: known elements that are properly nested, known attributes in double quotes, and links to harmless
// places. A stray < is an error.
func checkHTML(t *testing.T, html string, export bool) {
	t.Helper()
	html = strings.TrimPrefix(html, "<!doctype html>")
	var open []string
	for {
		i := strings.IndexByte(html, '<')
		if i < 0 {
			break
		}
		html = html[i:]
		m := tagForm.FindStringSubmatch(html)
		if m == nil {
			t.Fatalf("not a tag: %.120q", html)
		}
		html = html[len(m[0]):]
		name := m[2]
		if !allowedTags[name] {
			t.Fatalf("the element %s", name)
		}
		if m[1] == "/" {
			if len(open) == 0 || open[len(open)-1] != name {
				t.Fatalf("</%s> in %v", name, open)
			}
			open = open[:len(open)-1]
			continue
		}
		inline := checkAttributes(t, name, m[3])
		if name == "script" || name == "style" {
			if inline && !export {
				t.Fatalf("an inline %s", name)
			}
			if i := strings.Index(html, "</"+name+">"); i >= 0 && inline {
				html = html[i:]
			}
		}
		if !void[name] && m[4] == "" {
			open = append(open, name)
		}
	}
	if len(open) > 0 {
		t.Errorf("not closed: %v", open)
	}
}

// checkAttributes reports whether the element has no src.
func checkAttributes(t *testing.T, tag, list string) (inline bool) {
	t.Helper()
	inline = true
	for _, a := range attributeForm.FindAllStringSubmatch(list, -1) {
		name, value := a[1], a[2]
		if !allowedAttributes[name] && !strings.HasPrefix(name, "data-") && !strings.HasPrefix(name, "aria-") {
			t.Errorf("the attribute %s of %s", name, tag)
		}
		switch name {
		case "href", "src", "action":
			inline = inline && name != "src"
			ok := strings.HasPrefix(value, "/") && !strings.HasPrefix(value, "//") || strings.HasPrefix(value, "#") || value == "data:," ||
				strings.HasPrefix(value, "./") || tag == "img" && strings.HasPrefix(value, "data:image/png;base64,")
			if !ok {
				t.Errorf("%s leads to %q", tag, value)
			}
		}
	}
	return inline
}
