package postgres_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/postgres"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/pgtest"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/watch"
)

// machine returns a machine with connections of its own.
func machine(t *testing.T, url, origin string) *place.Machine {
	opt := world.Options(filepath.FromSlash("/home/user"), nil)
	opt.Env.Realpath = func(dir string) (string, error) { return filepath.Clean(dir), nil }
	opt.Drivers = []backend.Driver{postgres.Driver(postgres.Options{})}
	opt.Roots, opt.Origin = []string{url}, origin
	m := place.New(opt)
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// What machines write is reported on another one: nothing is missing or reported twice, even if all connections are cut while they write,
// and if sources appear after the start. Behind a pooler there are no notices, and it polls.
func TestLive(t *testing.T) {
	t.Parallel()
	server, bouncer := pgtest.Shared(t), pgtest.SharedBouncer(t)
	for _, way := range []string{"direct", "bouncer"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			name := "live_" + way
			url := server.Database(t, name)
			if way == "bouncer" {
				url = bouncer.URL(name)
			}
			told := follow(t, machine(t, url, "watcher-00000000"))
			done := make(chan struct{})
			var cuts, writers sync.WaitGroup
			cuts.Go(func() { cutting(t, server.URL(name), done) })
			want := make([][]string, 3)
			for i := range want {
				writers.Go(func() { want[i] = write(t, machine(t, url, fmt.Sprintf("writer-0000000%d", i)), i) })
			}
			writers.Wait()
			close(done)
			cuts.Wait()
			told.check(t, want)
		})
	}
}

// write begins sessions and appends to them in turn, and returns the texts that were acknowledged.
func write(t *testing.T, m *place.Machine, i int) (texts []string) {
	s := store.New(store.Options{Machine: m})
	d, err := m.Dialect([]string{"omp", "pi", "claude"}[i])
	if err != nil {
		t.Error(err)
		return nil
	}
	for k := range 2 {
		sess, err := s.Create(t.Context(), store.CreateOptions{
			Dialect: d, CWD: "/work", Write: store.WriteOptions{Force: true, Defer: dialect.DeferNever},
		})
		for n := 0; err == nil && n < 12; n++ {
			text := fmt.Sprintf("%d-%d-%d", i, k, n)
			if _, err = sess.AppendText(t.Context(), session.RoleUser, text); err == nil {
				texts = append(texts, text)
			}
			time.Sleep(10 * time.Millisecond) // so that cuts fall between and into appends
		}
		if err == nil {
			err = sess.Close()
		}
		if err != nil {
			t.Errorf("writer %d: %v", i, err)
		}
	}
	return texts
}

// cutting ends all connections to a database again and again.
func cutting(t *testing.T, url string, done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-time.After(90 * time.Millisecond):
		}
		c, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Error(err)
			return
		}
		_, err = c.Exec(t.Context(), `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`)
		if err != nil {
			t.Error(err)
		}
		_ = c.Close(t.Context())
	}
}

// told counts the texts that a watch reported.
type told struct {
	mu    sync.Mutex
	times map[string]int
}

// follow begins to watch.
func follow(t *testing.T, m *place.Machine) *told {
	ctx, cancel := context.WithCancel(t.Context())
	began, ended := make(chan struct{}), make(chan struct{})
	told := &told{times: map[string]int{}}
	go func() {
		defer close(ended)
		for c, err := range watch.Watch(ctx, m, watch.Options{}) {
			if err != nil {
				t.Errorf("the watch ended: %v", err)
				return
			}
			switch c.Kind {
			case watch.KindStart:
				close(began)
			case watch.KindEntry:
				parts, err := c.Parts()
				if err != nil {
					t.Error(err)
				}
				for _, p := range parts {
					if text, ok := p.(session.Text); ok {
						told.mu.Lock()
						told.times[text.Text]++
						told.mu.Unlock()
					}
				}
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
	select {
	case <-began:
	case <-ended:
		t.Fatal("the watch did not begin")
	}
	return told
}

// check waits until all texts were reported, and compares.
func (w *told) check(t *testing.T, want [][]string) {
	t.Helper()
	missing := func() (list []string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, texts := range want {
			for _, text := range texts {
				if w.times[text] == 0 {
					list = append(list, text)
				}
			}
		}
		return list
	}
	for late := time.Now().Add(time.Minute); len(missing()) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("never told: %q", missing())
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for text, n := range w.times {
		if n != 1 {
			t.Errorf("%s was told %d times", text, n)
		}
	}
}
