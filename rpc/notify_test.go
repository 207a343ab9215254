package rpc

import (
	"bufio"
	"io"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/watch"
	"github.com/treeline-dev/treeline/wire"
)

// A client that does not read loses changes and is told how many once there is room. The watch never waits for it.
func TestSlowClient(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	c := &client{out: out, failed: make(chan struct{})}
	f := follower{client: c, handle: "w1"}
	const n = 3000
	for range n { // nothing reads the pipe, so waiting would be a deadlock
		f.tell(wire.Change{Event: watch.KindEntry})
	}
	if f.lost != n-mostNotes {
		t.Errorf("%d of %d were lost", f.lost, n)
	}
	lines := bufio.NewScanner(in)
	for range mostNotes {
		if !lines.Scan() || !strings.Contains(lines.Text(), `"event":"entry"`) {
			t.Fatalf("got %s", lines.Text())
		}
	}
	c.notes.sending.Wait()
	f.tell(wire.Change{Event: watch.KindEntry, Path: "next"})
	for _, want := range []string{`{"watch":"w1","event":"lost","lost":1976}`, `{"watch":"w1","event":"entry","path":"next"}`} {
		if lines.Scan(); !strings.Contains(lines.Text(), want) {
			t.Errorf("got %s", lines.Text())
		}
	}
	c.notes.sending.Wait()
}

// Large changes count by their size. One that is larger than the limit is sent alone.
func TestLargeChanges(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	c := &client{out: out, failed: make(chan struct{})}
	large := strings.Repeat("x", mostNoted)
	for i, want := range []bool{true, false} {
		if ok, err := c.notify("change", large); ok != want || err != nil {
			t.Errorf("%d: %v, %v; want ok == %v, no error", i, ok, err, want)
		}
	}
	in.Close()
	c.notes.sending.Wait()
}
