package rpc_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/rpc"
)

// slowBackend keeps logs in memory. Reading a log whose name has "stuck" ends only when its context does. An append waits for release.
type slowBackend struct {
	backend.Backend
	entered chan string
	release chan struct{}
}

func (b *slowBackend) Stat(ctx context.Context, name string) (backend.Log, error) {
	if strings.Contains(name, "stuck") {
		b.entered <- "stat"
		<-ctx.Done()
		return backend.Log{}, context.Cause(ctx)
	}
	return b.Backend.Stat(ctx, name)
}

func (b *slowBackend) Append(ctx context.Context, at backend.Log, records ...[]byte) (backend.Log, error) {
	b.entered <- "append"
	<-b.release
	if err := ctx.Err(); err != nil {
		return at, err
	}
	return b.Backend.Append(ctx, at, records...)
}

func dialSlow(t *testing.T) (*caller, *slowBackend) {
	t.Helper()
	home := t.TempDir()
	inner, err := memory.Driver("slow").Open("slow://here", backend.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b := &slowBackend{Backend: inner, entered: make(chan string, 100), release: make(chan struct{})}
	if err := os.Mkdir(filepath.Join(home, "slow"), 0o700); err != nil {
		t.Fatal(err)
	}
	claims := func(dir string) bool { return filepath.Base(dir) == "slow" }
	slow := backend.Driver{Name: "slow", Claims: claims, Open: func(string, backend.OpenOptions) (backend.Backend, error) { return b, nil }}
	s, err := treeline.New(treeline.Options{
		Backends: []backend.Driver{slow}, Home: home, WorkDir: home, Getenv: func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	return dialStore(t, s, home, rpc.Options{}), b
}

func (c *caller) cancel(id string) {
	c.tb.Helper()
	c.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":` + id + `}}`)
}

// A request that is being carried out ends, and one that waits for it is answered at once. Other waiting requests go on.
func TestCancelRequest(t *testing.T) {
	t.Parallel()
	c, b := dialSlow(t)
	check := `{"jsonrpc":"2.0","id":%s,"method":"check","params":{"ref":"` + c.home + `/slow/stuck.jsonl"}}`
	c.send(fmt.Sprintf(check, `"first"`))
	<-b.entered
	c.send(fmt.Sprintf(check, `2`))
	c.send(fmt.Sprintf(`[`+check+`,{"jsonrpc":"2.0","id":4,"method":"sources"}]`, `3`))
	c.cancel(`2`)
	const cancelled = `"error":{"code":-32800,"message":"the request was cancelled","data":{"kind":"cancelled"}}}`
	equal(t, "a request that waits", c.receive(), `{"jsonrpc":"2.0","id":2,`+cancelled+"\n")
	c.cancel(`3`)
	c.cancel(`"nobody"`)
	c.cancel(`2`)
	c.cancel(`"first"`)
	if got := c.receive(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":"first","error":{"code":-32800,`) || !strings.HasSuffix(got, `the request was cancelled","data":{"kind":"cancelled"}}}`+"\n") {
		t.Errorf("the running request: %s", got)
	}
	if got := c.receive(); !strings.HasPrefix(got, `[{"jsonrpc":"2.0","id":3,`+cancelled[:len(cancelled)-1]+`},{"jsonrpc":"2.0","id":4,"result":[`) {
		t.Errorf("the batch: %s", got)
	}
	equal(t, "stuck reads", len(b.entered), 0)
	equal(t, "as a request", c.raw("$/cancelRequest", members{"id": 5}), "null")
	c.hangUp()
}

// A conversion that is cancelled leaves no session.
func TestCancelConvert(t *testing.T) {
	t.Parallel()
	c, b := dialSlow(t)
	c.send(`{"jsonrpc":"2.0","id":1,"method":"convert","params":{"ref":"` + c.home + `/slow/stuck.jsonl","to":"pi","dir":"` + c.home + `"}}`)
	<-b.entered
	c.cancel("1")
	if got := c.receive(); !strings.Contains(got, `"code":-32800`) {
		t.Errorf("got %s", got)
	}
	files, err := filepath.Glob(filepath.Join(c.home, "*.jsonl"))
	if err != nil || files != nil {
		t.Errorf("files: %v, %v", files, err)
	}
	c.hangUp()
}

// An append that has begun is finished and answered as if it had not been cancelled. One that waits for it is not carried out.
func TestCancelAppend(t *testing.T) {
	t.Parallel()
	c, b := dialSlow(t)
	h := c.object("create", members{"cwd": c.home, "sessionDir": filepath.Join(c.home, "slow"), "dialect": "pi", "deferUntil": "never"})["session"].(string)
	for len(b.entered) > 0 {
		<-b.entered
	}
	say := `{"jsonrpc":"2.0","id":%q,"method":"appendUser","params":{"session":%q,"text":%q}}`
	c.send(fmt.Sprintf(say, "a", h, "begun"))
	equal(t, "it is in", <-b.entered, "append")
	c.send(fmt.Sprintf(say, "b", h, "waiting"))
	c.cancel(`"a"`)
	c.cancel(`"b"`)
	if got := c.receive(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":"b","error":{"code":-32800,`) {
		t.Errorf("the append that waits: %s", got)
	}
	close(b.release)
	if got := c.receive(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":"a","result":{"id":`) {
		t.Errorf("the append that has begun: %s", got)
	}
	text := c.raw("getEntries", members{"session": h})
	equal(t, "the entries", []bool{strings.Contains(text, "begun"), strings.Contains(text, "waiting")}, []bool{true, false})
	c.say(h, "assistant", "the session goes on")
	c.hangUp()
}

// Whenever a request is cancelled, it is answered exactly once.
func TestCancelRace(t *testing.T) {
	t.Parallel()
	s, home := newStore(t)
	in, out := io.Pipe()
	answers, write := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- rpc.Serve(context.Background(), s, rpc.Options{}, in, write); write.Close() }()
	const n = 300
	var sending sync.WaitGroup
	sending.Go(func() {
		defer out.Close()
		for i := range n {
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%d,"method":"getRecentSessions","params":{"sessionDir":%q,"dialect":"pi"}}`+"\n", i, home)
			fmt.Fprintf(out, `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":%d}}`+"\n", max(0, i-i%7))
		}
	})
	seen := map[string]int{}
	for lines := bufio.NewScanner(answers); lines.Scan(); {
		id, _, _ := strings.Cut(strings.TrimPrefix(lines.Text(), `{"jsonrpc":"2.0","id":`), ",")
		seen[id]++
		if !strings.Contains(lines.Text(), `"result":[]`) && !strings.Contains(lines.Text(), `-32800`) {
			t.Errorf("got %s", lines.Text())
		}
	}
	sending.Wait()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for i := range n {
		equal(t, fmt.Sprint("answers to ", i), seen[fmt.Sprint(i)], 1)
	}
}
