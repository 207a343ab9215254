package remote_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/remote"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

// cutter is a proxy that cuts connections after a random number of bytes, in either direction.
type cutter struct {
	net.Listener
	to    string
	mu    sync.Mutex
	rnd   *rand.Rand
	cuts  atomic.Int64
	conns sync.WaitGroup
}

func newCutter(t testing.TB, to string, seed uint64) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{Listener: l, to: to, rnd: rand.New(rand.NewPCG(seed, 1))}
	c.conns.Go(c.run)
	t.Cleanup(func() {
		l.Close()
		c.conns.Wait()
	})
	return c
}

func (c *cutter) run() {
	for {
		in, err := c.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", c.to)
		if err != nil {
			in.Close()
			continue
		}
		end := func() { in.Close(); out.Close() }
		c.conns.Go(func() { c.pass(out, in, end) })
		c.conns.Go(func() { c.pass(in, out, end) })
	}
}

// limit returns the number of bytes after which a connection is cut: often in the middle of a request or an answer.
func (c *cutter) limit() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return 2000 + c.rnd.Int64N(30_000) // a handshake has 2 KB
}

// pass copies one direction until it is cut. What was read before the cut is passed on, so a request can arrive while its answer is lost.
func (c *cutter) pass(to, from net.Conn, end func()) {
	defer end()
	n, _ := io.CopyN(to, from, c.limit())
	if n > 0 {
		c.cuts.Add(1)
	}
}

// Clients append while connections are cut at random. Acknowledged records are there once and in order, and nothing is there that was not
// sent.
func TestFaultCuts(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	u, err := url.Parse(b.URL)
	if err != nil {
		t.Fatal(err)
	}
	const clients = 4
	each := soaktest.Size(25, 500)
	c := newCutter(t, u.Host, 1)
	root := "https://" + c.Addr().String()
	var group sync.WaitGroup
	for n := range clients {
		group.Go(func() {
			d, err := driver(b.opt).Open(root, backend.OpenOptions{Below: "faults/omp"})
			if err != nil {
				t.Error(err)
				return
			}
			defer d.Close()
			if err := work(t.Context(), d.(*remote.Backend), fmt.Sprintf("own%d.jsonl", n), n, each); err != nil {
				t.Errorf("client %d: %v", n, err)
			}
		})
	}
	group.Wait()
	if c.cuts.Load() < int64(each/10) {
		t.Errorf("only %d connections were cut", c.cuts.Load())
	}
	t.Logf("%d connections were cut", c.cuts.Load())
	// What all clients wrote to one log.
	at, err := b.archive.Stat(t.Context(), "faults/omp/shared.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var next [clients]int
	for r, err := range b.archive.Read(t.Context(), at, 0) {
		var who, i int
		if _, scan := fmt.Sscan(string(r.Data), &who, &i); err != nil || scan != nil || next[who] != i {
			t.Fatalf("%.40q, %v: expected number %d", r.Data, err, next[who])
		}
		next[who]++
	}
	for who, n := range next {
		if n != each {
			t.Errorf("client %d: %d of %d records", who, n, each)
		}
	}
}

// work performs all operations of a client, and checks that each answer is right although connections are cut.
func work(ctx context.Context, b *remote.Backend, own string, who, each int) error {
	long := strings.Repeat("x", 3000)
	var at backend.Log
	var want []string
	var err error
	for { // a call does not wait for a server that was never reached
		if _, err := b.Stat(ctx, own); errors.Is(err, backend.ErrNotExist) {
			break
		}
	}
	for i := range each {
		// A log of its own: no change by others, so every mutation must succeed.
		record := fmt.Sprintf("%d %d %s", who, i, long)
		switch {
		case i%20 == 0 && i > 0:
			if err = b.Remove(ctx, at); err != nil {
				return fmt.Errorf("remove %d: %w", i, err)
			}
			fallthrough
		case i == 0:
			at, err = b.Create(ctx, own, []byte(record))
			want = []string{record}
		case i%7 == 0:
			at, err = b.Replace(ctx, at, []byte(record))
			want = []string{record}
		case i%5 == 0:
			at, err = b.Extend(ctx, at, "m", strings.NewReader(record+"\n"))
			want = append(want, record)
		default:
			at, err = b.Append(ctx, at, []byte(record))
			want = append(want, record)
		}
		if err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		var got []string
		for r, err := range b.Read(ctx, at, 0) {
			if err != nil {
				return fmt.Errorf("read %d: %w", i, err)
			}
			got = append(got, string(r.Data))
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("step %d: %d records, want %d", i, len(got), len(want))
		}
		if err := share(ctx, b, fmt.Appendf(nil, "%d %d", who, i)); err != nil {
			return fmt.Errorf("shared %d: %w", i, err)
		}
	}
	return nil
}

// share appends to a log that all clients write.
func share(ctx context.Context, b *remote.Backend, record []byte) error {
	for {
		at, err := b.Stat(ctx, "shared.jsonl")
		if errors.Is(err, backend.ErrNotExist) {
			if _, err = b.Create(ctx, "shared.jsonl", record); !errors.Is(err, backend.ErrExist) {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if _, err = b.Append(ctx, at, record); !errors.Is(err, backend.ErrConflict) {
			return err
		}
	}
}

// A watch reports each change once although connections are cut, and misses none.
func TestFaultWatch(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	u, err := url.Parse(b.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := newCutter(t, u.Host, 2)
	d, err := driver(b.opt).Open("https://"+c.Addr().String(), backend.OpenOptions{Below: "watched/omp"})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	names := make(chan string, 10_000)
	var w io.Closer
	for w == nil { // a call does not wait for a server that was never reached
		w, _ = d.(backend.Watcher).Watch(func(name string, err error) {
			if err == nil { // the connection may be lost for a moment
				names <- name
			}
		})
	}
	defer w.Close()
	count := soaktest.Size(300, 1000)
	go func() {
		for i := range count {
			b.archive.Put(fmt.Sprintf("watched/omp/%d-%s.jsonl", i, strings.Repeat("n", 150)), []byte("{}\n"))
			if i%20 == 0 {
				time.Sleep(2 * time.Millisecond) // several answers
			}
		}
	}()
	late := time.After(time.Minute)
	for i := range count {
		select {
		case name := <-names:
			if !strings.HasPrefix(name, fmt.Sprint(i, "-")) {
				t.Fatalf("told of %.20q, want number %d", name, i)
			}
		case <-late:
			t.Fatalf("only %d changes were told", i)
		}
	}
	if c.cuts.Load() < 2 {
		t.Errorf("only %d connections were cut", c.cuts.Load())
	}
}
