package rpc_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend/all"
	"github.com/treeline-dev/treeline/rpc"
)

// newStore returns a store for agents in a folder of the test.
func newStore(tb testing.TB) (*treeline.Store, string) {
	tb.Helper()
	home := tb.TempDir()
	// A working directory must exist, and so must the folder of omp for it to be the default.
	for _, dir := range []string{"work", "other", "third", "nowhere", ".omp/agent"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			tb.Fatal(err)
		}
	}
	return reopen(tb, home), home
}

// reopen returns another store for the same folder.
func reopen(tb testing.TB, home string) *treeline.Store {
	tb.Helper()
	s, err := treeline.New(treeline.Options{Backends: all.Drivers(), Home: home, WorkDir: home, Getenv: func(string) string { return "" }})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// clock returns times that are a second apart, and ids that are the same in each run.
type clock struct{ n int64 }

func (c *clock) now() time.Time {
	c.n++
	return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(c.n) * time.Second)
}

type counter struct{ n byte }

func (c *counter) Read(p []byte) (int, error) {
	c.n++
	for i := range p {
		p[i] = c.n
	}
	return len(p), nil
}

// caller talks to a server over pipes.
type caller struct {
	tb   testing.TB
	in   io.WriteCloser
	out  *bufio.Reader
	done chan error
	last int
	home string
	// notes are notifications that arrived before an awaited answer.
	notes []string
}

// noOptions are those of a server with nothing special.
var noOptions rpc.Options

const notification = `{"jsonrpc":"2.0","method":`

func dial(tb testing.TB) *caller {
	tb.Helper()
	s, home := newStore(tb)
	return dialStore(tb, s, home, rpc.Options{})
}

func dialStore(tb testing.TB, s *treeline.Store, home string, opt rpc.Options) *caller {
	tb.Helper()
	requests, in := io.Pipe()
	out, answers := io.Pipe()
	c := &caller{tb: tb, in: in, out: bufio.NewReader(out), done: make(chan error, 1), home: home}
	go func() {
		err := rpc.Serve(context.Background(), s, opt, requests, answers)
		answers.Close()
		c.done <- err
		close(c.done)
	}()
	tb.Cleanup(func() { // the server must end before the folder of the test is removed
		in.Close()
		out.Close()
		<-c.done
	})
	return c
}

// reply is an answer as the client sees it.
type reply struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    struct {
			Kind string `json:"kind"`
		} `json:"data"`
	} `json:"error"`
}

func (c *caller) send(line string) {
	c.tb.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.tb.Fatal(err)
	}
}

func (c *caller) receive() string {
	c.tb.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil {
		c.tb.Fatalf("no answer: %v", err)
	}
	return line
}

// try calls a method and returns the answer.
func (c *caller) try(method string, params any) reply {
	c.tb.Helper()
	c.last++
	text, err := json.Marshal(params)
	if err != nil {
		c.tb.Fatal(err)
	}
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.last, method, text))
	line := c.receive()
	for strings.HasPrefix(line, notification) {
		c.notes = append(c.notes, line)
		line = c.receive()
	}
	var r reply
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		c.tb.Fatal(err)
	}
	if string(r.ID) != fmt.Sprint(c.last) || r.JSONRPC != "2.0" {
		c.tb.Fatalf("%s: answer to %s", method, r.ID)
	}
	if r.Error == nil {
		keepsPromise(c.tb, method, r.Result)
	}
	return r
}

// raw calls a method that must succeed.
func (c *caller) raw(method string, params any) string {
	c.tb.Helper()
	r := c.try(method, params)
	if r.Error != nil {
		c.tb.Fatalf("%s: %d %s; want r.Error == nil", method, r.Error.Code, r.Error.Message)
	}
	return string(r.Result)
}

// members are parameters, or the members of an answer.
type members = map[string]any

// object calls a method whose result is an object.
func (c *caller) object(method string, params any) members {
	c.tb.Helper()
	var m members
	if err := json.Unmarshal([]byte(c.raw(method, params)), &m); err != nil {
		c.tb.Fatal(err)
	}
	return m
}

// list calls a method whose result is a list of objects.
func (c *caller) list(method string, params any) []members {
	c.tb.Helper()
	var m []members
	if err := json.Unmarshal([]byte(c.raw(method, params)), &m); err != nil {
		c.tb.Fatal(err)
	}
	return m
}

// create creates a session in a folder of the test and returns its handle and its file.
func (c *caller) create(more members) (handle, file string) {
	c.tb.Helper()
	params := members{"cwd": c.home, "sessionDir": filepath.Join(c.home, "logs")}
	for k, v := range more {
		params[k] = v
	}
	m := c.object("create", params)
	return m["session"].(string), m["file"].(string)
}

func (c *caller) say(handle, role, text string) string {
	c.tb.Helper()
	message := members{"role": role, "content": text, "timestamp": 1}
	if role == "assistant" {
		message["content"] = []any{members{"type": "text", "text": text}}
		message["provider"], message["model"] = "anthropic", "claude"
	}
	return c.object("appendMessage", members{"session": handle, "message": message})["id"].(string)
}

// hangUp ends the input and waits for the server. Notifications may still come.
func (c *caller) hangUp() {
	c.tb.Helper()
	c.in.Close()
	go io.Copy(io.Discard, c.out)
	if err := <-c.done; err != nil {
		c.tb.Fatal(err)
	}
}

func ids(entries []members) []string {
	var list []string
	for _, e := range entries {
		list = append(list, e["id"].(string))
	}
	return list
}
