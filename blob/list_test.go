package blob

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func listed(t *testing.T, d *Dir) []Item {
	t.Helper()
	var items []Item
	for i, err := range d.List(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, i)
	}
	return items
}

func TestListAndRemove(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "blobs")
	d := NewDir(dir)
	if items := listed(t, d); len(items) != 0 {
		t.Fatalf("a folder that is not there has %v", items)
	}
	r, err := d.Put(ctx, []byte("hi"))
	if err != nil {
		t.Fatal(err)
	}
	// A second name, as one agent gives to images, and files that are not blobs.
	if err := os.Link(filepath.Join(dir, r.Hex()), filepath.Join(dir, r.Hex()+".png")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"README", r.Hex()[1:] + "x", r.Hex() + "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	items := listed(t, d)
	if len(items) != 1 || items[0].Ref != r || items[0].Size != 2 || len(items[0].Names) != 2 {
		t.Fatalf("listed are %+v", items)
	}
	if removed, err := d.Remove(ctx, items[0], items[0].Time); removed || err != nil {
		t.Errorf("removed a blob that is not older: %v, %v", removed, err)
	}
	if ok, err := d.Has(ctx, r); !ok || err != nil {
		t.Errorf("it is not back: %v", err)
	}
	if removed, err := d.Remove(ctx, items[0], items[0].Time.Add(1)); !removed || err != nil {
		t.Errorf("not removed: %v", err)
	}
	if items := listed(t, d); len(items) != 0 {
		t.Errorf("left are %+v", items)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
		t.Errorf("left are %v, %v", entries, err)
	}
}

// Put gives an old blob a new time, since it is about to be referenced.
func TestPutMakesAnOldBlobYoung(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := NewDir(t.TempDir())
	r, err := d.Put(ctx, []byte("hi"))
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(d.file(r), old, old); err != nil {
		t.Fatal(err)
	}
	seen := listed(t, d)[0]
	if _, err := d.Put(ctx, []byte("hi")); err != nil {
		t.Fatal(err)
	}
	if removed, err := d.Remove(ctx, seen, time.Now().Add(-time.Hour)); removed || err != nil {
		t.Errorf("removed a blob that was just put: %v, %v", removed, err)
	}
	if got, err := Get(ctx, d, r); err != nil || string(got) != "hi" {
		t.Errorf("it is %q, %v", got, err)
	}
}

// A blob with two names keeps both if one of the files was written again, or cannot be removed.
func TestRemoveAllNamesOrNone(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for what, happens := range map[string]func(file, away string) error{
		"written again":     func(file, _ string) error { return os.Chtimes(file, time.Time{}, time.Now()) },
		"cannot be removed": func(_, away string) error { return os.Mkdir(away, 0o700) },
	} {
		d := NewDir(t.TempDir())
		r, err := d.Put(ctx, []byte("hi"))
		if err != nil {
			t.Fatal(err)
		}
		second := r.Hex() + ".png"
		if err := os.WriteFile(filepath.Join(d.path, second), []byte("hi"), 0o600); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-2 * time.Hour)
		for _, name := range []string{r.Hex(), second} {
			if err := os.Chtimes(filepath.Join(d.path, name), old, old); err != nil {
				t.Fatal(err)
			}
		}
		seen := listed(t, d)[0]
		if err := happens(filepath.Join(d.path, second), filepath.Join(d.path, gonePrefix+second)); err != nil {
			t.Fatal(err)
		}
		if removed, err := d.Remove(ctx, seen, time.Now().Add(-time.Hour)); removed {
			t.Errorf("%s: removed, %v", what, err)
		}
		if items := listed(t, d); len(items) != 1 || len(items[0].Names) != 2 {
			t.Errorf("%s: left are %+v", what, items)
		}
	}
}

// The content of a blob comes from the file that is whole, even if a crash damaged the other one.
func TestContentOfWholeFile(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := Sum([]byte("hi"))
	for _, files := range []map[string]string{
		{r.Hex(): "", r.Hex() + ".png": "hi"}, {r.Hex(): "hi", r.Hex() + ".png": "\x00\x00"}, {r.Hex(): "h", r.Hex() + ".png": "i"},
	} {
		d := NewDir(t.TempDir())
		for name, content := range files {
			if err := os.WriteFile(filepath.Join(d.path, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want := "hi"
		if files[r.Hex()] == "h" { // both are damaged
			want = "h"
		}
		if got, err := d.Content(ctx, listed(t, d)[0]); string(got) != want || err != nil {
			t.Errorf("%q: %q, %v; want %q", files, got, err, want)
		}
	}
}
