package postgres

import (
	"bytes"
	"context"
	"errors"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/pgtest"
)

// silence is connections whose server does not answer any more, as if the network were gone.
type silence struct {
	begun atomic.Bool
	asked chan struct{} // holds one: something was sent since
}

type silentConn struct {
	net.Conn
	*silence
}

func (c silentConn) Write(p []byte) (int, error) {
	if !c.begun.Load() {
		return c.Conn.Write(p)
	}
	select {
	case c.asked <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (s *silence) wrap(config *pgconn.Config) {
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		return silentConn{c, s}, err
	}
}

// Close ends calls that wait for a server that does not answer.
func TestCloseInSilence(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).Database(t, "silence")
	for name, call := range map[string]func(b *Backend, whole, torn backend.Log) error{
		"watch": func(b *Backend, _, _ backend.Log) error { _, err := b.Watch(func(string, error) {}); return err },
		"append": func(b *Backend, at, _ backend.Log) error {
			_, err := b.Append(context.Background(), at, []byte("{}"))
			return err
		},
		"large append": func(b *Backend, at, _ backend.Log) error {
			_, err := b.Append(context.Background(), at, bytes.Repeat([]byte("1"), inline+1))
			return err
		},
		"append to a torn log": func(b *Backend, _, at backend.Log) error {
			ctx, end := b.detached(context.Background())
			defer end()
			_, err := b.mend(ctx, at, []byte("{}\n"))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := silence{asked: make(chan struct{}, 1)}
			b, err := Open(url, Options{wrap: s.wrap}, backend.OpenOptions{Below: "silent/" + name})
			if err != nil {
				t.Fatal(err)
			}
			whole, err := b.Create(t.Context(), "whole.jsonl", []byte("{}"))
			if err != nil {
				t.Fatal(err)
			}
			torn, err := b.Restore(t.Context(), "torn.jsonl", []byte("{}\n{"))
			if err != nil {
				t.Fatal(err)
			}
			s.begun.Store(true)
			ended, closed := make(chan error, 1), make(chan error, 1)
			go func() { ended <- call(b, whole, torn) }()
			<-s.asked
			go func() { closed <- b.Close() }()
			for range 2 {
				select {
				case err := <-ended:
					if !errors.Is(err, backend.ErrClosed) {
						t.Errorf("%v, want %v", err, backend.ErrClosed)
					}
				case err := <-closed:
					if err != nil {
						t.Error(err)
					}
				case <-time.After(20 * time.Second):
					t.Fatal("the call does not end")
				}
			}
		})
	}
}

// A mutation that waits in the queue when its view is closed is not carried out later.
func TestClosedInQueue(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).Database(t, "queued") + "&pool_max_conns=2"
	d := Driver(Options{})
	open := func() *Backend {
		b, err := d.Open(url, backend.OpenOptions{Below: "machine/omp"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		return b.(*Backend)
	}
	first, second := open(), open()
	held, err := first.Create(t.Context(), "held.jsonl", []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	other, err := first.Create(t.Context(), "other.jsonl", []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), url[:len(url)-len("&pool_max_conns=2")])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), "begin; select from treeline.log where name like '%/held.jsonl' for update"); err != nil {
		t.Fatal(err)
	}
	ended, queued := make(chan error, 1), make(chan error, 1)
	go func() { _, err := first.Append(context.Background(), held, []byte("1")); ended <- err }()
	waiting := func(senders, n int) {
		for there := false; !there; {
			first.queue.mu.Lock()
			there = first.queue.senders == senders && len(first.queue.waiting) == n
			first.queue.mu.Unlock()
			runtime.Gosched()
		}
	}
	waiting(1, 0)
	go func() { _, err := second.Append(context.Background(), other, []byte("2")); queued <- err }()
	waiting(1, 1)
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if err := <-queued; !errors.Is(err, backend.ErrClosed) {
		t.Errorf("%v, want %v", err, backend.ErrClosed)
	}
	if _, err := conn.Exec(t.Context(), "commit"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	waiting(0, 0)
	if now, err := first.Stat(t.Context(), "other.jsonl"); err != nil || now.Size != other.Size {
		t.Errorf("%+v, %v; want %+v", now, err, other)
	}
}
