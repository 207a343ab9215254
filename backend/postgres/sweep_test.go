package postgres

import (
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/pgtest"
)

// Old generations are purged when their time is over; the current one never is.
func TestSweep(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).Database(t, "sweep")
	b := opened(t, url, "sweep")
	b.purged.Store(b.clock().UnixNano()) // only Sweep purges
	at, err := b.Create(t.Context(), "a.jsonl", []byte("old"))
	if err == nil {
		at, err = b.Replace(t.Context(), at, []byte("new"))
	}
	if err != nil {
		t.Fatal(err)
	}
	sweep := func(remove bool) int {
		t.Helper()
		n, err := b.Sweep(t.Context(), time.Now().Add(time.Hour), remove)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := sweep(true); n != 0 {
		t.Errorf("%d generations were purged before their time", n)
	}
	k := b.key("a.jsonl")
	ask[int](t, url, "with u as (update treeline.retired set until = now() - interval '1 minute' where log = $1 returning 1) select count(*) from u", k)
	if n, m, l := sweep(false), sweep(true), sweep(true); n != 1 || m != 1 || l != 0 {
		t.Errorf("found %d, purged %d, then %d", n, m, l)
	}
	if n := ask[int](t, url, "select count(*) from treeline.record where log = $1", k); n != 1 {
		t.Errorf("%d records are left", n)
	}
	if got, err := backend.ReadAll(t.Context(), b, at); err != nil || string(got) != "new\n" {
		t.Errorf(`%q, %v; want no error, string(got) == "new\n"`, got, err)
	}
}

// A write that retires a generation purges expired generations of all origins.
func TestPurge(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).Database(t, "purge")
	for _, origin := range []string{"one", "two"} {
		b := opened(t, url, origin)
		at, err := b.Create(t.Context(), "a.jsonl", []byte("old"))
		if err == nil {
			_, err = b.Replace(t.Context(), at, []byte("new"))
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Close(); err != nil { // Close waits for its purge
			t.Fatal(err)
		}
		want := 2
		if origin == "two" {
			want = 3 // the old generation of the first log is gone
		}
		if n := ask[int](t, url, "select count(*) from treeline.record"); n != want {
			t.Errorf("%s: %d records, want %d", origin, n, want)
		}
		ask[int](t, url, "with u as (update treeline.retired set until = now() - interval '1 minute' returning 1) select count(*) from u")
	}
}
