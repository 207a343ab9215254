package page_test

import (
	"bytes"
	"errors"
	"html/template"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/page"
)

// TestOracle: the generated code writes the same as html/template.
func TestOracle(t *testing.T) {
	export := site()
	export.Export, export.Base = true, "."
	for kind, s := range map[string]*page.Site{"server": site(), "export": export} {
		for name, pages := range map[string]func(*page.Site) map[string]func(io.Writer) error{"usual": allPages, "hostile": hostilePages} {
			want := pages(s.ByTemplates())
			for p, f := range pages(s) {
				t.Run(kind+"/"+name+"/"+p, func(t *testing.T) {
					if diff := difftest.Diff(strings.SplitAfter(html(t, want[p]), "\n"), strings.SplitAfter(html(t, f), "\n")); diff != "" {
						t.Errorf("html/template writes something else (-html/template +generated):\n%s", diff)
					}
				})
			}
		}
	}
}

// TestEscapers: texts and addresses of any content are escaped in the same way as by html/template.
func TestEscapers(t *testing.T) {
	set := template.Must(template.New("text").Parse(`{{.}}`))
	template.Must(set.New("attribute").Parse(`<p title="{{.}}">`))
	template.Must(set.New("address").Parse(`<a href="{{.}}">`))
	byTemplate := func(name string, v any) string {
		var b strings.Builder
		if err := set.ExecuteTemplate(&b, name, v); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	check := func(s string) {
		t.Helper()
		for name, pair := range map[string][2]string{
			"text":      {byTemplate("text", s), page.EscapeText(s)},
			"attribute": {byTemplate("attribute", s), `<p title="` + page.EscapeText(s) + `">`},
			"link":      {byTemplate("address", s), `<a href="` + page.EscapeLink(s) + `">`},
			"address":   {byTemplate("address", template.URL(s)), `<a href="` + page.EscapeAddress(s) + `">`},
		} {
			if pair[0] != pair[1] {
				t.Fatalf("%s %q: %q, html/template writes %q", name, s, pair[1], pair[0])
			}
		}
	}
	for c := range 256 {
		check(string([]byte{byte(c)}))
		check("a" + string(rune(c)) + "b")
		check("%" + string([]byte{byte(c), 'f'}))
		check("java" + string([]byte{byte(c)}) + "script:alert(1)")
	}
	for _, s := range []string{hostile, "", "JAVASCRIPT:x", "Http://x/?a=b&c=%zz%41", "mailto:a@b", "/a:b", "x:/y", "//x", "data:text/html,x", "%", "%4", "%4g"} {
		check(s)
	}
	r := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"javascript", ":", "/", "%", "4", "a", "\"", "'", "<", ">", "&", "+", "\x00", "\xff", "é", "\u202e", "#", "?", "http", "(", ")", " ", "\n", "`", "=", "{{.}}"}
	for range 3000 {
		var b strings.Builder
		for range r.IntN(12) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		check(b.String())
	}
}

// broken fails after some bytes.
type broken struct{ left int }

var errBroken = errors.New("broken")

func (b *broken) Write(p []byte) (int, error) {
	if len(p) > b.left {
		return 0, errBroken
	}
	b.left -= len(p)
	return len(p), nil
}

// TestBroken: a page that cannot be written ends with the error, wherever it occurs.
func TestBroken(t *testing.T) {
	for name, f := range allPages(site()) {
		var b bytes.Buffer
		if err := f(&b); err != nil {
			t.Fatal(err)
		}
		for _, left := range []int{0, b.Len() / 2, b.Len() - 1} {
			if err := f(&broken{left}); !errors.Is(err, errBroken) {
				t.Errorf("%s after %d bytes: %v", name, left, err)
			}
		}
	}
}
