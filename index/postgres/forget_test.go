package postgres_test

import (
	"context"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/postgres"
)

// hold is a transaction that other ones wait for.
type hold struct {
	a           *archive
	locks, asks *pgx.Conn
}

// hold executes statements that lock something, until release.
func (a *archive) hold(sql string) *hold {
	a.Helper()
	connect := func() *pgx.Conn {
		c, err := pgx.Connect(a.Context(), a.url)
		a.must(err)
		a.Cleanup(func() { c.Close(context.Background()) })
		return c
	}
	h := &hold{a, connect(), connect()}
	_, err := h.locks.Exec(a.Context(), "begin; "+sql)
	a.must(err)
	return h
}

// waited returns when so many transactions wait for a lock, or an update has ended.
func (h *hold) waited(n int, updates ...*update) {
	h.a.Helper()
	ended := func(u *update) bool { return u.ended() }
	for got := 0; got < n && !slices.ContainsFunc(updates, ended); {
		const sql = `select count(distinct pid) from pg_locks where not granted
			and pid in (select pid from pg_stat_activity where datname = current_database())`
		h.a.must(h.asks.QueryRow(h.a.Context(), sql).Scan(&got))
	}
}

func (h *hold) release() {
	h.a.Helper()
	_, err := h.locks.Exec(h.a.Context(), "commit")
	h.a.must(err)
}

// update is an update in the background.
type update struct {
	a    *archive
	err  error
	done chan struct{}
}

func (a *archive) background(do func() error) *update {
	u := &update{a: a, done: make(chan struct{})}
	go func() {
		u.err = do()
		close(u.done)
	}()
	return u
}

func (u *update) ended() bool {
	select {
	case <-u.done:
		return true
	default:
		return false
	}
}

func (u *update) wait() {
	u.a.Helper()
	<-u.done
	u.a.must(u.err)
}

// TestRemovedWhilePut: a removal that waits for the transaction which puts the log forgets what that transaction puts, too. Nothing is left
// that a later log of this name would meet.
func TestRemovedWhilePut(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "removedput")
	c := copiesOf{archive: a, logs: map[string]backend.Log{}}
	c.claude("a", 0, 1, 2)
	a.must(a.refreshOnce(undisturbed))

	c.replace("claude/-p/a", prompts("a", 10, 11, 12)...)
	h := a.hold("lock table treeline_index.segment in exclusive mode")
	put := a.background(func() error { return a.refreshOnce(undisturbed) }) // has locked the row, and waits
	h.waited(1)
	c.remove("claude/-p/a")
	removed := a.background(func() error { return a.refreshOnce(undisturbed) }) // waits for the row
	h.waited(2)
	h.release()
	put.wait()
	removed.wait()
	c.claude("a", 20, 21, 22)
	c.claude("b", 30, 31, 32)
	a.comparedAs("again")
}

// narrow is an index whose updates see one log only.
type narrow struct {
	index.Shared
	name string
}

func (x *narrow) Changes(ctx context.Context, most int) (now index.Changes, err error) {
	now, err = x.Shared.Changes(ctx, most)
	now.Logs = slices.DeleteFunc(now.Logs, func(c index.Change) bool { return c.Name != x.name })
	return now, err
}

// TestMadeAgainWhileForgotten: a log that was made again, and put by another program while a removal waits for the row of another log, is
// not forgotten.
func TestMadeAgainWhileForgotten(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "whileforgotten")
	c := copiesOf{archive: a, logs: map[string]backend.Log{}}
	c.claude("first", 0, 1, 2)
	c.claude("second", 10, 11, 12)
	a.must(a.refreshOnce(undisturbed))

	names := []string{"first", "second"}
	for i, held := range names { // whichever row is locked first
		c.remove("claude/-p/first")
		c.remove("claude/-p/second")
		h := a.hold("select from treeline_index.log where name like '%/" + held + ".jsonl' for update")
		removed := a.background(func() error { return a.refreshOnce(undisturbed) })
		h.waited(1)
		again := names[1-i]
		c.claude(again, 20, 21, 22)
		x, err := postgres.Open(a.url)
		a.must(err)
		f := find.NewShared(a.m, &narrow{x, "-p/" + again + ".jsonl"}, a.clock)
		put := a.background(func() error { return a.refresh(f) })
		h.waited(2, put)
		h.release()
		removed.wait()
		put.wait()
		a.must(f.Close())
		if !a.comparedAs(again) {
			return
		}
		c.claude(held, 30, 31, 32)
		a.comparedAs(held)
	}
}
