package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/postgres"
	"github.com/treeline-dev/treeline/internal/world"
)

// create makes a session of some words in the archive.
func (a *archive) create(name string, words ...string) backend.Log {
	a.Helper()
	var lines []string
	for i, w := range words {
		lines = append(lines, world.Said(fmt.Sprintf("e%d", i), "", w))
	}
	content := strings.Split(strings.TrimSuffix(world.Log(name, "/work/garden", lines...), "\n"), "\n")
	var records [][]byte
	for _, line := range content {
		records = append(records, []byte(line))
	}
	l, err := a.b.Create(a.Context(), "one-00000001/omp/-garden/"+name+".jsonl", records...)
	a.must(err)
	return l
}

// exec runs a statement in the database.
func (a *archive) exec(sql string) {
	a.Helper()
	c, err := pgx.Connect(a.Context(), a.url)
	a.must(err)
	defer c.Close(a.Context())
	_, err = c.Exec(a.Context(), sql)
	a.must(err)
}

// finds compares the sessions in which a word is found.
func (a *archive) finds(f *find.Finder, word string, want ...string) {
	a.Helper()
	res, err := f.Search(a.Context(), word, find.Options{Problem: func(err error) { a.Error(err) }})
	a.must(err)
	got := []string{}
	for i := range res.Hits {
		got = append(got, string(res.Hits[i].Session.ID))
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		a.Errorf("%s is found in %q, want %q", word, got, want)
	}
}

// TestRebuild: an index that was dropped, that another version wrote, or whose mark is from another server is made again.
func TestRebuild(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "rebuild")
	f := a.shared()
	a.finds(f, "apricot") // there are no tables yet
	a.create("a", "apricot")
	a.finds(f, "apricot", "a")
	for i, sql := range []string{
		"drop schema treeline_index cascade",
		"update treeline_index.mark set encoding = 0; update treeline_index.log set entry = ''",
		"update treeline_index.mark set xid = '999999999999'",
	} {
		a.exec(sql)
		name := fmt.Sprint("b", i)
		a.create(name, "bilberry"+name)
		f := a.shared()
		a.finds(f, "apricot", "a")
		a.finds(f, "bilberry"+name, name)
	}
	a.exec("update treeline_index.mark set encoding = encoding + 1")
	if _, err := a.shared().Catalogue(t.Context(), find.RefreshOptions{}); err == nil {
		t.Error("the index of a newer program is used")
	}
}

// TestReadOnly: a program that may not write uses the index as it is, and says so.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "readonly")
	a.create("a", "apricot")
	x, err := postgres.Open(a.url + "&default_transaction_read_only=on")
	a.must(err)
	f := find.NewShared(a.m, x, a.clock)
	defer f.Close()
	if _, err := f.Catalogue(t.Context(), find.RefreshOptions{}); err == nil || errors.Is(err, index.ErrReadOnly) {
		t.Errorf("without an index: %v", err)
	}
	a.finds(a.shared(), "apricot", "a")
	a.create("b", "apricot")
	var told []string
	res, err := f.Search(t.Context(), "apricot", find.Options{Problem: func(err error) { told = append(told, err.Error()) }})
	a.must(err)
	if len(res.Hits) != 1 || len(told) != 1 || !strings.Contains(told[0], index.ErrReadOnly.Error()) {
		t.Errorf("%d hits, %q", len(res.Hits), told)
	}
}

// TestOthers: many logs that are not sessions, all written by one transaction, do not prevent an update from finishing.
func TestOthers(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "others")
	a.create("a", "apricot")
	a.exec(`insert into treeline.log (log, name, generation, size, torn, changed, writer, xid, mark)
		select gen_random_uuid(), 'one-00000001/omp/note' || n || '.txt', 1, 0, false, now(), '', pg_current_xact_id(), '' from generate_series(1, 600) n`)
	a.create("b", "apricot")
	a.finds(a.shared(), "apricot", "a", "b")
}

// TestLongTransaction: while another transaction stays open, the mark cannot advance. Updates do not read more logs because of that.
func TestLongTransaction(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "long")
	a.create("a", "apricot")
	c, err := pgx.Connect(t.Context(), a.url)
	a.must(err)
	defer c.Close(t.Context())
	tx, err := c.Begin(t.Context())
	a.must(err)
	_, err = tx.Exec(t.Context(), "select pg_current_xact_id()")
	a.must(err)
	const logs = 2500
	a.exec(fmt.Sprintf(`insert into treeline.log (log, name, generation, size, torn, changed, writer, xid, mark)
		select encode(substring(sha256(convert_to(name, 'UTF8')) for 16), 'hex')::uuid, name, 1, 0, false, now(), '', pg_current_xact_id(), ''
		from (select 'one-00000001/omp/-garden/note' || n || '.jsonl' as name from generate_series(1, %d) n) as names`, logs))
	x, err := postgres.Open(a.url)
	a.must(err)
	f := find.NewShared(a.m, &counted{x, t}, a.clock)
	defer f.Close()
	a.finds(f, "apricot", "a")
	a.must(tx.Rollback(t.Context()))
}

