package history

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

func openPlacesAt(t *testing.T, path string) *Places {
	t.Helper()
	p, err := openPlaces(t.Context(), path, dbOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// TestPlaces: a prompt has several places; a session that changed has new ones; a session that is gone has none.
func TestPlaces(t *testing.T) {
	t.Parallel()
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	for name, path := range map[string]string{"file": filepath.Join(t.TempDir(), "cache", "places.db"), "memory": ""} {
		t.Run(name, func(t *testing.T) {
			p := openPlacesAt(t, path)
			one, two := keyOf("one"), keyOf("two ")
			err := p.put(t.Context(), []sessionUses{
				{Path: "/s/a.jsonl", Stamp: "1", Dialect: "pi", Session: "a", CWD: "/x", List: []use{{one, "e1", at(10)}, {two, "e2", at(20)}, {one, "e3", at(30)}}},
				{Path: "/s/b.jsonl", Stamp: "1", Dialect: "wave", Session: "b", CWD: "/y", List: []use{{one, "e1", at(20)}}},
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Of(t.Context(), "one", 2)
			if err != nil {
				t.Fatal(err)
			}
			wanted := []Place{{"/s/a.jsonl", "pi", "a", "e3", "/x", at(30)}, {"/s/b.jsonl", "wave", "b", "e1", "/y", at(20)}}
			if !reflect.DeepEqual(got, wanted) {
				t.Errorf("got %+v", got)
			}
			if in, err := p.In(t.Context(), "/y"); err != nil || !in(Prompt{Text: "one"}) || in(Prompt{Text: "two"}) {
				t.Errorf("in /y: %v", err)
			}
			if err := p.put(t.Context(), []sessionUses{{Path: "/s/a.jsonl", Stamp: "2", List: []use{{two, "e2", at(20)}}}}, []string{"/s/b.jsonl"}); err != nil {
				t.Fatal(err)
			}
			if got, err := p.Of(t.Context(), "one", 9); err != nil || got != nil {
				t.Errorf("gone: %+v, %v", got, err)
			}
			if got, err := p.stamps(t.Context()); err != nil || !reflect.DeepEqual(got, map[string]string{"/s/a.jsonl": "2"}) {
				t.Errorf("stamps: %v, %v", got, err)
			}
			for _, c := range []struct {
				history string
				last    int64
				stamp   string
			}{{"1", 5, ""}, {"1", 6, "3"}, {"1", 6, "3"}, {"1", 5, ""}, {"1", 5, "4"}, {"2", 9, ""}} {
				if err := p.bind(t.Context(), c.history, c.last); err != nil {
					t.Fatal(err)
				}
				if c.stamp != "" {
					if err := p.put(t.Context(), []sessionUses{{Path: "/s/a.jsonl", Stamp: c.stamp}}, nil); err != nil {
						t.Fatal(err)
					}
				}
				if got, err := p.stamps(t.Context()); err != nil || got["/s/a.jsonl"] != c.stamp {
					t.Errorf("bound to %s, %d: %v, %v", c.history, c.last, got, err)
				}
			}
		})
	}
}

// TestReadPlaces: reading makes nothing and changes nothing; an unreadable file counts as missing.
func TestReadPlaces(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "places.db")
	key := keyOf("one")
	read := func(what string, n int, anew bool) {
		t.Helper()
		before := listing(t, dir)
		p, err := readPlaces(t.Context(), path, dbOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if got, err := p.Of(t.Context(), "one", 9); err != nil || len(got) != n || (p.anew != "") != anew {
			t.Errorf("%s: %v, %v, anew %q", what, got, err, p.anew)
		}
		if after := listing(t, dir); !reflect.DeepEqual(before, after) {
			t.Errorf("%s: before %v, after %v", what, before, after)
		}
	}
	read("none", 0, true)
	p := openPlacesAt(t, path)
	read("an empty one", 0, true)
	if err := p.put(t.Context(), []sessionUses{{Path: "/s"}}, nil); err != nil {
		t.Fatal(err)
	}
	read("a session without prompts", 0, false)
	if err := p.put(t.Context(), []sessionUses{{Path: "/s", List: []use{{Key: key, Entry: "e"}}}}, nil); err != nil {
		t.Fatal(err)
	}
	read("while it is open", 1, false)
	p.Close()
	read("one", 1, false)
	scratch(t, path, 0, []byte("garbage garbage garbage"))
	read("garbage", 0, true)
}

// TestPlacesAnew: a file that is damaged, or of another version, is replaced.
func TestPlacesAnew(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(t *testing.T, path string){
		"garbage": func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte("this is not what it should be, by a long way, and it is longer than a header of a database, which has a hundred bytes"), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"another version": func(t *testing.T, path string) { do(t, raw(t, path), `PRAGMA user_version = 77`) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "places.db")
			p := openPlacesAt(t, path)
			if err := p.put(t.Context(), []sessionUses{{Path: "/s", Stamp: "1"}}, nil); err != nil || p.anew != "" {
				t.Fatal(err, p.anew)
			}
			p.Close()
			spoil(t, path)
			p = openPlacesAt(t, path)
			if got, err := p.stamps(t.Context()); err != nil || len(got) != 0 || p.anew == "" {
				t.Errorf(`%v, %v, %q; want no error, len(got) == 0, p.anew != ""`, got, err, p.anew)
			}
		})
	}
}
