package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/postgres"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

// stepped is an index in which a test does something before and after each call of an update. If step returns an error, so does the call.
type stepped struct {
	index.Shared
	step func(call string) error
}

func (x *stepped) do(call string, f func() error) error {
	err := x.step("before " + call)
	if err == nil {
		if err = f(); err == nil {
			err = x.step("after " + call)
		}
	}
	return err
}

func (x *stepped) Changes(ctx context.Context, most int) (now index.Changes, err error) {
	err = x.do("Changes", func() error {
		now, err = x.Shared.Changes(ctx, most)
		return err
	})
	return now, err
}

func (x *stepped) Put(ctx context.Context, mark index.Mark, updates ...index.Update) error {
	return x.do("Put", func() error { return x.Shared.Put(ctx, mark, updates...) })
}

func (x *stepped) Select(ctx context.Context, sel index.Selection) (list []index.Found, err error) {
	err = x.do("Select", func() error {
		list, err = x.Shared.Select(ctx, sel)
		return err
	})
	return list, err
}

// stepped returns a finder with the index in the database, whose updates call step.
func (a *archive) stepped(step func(call string) error) *find.Finder {
	x, err := postgres.Open(a.url)
	a.must(err)
	return find.NewShared(a.m, &stepped{x, step}, a.clock)
}

// refresh brings the index up to date, without reading it.
func (a *archive) refresh(f *find.Finder) error {
	_, err := f.Beside(a.Context(), true, find.RefreshOptions{Problem: func(err error) { a.Error(err) }})
	return err
}

// refreshOnce is refresh by a new program, which calls step.
func (a *archive) refreshOnce(step func(call string) error) error {
	f := a.stepped(step)
	defer f.Close()
	return a.refresh(f)
}

func undisturbed(string) error { return nil }

// prompts returns records of Claude Code with messages at these minutes.
func prompts(id string, minutes ...int) (list [][]byte) {
	for _, n := range minutes {
		list = append(list, fmt.Appendf(nil, `{"parentUuid":null,"type":"user","message":{"role":"user","content":"prompt %d"},"uuid":"00000000-0000-4000-8000-%012d",`+
			`"timestamp":"2026-03-02T10:%02d:00.000Z","cwd":"/p","sessionId":%q}`, n, n, n%60, id))
	}
	return list
}

// copiesOf makes, grows and removes logs that depend on each other.
type copiesOf struct {
	*archive
	logs    map[string]backend.Log
	doubles []string
}

func (c *copiesOf) create(name string, records ...[]byte) {
	l, err := c.b.Create(c.Context(), "one-00000001/"+name+".jsonl", records...)
	c.must(err)
	c.logs[name] = l
}

func (c *copiesOf) claude(id string, minutes ...int) {
	c.create("claude/-p/"+id, prompts(id, minutes...)...)
}

// gemini makes one of several logs of a session.
func (c *copiesOf) gemini(at string, answered bool) {
	head := `{"sessionId":"11111111-0000-4000-8000-000000000001","projectHash":"` + strings.Repeat("a", 64) +
		`","startTime":"2026-03-02T10:00:00.000Z","lastUpdated":"2026-03-02T10:00:00.000Z","kind":"main"}`
	records := [][]byte{[]byte(head), []byte(`{"id":"u1","timestamp":"2026-03-02T10:01:00.000Z","type":"user","content":[{"text":"How deep is the pond?"}]}`)}
	if answered {
		records = append(records, []byte(`{"id":"g1","timestamp":"2026-03-02T10:02:00.000Z","type":"gemini","content":"Two metres."}`))
	}
	name := "gemini/garden/chats/session-2026-03-02T" + at + "-11111111"
	c.create(name, records...)
	c.doubles = append(c.doubles, name)
}

func (c *copiesOf) remove(name string) {
	c.must(c.b.Remove(c.Context(), c.logs[name]))
	delete(c.logs, name)
}

func (c *copiesOf) replace(name string, records ...[]byte) {
	l, err := c.b.Replace(c.Context(), c.logs[name], records...)
	c.must(err)
	c.logs[name] = l
}

// clear removes all logs.
func (c *copiesOf) clear() {
	for name := range c.logs {
		c.remove(name)
	}
	c.must(c.refreshOnce(undisturbed))
}

