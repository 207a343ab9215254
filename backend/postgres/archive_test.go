package postgres

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/pgtest"
)

// Views of one database share a core, show only their folder, and list folders as any backend would.
func TestViews(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).Database(t, "views")
	d := Driver(Options{})
	open := func(below string) *Backend {
		t.Helper()
		b, err := d.Open(url, backend.OpenOptions{Below: below})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Close() })
		return b.(*Backend)
	}
	all, one, source := open(""), open("one"), open("one/omp")
	if id, err := all.Identity(t.Context()); id != "" || err != nil {
		t.Errorf("an empty archive is %q, %v", id, err)
	}
	if all.core != one.core || one.core != source.core {
		t.Error("views do not share a core")
	}
	for _, name := range []string{"x", "one.jsonl"} {
		if _, err := all.Create(t.Context(), name); !errors.Is(err, backend.ErrName) {
			t.Errorf("%q without an origin: %v", name, err)
		}
	}
	names := []string{"one!/omp/z.jsonl", "one/a.jsonl", "one/a/deep/x.jsonl", "one/b.jsonl", "one/claude/p/1.jsonl", "one/claude/p/2.jsonl",
		"one/omp/1.jsonl", "one/omp/2.jsonl", "one/ompü/1.jsonl", "two/omp/1.jsonl"}
	for _, name := range names {
		if _, err := all.Create(t.Context(), name, []byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	id, err := source.Identity(t.Context())
	if other, err2 := all.Identity(t.Context()); len(id) != 36 || other != id || err != nil || err2 != nil {
		t.Errorf("the archive is %q and %q, %v, %v", id, other, err, err2)
	}
	for _, b := range []*Backend{all, one, source} {
		var got, want []string
		for at, err := range b.List(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, at.Name)
		}
		for _, name := range names {
			if rest, ok := strings.CutPrefix(name, b.prefix); ok {
				want = append(want, rest)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("below %q: %q, want %q", b.prefix, got, want)
		}
		for _, folder := range []string{"", "one", "one/a", "claude", "nothing"} {
			got, err := b.Folders(t.Context(), folder)
			want, err2 := backend.Folders(t.Context(), struct{ backend.Backend }{b}, folder)
			if !slices.Equal(got, want) || err != nil || err2 != nil {
				t.Errorf("folders of %q below %q: %q, %v; want %q, %v", folder, b.prefix, got, err, want, err2)
			}
		}
	}
	sources, err := all.Sources(t.Context())
	slices.Sort(sources)
	if want := []string{"one!/omp", "one/a", "one/claude", "one/omp", "one/ompü", "two/omp"}; !slices.Equal(sources, want) || err != nil {
		t.Errorf("sources: %q, %v; want %q", sources, err, want)
	}
	if list, err := one.Sources(t.Context()); !errors.Is(err, backend.ErrName) {
		t.Errorf("a folder has the sources %q, %v", list, err)
	}
	if err := errors.Join(all.Close(), one.Close()); err != nil {
		t.Error(err)
	}
	if _, err := one.Stat(t.Context(), "omp/1.jsonl"); !errors.Is(err, backend.ErrClosed) {
		t.Errorf("a closed view: %v", err)
	}
	if at, err := source.Stat(t.Context(), "1.jsonl"); err != nil || at.Size != 16 {
		t.Errorf("the other view: %v, %v", at, err)
	}
}

// after returns the first text behind all those that begin with a prefix.
func TestAfter(t *testing.T) {
	for prefix, want := range map[string]string{"": "", "a/": "a0", "aü": "aý", "a\ud7ff": "a\ue000", "a\U0010ffff": "b", "\U0010ffff": ""} {
		if got := after(prefix); got != want {
			t.Errorf("after %q is %q, want %q", prefix, got, want)
		}
	}
}
