package place_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect/pi"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/store"
)

func TestList(t *testing.T) {
	t.Parallel()
	h := world.New(t)
	garden, shed := filepath.Join(h.Home, "garden"), filepath.Join(h.Home, "shed")
	for _, dir := range []string{garden, shed} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(h.Home, "link")
	if err := os.Symlink(garden, link); err != nil {
		if runtime.GOOS != "windows" { // where links need privileges
			t.Fatal(err)
		}
		link = garden
	}
	h.Old(".omp/agent/sessions/-garden/1_aaaa1111.jsonl", world.Log("aaaa1111", garden, world.Said("u", "", "Where do the tulips go?")))
	h.Old(".omp/agent/sessions/-garden/2_aaaa2222.jsonl", world.Log("aaaa2222", shed, world.Said("u", "", "in the folder of another")))
	h.Old(".pi/agent/sessions/--garden--/3_BBBB3333.jsonl", world.Log("BBBB3333", link))
	h.Old(".omp/agent/sessions/-garden/4_junk.jsonl", "nonsense\n")
	h.Old(".omp/agent/sessions/-garden/5_note.txt", "not a log\n")
	h.Old(".omp/agent/sessions/-garden/6_big.jsonl", world.Log("big", garden, world.Said("u", "", "first"), strings.Repeat(world.Said("v", "u", strings.Repeat("x", 1000))+"\n", 30)+world.Said("w", "v", "last")))

	list := func(opt place.ListOptions) string {
		t.Helper()
		rows, err := h.List(t.Context(), opt)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, r := range rows {
			id := string(r.ID)
			if r.Err != nil {
				id = "?" + filepath.Base(r.Path)
			}
			ids = append(ids, id)
		}
		return strings.Join(ids, " ")
	}
	if got, want := list(place.ListOptions{}), "big ?4_junk.jsonl BBBB3333 aaaa2222 aaaa1111"; got != want {
		t.Errorf("all: %s, not %s", got, want)
	}
	if got, want := list(place.ListOptions{CWD: garden}), "big ?4_junk.jsonl BBBB3333 aaaa1111"; got != want {
		t.Errorf("by the header's directory, links resolved: %s, not %s", got, want)
	}
	if got, want := list(place.ListOptions{CWD: shed}), "?4_junk.jsonl aaaa2222"; got != want {
		t.Errorf("shed: %s, not %s", got, want)
	}

	rows, err := h.List(t.Context(), place.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	big, small, foreign := rows[0], rows[4], rows[2]
	if small.Prompt != "Where do the tulips go?" || small.Messages != 1 || small.Dialect != pi.Omp || small.CWD != garden || small.Short != "aaaa1111" {
		t.Errorf("a small one: %+v", small)
	}
	if big.Messages != -1 || big.Prompt != "first" || big.Log.Size < 30_000 {
		t.Errorf("a big one: %+v", big)
	}
	if foreign.Dialect != pi.Pi || foreign.Source.Dialect != pi.Pi {
		t.Errorf("pi's: %+v", foreign)
	}
	if !errors.Is(rows[1].Err, store.ErrNotSession) {
		t.Errorf("junk: %v", rows[1].Err)
	}

	for ref, want := range map[string]string{
		"aaaa1111": "aaaa1111", "aaaa1": "aaaa1111", "AAAA2": "aaaa2222", "bbbb": "BBBB3333", "big": "big", "2_aaaa": "aaaa2222",
	} {
		row, err := h.Find(t.Context(), ref)
		if err != nil || string(row.ID) != want {
			t.Errorf("Find(%q): %s, %v", ref, row.ID, err)
		}
	}
	var many *place.AmbiguousError
	if _, err := h.Find(t.Context(), "aaaa"); !errors.As(err, &many) || len(many.Rows) != 2 {
		t.Errorf("an ambiguous beginning: %v", err)
	}
	for _, ref := range []string{"", "nobody"} {
		if _, err := h.Find(t.Context(), ref); !errors.Is(err, place.ErrNoSession) {
			t.Errorf("Find(%q): %v", ref, err)
		}
	}
	if row, err := h.Find(t.Context(), "@last"); err != nil || row.ID != "big" {
		t.Errorf("@last: %s, %v", row.ID, err)
	}
	// The name of a dialect before it chooses among those of one agent.
	if row, err := h.Find(t.Context(), "pi:bbbb"); err != nil || row.ID != "BBBB3333" {
		t.Errorf("pi:bbbb: %s, %v", row.ID, err)
	}
	if row, err := h.Find(t.Context(), "pi:@last"); err != nil || row.ID != "BBBB3333" {
		t.Errorf("pi:@last: %s, %v", row.ID, err)
	}
	for _, ref := range []string{"omp:bbbb", "pi:aaaa1111", "nobody:bbbb", "pi:"} {
		if _, err := h.Find(t.Context(), ref); !errors.Is(err, place.ErrNoSession) {
			t.Errorf("Find(%q): %v", ref, err)
		}
	}
	if _, err := h.FindIn(t.Context(), "/no/such/place", "bbbb"); !errors.Is(err, place.ErrUnknownSource) {
		t.Errorf("an unknown source: %v", err)
	}
}

// TestListOfRoots: a folder that the user names holds "sessions", is one, or holds logs itself.
func TestListOfRoots(t *testing.T) {
	t.Parallel()
	for name, root := range map[string]string{"agent's folder": "agent", "sessions": "agent/sessions", "one project": "agent/sessions/-x", "missing": "nowhere"} {
		h := world.New(t, func(w *world.World) { w.Roots = []string{w.At(root)} })
		h.Old("agent/sessions/-x/a.jsonl", world.Log("a", "/x"))
		h.Old(".omp/agent/sessions/-x/b.jsonl", world.Log("b", "/x"))
		rows, err := h.List(t.Context(), place.ListOptions{})
		want := 1
		if name == "missing" {
			want = 0
		}
		if err != nil || len(rows) != want || want == 1 && rows[0].ID != "a" {
			t.Errorf(`%s: %+v, %v; want no error, len(rows) == %v, not (want == 1 && rows[0].ID != "a")`, name, rows, err, want)
		}
	}
}

func TestListCancelled(t *testing.T) {
	t.Parallel()
	h := world.New(t)
	for i := range 100 {
		h.Old(fmt.Sprintf(".omp/agent/sessions/-x/%d.jsonl", i), world.Log(fmt.Sprint(i), "/x"))
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	if _, err := h.List(ctx, place.ListOptions{}); !errors.Is(err, enough) {
		t.Errorf("List: %v", err)
	}
}