// TestInterrupted: wherever an update is interrupted, before or after a call, the next update makes the index equal to a new one.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "interrupted")
	interrupted := errors.New("interrupted")
	for n, over := 0, false; !over; n += soaktest.Part(1, 2) {
		c := copiesOf{archive: a, logs: map[string]backend.Log{}}
		c.claude("grows", 0, 1, 2, 3)
		c.claude("goes", 10, 11, 12)
		c.claude("stays", 10, 11, 12, 13)
		c.claude("changes", 20, 21, 22)
		c.claude("is-left", 20, 21, 23)
		c.gemini("10-00", false)
		a.must(a.refreshOnce(undisturbed))

		c.claude("copy", 0, 1, 2, 4)
		c.claude("new", 30, 31)
		c.claude("new-copy", 30, 31, 32)
		c.gemini("11-00", true)
		c.remove("claude/-p/goes")
		c.replace("claude/-p/changes", prompts("changes", 40, 41)...)
		at, last := n, ""
		err := a.refreshOnce(func(call string) error {
			if at--; at < 0 {
				last = call
				return interrupted
			}
			return nil
		})
		if over = err == nil; !over && !errors.Is(err, interrupted) {
			t.Fatal(err)
		}
		if !a.comparedAs(fmt.Sprint(n, " ", last)) {
			return
		}
		c.clear()
	}
}

// TestInterruptedBefore: an update may have been interrupted before there was a table of pending groups. The logs that it left are compared
// when the table is made.
func TestInterruptedBefore(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "before")
	c := copiesOf{archive: a, logs: map[string]backend.Log{}}
	c.claude("a", 0, 1, 2, 3)
	c.claude("b", 0, 1, 2, 4)
	c.gemini("10-00", false)
	c.gemini("11-00", true)
	interrupted := errors.New("interrupted")
	err := a.refreshOnce(func(call string) error {
		if call == "after Put" {
			return interrupted
		}
		return nil
	})
	if !errors.Is(err, interrupted) {
		t.Fatal(err)
	}
	a.exec("drop table treeline_index.pending; delete from treeline_index.migration where version >= 4")
	a.comparedAs("migrated")
}

// TestComparedMeanwhile: a program that has compared logs does not overwrite what another program, which knew of other logs, has found out
// since, wherever the first program was interrupted.
func TestComparedMeanwhile(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "compared")
	for name, meanwhile := range map[string]func(c *copiesOf){
		"added":    func(c *copiesOf) { c.claude("d", 0, 1, 2, 3, 6); c.gemini("12-00", true) },
		"removed":  func(c *copiesOf) { c.remove("claude/-p/b"); c.remove(c.doubles[0]) },
		"replaced": func(c *copiesOf) { c.claude("d", 0, 1, 2, 3, 6); c.remove("claude/-p/b"); c.remove("claude/-p/c") },
	} {
		if name != "added" && !soaktest.Every() {
			continue
		}
		for n, over := 0, false; !over; n++ {
			c := copiesOf{archive: a, logs: map[string]backend.Log{}}
			c.claude("a", 0, 1, 2, 3)
			c.claude("b", 0, 1, 2, 4)
			c.gemini("10-00", false)
			a.must(a.refreshOnce(undisturbed))

			c.claude("c", 0, 1, 2, 4, 5)
			c.gemini("11-00", true)
			at, last := n, ""
			a.must(a.refreshOnce(func(call string) error {
				if at--; at != -1 {
					return nil
				}
				last = call
				meanwhile(&c)
				return a.refreshOnce(undisturbed)
			}))
			over = at >= 0
			if !a.comparedAs(fmt.Sprint(name, " ", n, " ", last)) {
				return
			}
			c.clear()
		}
	}
}

// TestRemovedMeanwhile: a log that is removed while a program puts it into the index, at whatever step, is not in the index afterwards,
// even if another program has seen the removal before the log was put.
func TestRemovedMeanwhile(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "removed")
	for n, over := 0, false; !over; n++ {
		c := copiesOf{archive: a, logs: map[string]backend.Log{}}
		c.claude("a", 0, 1, 2)
		a.must(a.refreshOnce(undisturbed))

		c.claude("b", 10, 11, 12)
		at, last := n, ""
		a.must(a.refreshOnce(func(call string) error {
			if at--; at != -1 {
				return nil
			}
			last = call
			c.remove("claude/-p/b")
			c.claude("c", 20, 21, 22)
			return a.refreshOnce(undisturbed)
		}))
		over = at >= 0
		if !a.comparedAs(fmt.Sprint(n, " ", last)) {
			return
		}
		c.clear()
	}
}

