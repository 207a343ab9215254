package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/pgtest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

// call is an operation of the history: an append at a size, or a read of the size if there is no record.
type call struct {
	log    int
	at     int64
	record string
}

// outcome is what the operation returned.
type outcome struct {
	size     int64
	conflict bool
}

// history is what clients did and saw.
type history struct {
	began time.Time

	mu    sync.Mutex
	ops   []porcupine.Operation
	lost  []porcupine.Operation // appends with an unknown outcome
	acked atomic.Int64
}

func (h *history) now() int64 { return int64(time.Since(h.began)) }

func (h *history) add(client int, c call, out outcome, from int64, unknown bool) {
	op := porcupine.Operation{ClientId: client, Input: c, Output: out, Call: from, Return: h.now()}
	h.mu.Lock()
	defer h.mu.Unlock()
	if unknown {
		h.lost = append(h.lost, op)
	} else {
		h.ops = append(h.ops, op)
	}
	if !unknown && !out.conflict && c.record != "" {
		h.acked.Add(1)
	}
}

const clients, logs = 16, 4

func logName(n int) string { return fmt.Sprintf("f/%d.jsonl", n) }

// work appends numbered records of one client to one log until ctx ends. Four clients share a log.
func (h *history) work(ctx context.Context, b *Backend, client, round int) {
	log := client % logs
	for i := 0; ctx.Err() == nil; {
		from := h.now()
		at, err := b.Stat(context.Background(), logName(log))
		if err != nil {
			continue
		}
		h.add(client, call{log: log}, outcome{size: at.Size}, from, false)
		record := fmt.Sprintf("%d %d %d", client, round, i)
		from = h.now()
		next, err := b.Append(context.Background(), at, []byte(record))
		c := call{log, at.Size, record}
		switch {
		case errors.Is(err, backend.ErrConflict):
			h.add(client, c, outcome{conflict: true}, from, false)
		case err != nil:
			h.add(client, c, outcome{}, from, true)
			i++
		default:
			h.add(client, c, outcome{size: next.Size}, from, false)
			i++
		}
	}
}

// more waits until so many more appends have been acknowledged. How long that takes depends on the machine, but it must take less than two
// minutes.
func (h *history) more(t *testing.T, n int64) {
	t.Helper()
	seen, want, since := h.acked.Load(), h.acked.Load()+n, time.Now()
	for seen < want {
		if now := h.acked.Load(); now > seen {
			seen, since = now, time.Now()
		} else if time.Since(since) > 2*time.Minute {
			t.Fatalf("%d appends were acknowledged, want %d", seen, want)
		}
		time.Sleep(time.Millisecond)
	}
}

// verify reads the logs and checks that acknowledged records are there once, in the order of their clients, and that the whole history is
// one of compare-and-swap.
func (h *history) verify(t *testing.T, c *soaktest.Counts, b *Backend) {
	t.Helper()
	c.Acknowledged(int(h.acked.Load()))
	found := map[string]int{}
	for log := range logs {
		at, err := b.Stat(t.Context(), logName(log))
		c.Unreadable(logName(log), err)
		last := map[string][2]int{}
		for r, err := range b.Read(t.Context(), at, 0) {
			c.Unreadable(logName(log), err)
			var client, round, i int
			if _, err := fmt.Sscan(string(r.Data), &client, &round, &i); err != nil {
				t.Fatalf("%q: %v", r.Data, err)
			}
			who := fmt.Sprint(client)
			if before, ok := last[who]; ok && (round < before[0] || round == before[0] && i <= before[1]) {
				t.Errorf("record %q comes after %v", r.Data, before)
			}
			last[who] = [2]int{round, i}
			found[string(r.Data)]++
		}
	}
	ops := h.ops
	for _, op := range h.ops {
		if did, out := op.Input.(call), op.Output.(outcome); did.record != "" && !out.conflict && found[did.record] != 1 {
			c.Lost("acknowledged record %q is there %d times", did.record, found[did.record])
		}
	}
	for _, op := range h.lost { // such an append was executed at some later time, or never
		did := op.Input.(call)
		if found[did.record] > 1 {
			c.Lost("record %q is there %d times", did.record, found[did.record])
		}
		if found[did.record] == 1 {
			op.Output, op.Return = outcome{size: did.at + int64(len(did.record)) + 1}, h.now()
			ops = append(ops, op)
		}
	}
	if result := porcupine.CheckOperationsTimeout(model, ops, time.Minute); result != porcupine.Ok {
		t.Errorf("the history of %d operations is not linearizable: %v", len(ops), result)
	}
	t.Logf("%d appends acknowledged, %d unknown, %d operations", h.acked.Load(), len(h.lost), len(h.ops))
}

