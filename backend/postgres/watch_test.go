package postgres

import (
	"context"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/pgtest"
)

// A transaction that commits after a later one is not missed, and nothing is reported twice.
func TestFeedOrder(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).URL("")
	b := opened(t, url, "feed")
	logs := map[string]backend.Log{}
	for _, name := range []string{"slow.jsonl", "fast.jsonl"} {
		at, err := b.Create(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		logs[name] = at
	}
	f := &b.feed
	feed := func() []string {
		t.Helper()
		names, err := f.next(t.Context(), []string{"feed"})
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	feed()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	slow, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	k := b.key("slow.jsonl")
	if _, err := slow.Exec(t.Context(), "update treeline.log set xid = pg_current_xact_id() where log = $1", k); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if logs["fast.jsonl"], err = b.Append(t.Context(), logs["fast.jsonl"], []byte("{}")); err != nil {
			t.Fatal(err)
		}
		if got := feed(); !slices.Equal(got, []string{"feed/fast.jsonl"}) {
			t.Errorf("after an append: %q", got)
		}
		if got := feed(); len(got) > 0 {
			t.Errorf("told again: %q", got)
		}
	}
	if err := slow.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := feed(); !slices.Equal(got, []string{"feed/slow.jsonl"}) {
		t.Errorf("after the slow commit: %q", got)
	}
}

// A watch continues after all connections were cut.
func TestWatchCut(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).URL("") + "&application_name=watchcut"
	b, other := opened(t, url, "watchcut"), opened(t, url, "watchcut")
	at, err := b.Create(t.Context(), "a.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan string, 1000)
	w, err := b.Watch(func(name string, _ error) { told <- name })
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for range 3 {
		if at, err = other.Append(t.Context(), at, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		select {
		case name := <-told:
			if name != "a.jsonl" {
				t.Errorf("told %q", name)
			}
		case <-time.After(time.Minute):
			t.Fatal("an append was never told")
		}
		ask[int](t, pgtest.Shared(t).URL(""), "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = 'watchcut'")
	}
}

// Watchers of all views share one connection, and each is told of the logs of its view.
func TestWatchViews(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).Database(t, "watchviews")
	d, other := Driver(Options{}), opened(t, url, "")
	told := make(chan string, 1000)
	var watches []io.Closer
	for i, below := range []string{"", "one", "two/omp", "three"} {
		b, err := d.Open(url, backend.OpenOptions{Below: below})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		w, err := b.(backend.Watcher).Watch(func(name string, err error) { told <- fmt.Sprintf("%q %s %v", below, name, err) })
		if err != nil {
			t.Fatal(err)
		}
		watches = append(watches, w)
		if i == 0 {
			if err := w.Close(); err != nil { // the first one leaves, and comes again
				t.Fatal(err)
			}
			if watches[0], err = b.(backend.Watcher).Watch(func(name string, err error) { told <- fmt.Sprintf("%q %s %v", below, name, err) }); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := []string{`"" one/omp/a.jsonl <nil>`, `"" two/omp/b.jsonl <nil>`, `"one" omp/a.jsonl <nil>`, `"two/omp" b.jsonl <nil>`}
	for _, name := range []string{"one/omp/a.jsonl", "two/omp/b.jsonl"} {
		if _, err := other.Create(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for len(got) < len(want) {
		select {
		case line := <-told:
			if !slices.Contains(got, line) {
				got = append(got, line)
			}
		case <-time.After(time.Minute):
			t.Fatalf("told %q, want %q", got, want)
		}
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
	if n := ask[int](t, url, "select count(*) from pg_stat_activity where datname = 'watchviews' and query ilike 'listen%'"); n > 1 {
		t.Errorf("%d connections listen", n)
	}
	for _, w := range watches {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := other.Create(t.Context(), "one/omp/c.jsonl"); err != nil {
		t.Fatal(err)
	}
	select {
	case line := <-told:
		t.Errorf("told %s after the watch was closed", line)
	case <-time.After(50 * time.Millisecond):
	}
}