// TestRemovalWaits: a removal waits for a transaction that puts the log into the index, so that the removal is the later one. An append
// does not wait.
func TestRemovalWaits(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "waits")
	c := copiesOf{archive: a, logs: map[string]backend.Log{}}
	c.claude("b", 10, 11, 12)
	conn, err := pgx.Connect(t.Context(), a.url)
	a.must(err)
	defer conn.Close(t.Context())
	tx, err := conn.Begin(t.Context())
	a.must(err)
	_, err = tx.Exec(t.Context(), "select from treeline.log for key share") // like a put
	a.must(err)
	c.logs["claude/-p/b"], err = a.b.Append(t.Context(), c.logs["claude/-p/b"], prompts("b", 13)...)
	a.must(err)
	removed := make(chan error, 1)
	go func() { removed <- a.b.Remove(t.Context(), c.logs["claude/-p/b"]) }()
	for waits := false; !waits; {
		select {
		case err := <-removed:
			t.Fatalf("the removal ended before the put, with %v", err)
		default:
			a.must(tx.QueryRow(t.Context(), "select exists (select from pg_locks where not granted and transactionid = pg_current_xact_id()::xid)").Scan(&waits))
		}
	}
	a.must(tx.Commit(t.Context()))
	a.must(<-removed)
}

// TestInterruptedTogether: programs whose updates are interrupted at random bring the index up to date together, while logs are added, grow
// and are removed. An update after them makes the index equal to a new one.
func TestInterruptedTogether(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "together")
	s := soaktest.Begin(t)
	r := rand.New(rand.NewPCG(s.Seed(11), 12))
	interrupted := errors.New("interrupted")
	for round := range s.Rounds(soaktest.Part(20, 4), 20) {
		c := copiesOf{archive: a, logs: map[string]backend.Log{}}
		var wg sync.WaitGroup
		done := make(chan struct{})
		for range 3 {
			var mu sync.Mutex
			own := rand.New(rand.NewPCG(r.Uint64(), 0))
			f := a.stepped(func(string) error {
				mu.Lock()
				defer mu.Unlock()
				if own.IntN(6) == 0 {
					return interrupted
				}
				return nil
			})
			wg.Go(func() {
				defer f.Close()
				for {
					if err := a.refresh(f); err != nil && !errors.Is(err, interrupted) {
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
		for i := range 40 {
			names := slices.Sorted(maps.Keys(c.logs))
			first := 10 * r.IntN(2)
			switch kind := r.IntN(8); {
			case kind == 0 && len(names) > 0:
				c.remove(names[r.IntN(len(names))])
			case kind < 3 && len(names) > 0:
				if name := names[r.IntN(len(names))]; strings.HasPrefix(name, "claude") {
					c.replace(name, prompts(name, first, first+1, 20+r.IntN(20))...)
				}
			case kind == 3:
				c.gemini(fmt.Sprintf("%02d-%02d", 10+i/60, i%60), r.IntN(2) == 0)
			default:
				c.claude(fmt.Sprint("s", i), first, first+1, first+2, 20+r.IntN(20))
			}
		}
		close(done)
		wg.Wait()
		if !a.comparedAs(fmt.Sprint("round ", round)) {
			return
		}
		c.clear()
	}
}

// TestUpdateCancelled: a call that waits for another call's update ends when its context does.
func TestUpdateCancelled(t *testing.T) {
	t.Parallel()
	a := newArchive(t, "cancelled")
	begun, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	f := a.stepped(func(string) error {
		once.Do(func() { close(begun) })
		<-goOn
		return nil
	})
	defer f.Close()
	first := make(chan error)
	go func() { first <- a.refresh(f) }()
	<-begun
	gone := errors.New("the caller is gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	second := make(chan error, 1)
	go func() {
		_, err := f.Beside(ctx, true, find.RefreshOptions{})
		second <- err
	}()
	select {
	case err := <-second:
		if !errors.Is(err, gone) {
			t.Errorf("%v, want %v", err, gone)
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits for the other update")
	}
	close(goOn)
	a.must(<-first)
}

// comparedAs brings the index up to date, and compares it with a new one.
func (a *archive) comparedAs(name string) bool {
	shared := a.stepped(undisturbed)
	defer shared.Close()
	a.must(a.refresh(shared))
	return a.Run(name, func(t *testing.T) {
		b := *a
		b.T = t
		b.sameCatalogue(b.local(), shared)
	})
}