// model is a log as the contract describes it: its size is the state.
var model = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		parts := make([][]porcupine.Operation, logs)
		for _, op := range history {
			log := op.Input.(call).log
			parts[log] = append(parts[log], op)
		}
		return parts
	},
	Init: func() any { return int64(0) },
	Step: func(state, input, output any) (bool, any) {
		size, c, out := state.(int64), input.(call), output.(outcome)
		switch {
		case c.record == "":
			return out.size == size, size
		case out.conflict:
			return c.at != size, size
		}
		return c.at == size && out.size == size+int64(len(c.record))+1, out.size
	},
}

// run lets all clients work while faults are made, then stops them.
func (h *history) run(t *testing.T, url string, round int, wrap func(*pgconn.Config), faults func()) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var group sync.WaitGroup
	var open []*Backend
	for range 4 { // processes
		b, err := Open(url, Options{Patience: time.Minute, wrap: wrap}, backend.OpenOptions{Below: "fault"})
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, b)
	}
	for client := range clients {
		group.Go(func() { h.work(ctx, open[client/4], client, round) })
	}
	defer func() {
		stop()
		group.Wait()
		for _, b := range open {
			_ = b.Close()
		}
	}()
	faults()
}

// begin makes the logs.
func begin(t *testing.T, url string) *history {
	t.Helper()
	b := opened(t, url, "fault")
	for log := range logs {
		if _, err := b.Create(t.Context(), logName(log)); err != nil {
			t.Fatal(err)
		}
	}
	return &history{began: time.Now()}
}

