package export

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/browser"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/store"
)

// site writes the fixture and a second session with the same id as a site.
func site(t *testing.T, force bool, dir string) (*SiteReport, error) {
	t.Helper()
	s := fixture(t)
	w := world.New(t)
	other := filepath.Join(t.TempDir(), "other.jsonl")
	log := world.Log("0199-export", "/w", world.Said("x/1:a", "", "A pond in the other session"))
	if err := os.WriteFile(other, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	row := func(path string) place.Row {
		open := w.View(path, store.OpenOptions{})
		return place.Row{Path: path, Dialect: open.Dialect(), Summary: dialect.Summary{ID: open.ID(), CWD: open.Header().CWD, Messages: 1}}
	}
	rows := []place.Row{row(s.Path()), row(other), {Path: filepath.Join(t.TempDir(), "missing.jsonl"), Dialect: s.Dialect()}}
	return Site(t.Context(), dir, rows, SiteOptions{
		Options: Options{Redact: true}, Force: force,
		Open: func(ctx context.Context, path string) (*store.Session, error) {
			return w.Store.Open(ctx, path, store.OpenOptions{})
		},
	})
}

// TestSite: a site has a page for each session, a list and an index, and none of them has a secret. A session that cannot be read is
// reported.
func TestSite(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "site")
	r, err := site(t, false, dir)
	if err != nil || r.Sessions != 2 || len(r.Failed) != 1 || len(r.Redactions) != 3 {
		t.Fatalf("%+v, %v; want no error, r.Sessions == 2, len(r.Failed) == 1, len(r.Redactions) == 3", r, err)
	}
	for _, name := range []string{"index.html", "index.js", "s/0199-export.html", "s/0199-export-2.html"} {
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Error(err)
		}
		if strings.Contains(string(text), awsKey[:10]) || strings.Contains(string(text), password) {
			t.Errorf("%s has a secret", name)
		}
	}
	if _, err := site(t, false, dir); !errors.Is(err, ErrExists) {
		t.Error(err)
	}
	if _, err := site(t, true, dir); err != nil {
		t.Error(err)
	}
}

// TestBrowser: the files work from a folder: one path is shown at a time, branches are switched, and the search finds entries. Nothing
// breaks the policy or leaves the file.
func TestBrowser(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "site")
	if _, err := site(t, false, dir); err != nil {
		t.Fatal(err)
	}
	single := filepath.Join(dir, "one.html")
	if _, err := File(t.Context(), single, fixture(t), Options{Format: HTML, Redact: true, AllBranches: true}, false); err != nil {
		t.Fatal(err)
	}
	b := browser.Start(t)
	tab := b.Tab(t, browser.Look{})
	address := func(path string) string { return "file://" + filepath.ToSlash(path) }

	tab.Open(address(single))
	visible := func(id, want string) {
		t.Helper()
		tab.Wait("(document.getElementById('" + id + "').getClientRects().length > 0) === " + want)
	}
	visible("a5", "true")
	visible("a4", "false")
	tab.Open(address(single) + "#a4") // a permanent link
	visible("a4", "true")
	visible("p1", "true")
	visible("a5", "false")
	tab.Click(`section.branch:not([hidden]) a[rel=prev]`) // to the other branch
	visible("a4", "false")
	visible("a3", "true")

	tab.Open(address(filepath.Join(dir, "index.html")))
	tab.Wait("!document.querySelector('form.search').hidden")
	tab.Eval("(document.querySelector('form.search input').focus(), '')")
	tab.Press("pond")
	tab.Wait("document.querySelectorAll('.hit').length === 2") // the title and the text
	if title := tab.Eval("document.querySelector('.hit').innerText"); strings.Count(title, "pond") != 1 || !strings.HasSuffix(title, " omp") {
		t.Errorf("the hit in a title is %q", title)
	}
	tab.Click(".hit:last-child")
	tab.Wait("location.hash === '#x%2F1:a' && document.querySelector(':target') && document.body.innerText.includes('A pond')")
	if faults := tab.Faults(); len(faults) > 0 {
		t.Error(faults)
	}

	plain := b.Tab(t, browser.Look{NoScript: true})
	plain.Open(address(single))
	if text := plain.Text(); !strings.Contains(text, "It failed on the second branch.") || !strings.Contains(text, "A dot.") {
		t.Error("without scripts something is missing")
	}
}