// counted is an index whose Changes are asked for a few at a time.
type counted struct {
	index.Shared
	t *testing.T
}

func (x *counted) Changes(ctx context.Context, most int) (index.Changes, error) {
	if most > 1024 {
		x.t.Errorf("%d changes are taken at a time, want 1024", most)
	}
	return x.Shared.Changes(ctx, most)
}

// TestNoSource: logs whose names have no source are left out of the feed, and the others are in it.
func TestNoSource(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "nosource")
	a.create("a", "apricot")
	a.exec(`insert into treeline.log (log, name, generation, size, torn, changed, writer, xid, mark)
		select gen_random_uuid(), 'note' || n || '.txt', 1, 0, false, now(), '', pg_current_xact_id(), '' from generate_series(1, 3) n`)
	a.create("b", "apricot")
	a.create("c", "apricot")
	x, err := postgres.Open(a.url)
	a.must(err)
	defer x.Close()
	seen := 0
	for {
		now, err := x.Changes(t.Context(), 1)
		a.must(err)
		var u index.Update
		for _, c := range now.Logs {
			seen++
			l, err := a.b.Stat(t.Context(), c.Source+"/"+c.Name)
			a.must(err)
			u = index.Update{Source: c.Source, Put: []index.Log{{Name: c.Name, Stamp: index.Stamp{Generation: l.Generation, Size: l.Size}}}}
		}
		a.must(x.Put(t.Context(), now.Mark, u))
		if len(now.Logs) < 1 {
			break
		}
	}
	if seen != 3 {
		t.Errorf("%d changes, want 3", seen)
	}
}

// TestForgottenMeanwhile: a program that learns of a removal late does not forget the log if it was made again since.
func TestForgottenMeanwhile(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "meanwhile")
	l := a.create("a", "apricot")
	f := a.shared()
	a.finds(f, "apricot", "a")
	a.must(a.b.Remove(t.Context(), l))
	late, err := postgres.Open(a.url)
	a.must(err)
	defer late.Close()
	now, err := late.Changes(t.Context(), 10)
	a.must(err)
	if len(now.Logs) != 1 || !now.Logs[0].Gone {
		t.Fatalf("%+v; want one removal", now.Logs)
	}
	a.create("a", "apricot")
	a.finds(f, "apricot", "a")
	a.must(late.Put(t.Context(), now.Mark, index.Update{Source: now.Logs[0].Source, Remove: []string{now.Logs[0].Name}}))
	a.finds(f, "apricot", "a")
	l, err = a.b.Stat(t.Context(), l.Name)
	a.must(err)
	a.must(a.b.Remove(t.Context(), l))
	a.finds(f, "apricot")
}

// TestUpdaters: several programs bring the index up to date while sessions are written. In the end it is as if one program had made it.
func TestUpdaters(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "updaters")
	var logs []backend.Log
	for i := range 6 {
		logs = append(logs, a.create(fmt.Sprint("s", i), "apricot"))
	}
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range 3 {
		f := a.shared()
		wg.Go(func() {
			for {
				if _, err := f.Catalogue(t.Context(), find.RefreshOptions{Problem: func(err error) { t.Error(err) }}); err != nil {
					t.Error(err)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for n := range 60 {
		i := n % len(logs)
		var err error
		// Long enough that logs have several chunks.
		text := fmt.Sprintf("bilberry%d %s", n, strings.Repeat(fmt.Sprintf("word%d ", n), 2000))
		logs[i], err = a.b.Append(t.Context(), logs[i], []byte(world.Said(fmt.Sprintf("n%d", n), "", text)))
		a.must(err)
	}
	close(done)
	wg.Wait()
	shared := a.shared()
	a.sameRows(a.local(), shared, 0)
	for n := range 60 {
		a.finds(shared, fmt.Sprint("bilberry", n), fmt.Sprint("s", n%len(logs)))
	}
	// Every program saw all changes: nothing is left to read.
	x, err := postgres.Open(a.url)
	a.must(err)
	defer x.Close()
	if now, err := x.Changes(t.Context(), 10); err != nil || len(now.Logs) > 0 || len(now.Compare) > 0 {
		t.Errorf("%d changes and %d groups are left, %v", len(now.Logs), len(now.Compare), err)
	}
}