// opened opens a database for a test.
func opened(t *testing.T, url, below string) *Backend {
	t.Helper()
	b, err := Open(url, Options{}, backend.OpenOptions{Below: below, Writer: backend.Writer{Name: "tester@machine"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// cut is a connection that breaks now and then, after a message was sent: the answer and everything after it are lost.
type cut struct {
	net.Conn
	rnd  *rand.Rand
	odds int // it breaks after one in so many messages
	sent int
}

func (c *cut) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if c.sent++; c.sent > 10 && c.rnd.IntN(c.odds) == 0 {
		// The server still reads what was sent to it.
		if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
		_ = c.Conn.SetReadDeadline(time.Unix(1, 0))
	}
	return n, err
}

// cutting makes connections that break, and counts the connections.
func cutting(n *atomic.Uint64, odds int) func(*pgconn.Config) {
	return func(config *pgconn.Config) {
		dial := config.DialFunc
		config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dial(ctx, network, addr)
			return &cut{Conn: c, odds: odds, rnd: rand.New(rand.NewPCG(n.Add(1), 0))}, err
		}
	}
}

// Connections break at random, usually while an answer is on its way.
func TestFaultCut(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).URL("")
	c := soaktest.Begin(t)
	h := begin(t, url)
	var cuts atomic.Uint64
	for round := range c.Rounds(1, 1) {
		before := cuts.Load()
		h.run(t, url, round, cutting(&cuts, 40), func() { h.more(t, 250) })
		if n := cuts.Load() - before; n < 30 {
			t.Errorf("only %d connections, want 30 or more", n)
		}
	}
	h.verify(t, c, opened(t, url, "fault"))
}

// Copies of any length are exact although connections break, in the middle of a COPY too.
func TestFaultMirror(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).URL("")
	var seed atomic.Uint64
	b, err := Open(url, Options{Patience: time.Minute, wrap: cutting(&seed, 100)}, backend.OpenOptions{Below: "mirror"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	c := soaktest.Begin(t)
	rnd := rand.New(rand.NewPCG(c.Seed(7), 0))
	all := bytes.Repeat(append(bytes.Repeat([]byte("0123456789"), 1000), '\n'), 500) // 5 MB
	at := backend.Log{Name: "a.jsonl"}
	var want []byte
	for i := range c.Rounds(12, 12) {
		part := all[:rnd.IntN(1<<uint(rnd.IntN(16)))]
		if i%10 == 5 {
			part = all // copied in a transaction
		}
		if i%6 == 0 {
			at, err = b.Overwrite(t.Context(), at, fmt.Sprint(i), bytes.NewReader(part))
			want = bytes.Clone(part)
		} else {
			at, err = b.Extend(t.Context(), at, fmt.Sprint(i), bytes.NewReader(part))
			want = append(want, part...)
		}
		if err != nil || at.Size != int64(len(want)) {
			t.Fatalf("copy %d: %+v, %v; want %d bytes", i, at, err, len(want))
		}
		for m, err := range b.Marks(t.Context(), "") {
			if err != nil || m.Mark != fmt.Sprint(i) || !m.Log.Same(at) {
				t.Fatalf("copy %d is %+v, %v; want %+v", i, m, err, at)
			}
		}
		if got, err := backend.ReadAll(t.Context(), b, at); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("copy %d has %d bytes, %v; want %d", i, len(got), err, len(want))
		}
	}
	if seed.Load() < 3 {
		t.Errorf("only %d connections", seed.Load())
	}
}

// lostAnswer is a connection that breaks once, in the middle of a long answer.
type lostAnswer struct {
	net.Conn
	left *atomic.Int64 // bytes until it breaks; 0 means never
	lost func()
}

func (c *lostAnswer) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if left := c.left.Load(); left > 0 && c.left.Add(-int64(n)) <= 0 {
		c.left.Store(0)
		c.lost()
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

// If a log grows while the connection breaks, it is read as it is afterwards, not with its old length.
func TestFaultGlimpse(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).URL("")
	other := opened(t, url, "glimpse")
	line := bytes.Repeat([]byte("x"), 999)
	at, err := other.Create(t.Context(), "a.jsonl", slices.Repeat([][]byte{line}, 300)...)
	if err != nil {
		t.Fatal(err)
	}
	var left atomic.Int64
	grow := func() {
		if at, err = other.Append(t.Context(), at, line); err != nil {
			t.Error(err)
		}
	}
	b, err := Open(url, Options{wrap: func(config *pgconn.Config) {
		dial := config.DialFunc
		config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dial(ctx, network, addr)
			return &lostAnswer{c, &left, grow}, err
		}
	}}, backend.OpenOptions{Below: "glimpse"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if _, err := b.Stat(t.Context(), "a.jsonl"); err != nil {
		t.Fatal(err)
	}
	left.Store(100_000)
	now, head, _, err := b.Glimpse(t.Context(), "a.jsonl", make([]byte, 1<<20), 0)
	if err != nil || now.Size != 301_000 || int64(len(head)) != now.Size || left.Load() != 0 {
		t.Errorf("%d bytes of a log of %d, %v; want 301000", len(head), now.Size, err)
	}
}

// The server is stopped in immediate mode and started again three times, under 16 clients. Then it is killed and its synchronous standby
// takes over. The clients know both servers. In a soak all of this is one round.
func TestFaultServer(t *testing.T) {
	t.Parallel()
	c := soaktest.Begin(t)
	s := pgtest.Start(t, pgtest.Options{})
	h := begin(t, s.URL(""))
	for round := range c.Rounds(1, 1) {
		h.run(t, s.URL(""), 2*round, nil, func() {
			for range soaktest.Part(3, 1) {
				h.more(t, 60)
				if err := errors.Join(s.Crash(), s.Up()); err != nil {
					t.Fatal(err)
				}
			}
			h.more(t, 60)
		})
		standby := s.Standby(t)
		h.run(t, pgtest.URLs("postgres", s, standby), 2*round+1, nil, func() {
			h.more(t, 60)
			if err := s.Crash(); err != nil {
				t.Fatal(err)
			}
			standby.Promote(t)
			h.more(t, 60)
		})
		s = standby
	}
	h.verify(t, c, opened(t, s.URL(""), "fault"))
}

// An append whose answer was lost is recognised, even if other clients have appended since or the log was replaced. Other bytes at its
// place are a conflict.
func TestRecognise(t *testing.T) {
	t.Parallel()
	b := opened(t, pgtest.Shared(t).URL(""), "recognise")
	big := bytes.Repeat([]byte("long "), 1<<19) // several pieces
	for name, mine := range map[string][]byte{"small.jsonl": []byte("mine"), "big.jsonl": big} {
		at, err := b.Create(t.Context(), name, []byte("first"))
		if err != nil {
			t.Fatal(err)
		}
		lost := b.appending(at, append(bytes.Clone(mine), '\n'), false)
		other := b.appending(at, []byte(strings.Repeat("x", len(mine))+"\n"), false)
		now, err := b.Append(t.Context(), at, mine)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := b.mutate(t.Context(), lost, true, backend.ErrConflict); err != nil || !again.Same(now) {
			t.Errorf("%s: %+v, %v; want %+v", name, again, err, now)
		}
		if _, err := b.mutate(t.Context(), lost, false, backend.ErrConflict); !errors.Is(err, backend.ErrConflict) {
			t.Errorf("%s: an append that was not sent before: %v", name, err)
		}
		if _, err := b.mutate(t.Context(), other, true, backend.ErrConflict); !errors.Is(err, backend.ErrConflict) {
			t.Errorf("%s: other bytes: %v", name, err)
		}
		next, err := b.Append(t.Context(), now, []byte("theirs"))
		if err == nil {
			_, err = b.Replace(t.Context(), next, []byte("replaced"))
		}
		if err != nil {
			t.Fatal(err)
		}
		if again, err := b.mutate(t.Context(), lost, true, backend.ErrConflict); err != nil || again.Size != now.Size || again.Generation != now.Generation {
			t.Errorf("%s, replaced since: %+v, %v; want %+v", name, again, err, now)
		}
	}
}
