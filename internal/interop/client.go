package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/rpc"
)

// client talks to this library as programs do that are written in another language.
// It goes through package rpc and two pipes, so that what is compared is what such a program gets.
type client struct {
	in   *io.PipeWriter
	out  *bufio.Reader
	done chan error
	next int
}

// NoBreadcrumbs: which session a terminal used last would otherwise decide what recent means.
func newClient(ctx context.Context, home string) (*client, error) {
	st, err := treeline.New(treeline.Options{Home: home, WorkDir: home, Getenv: func(string) string { return "" }, NoBreadcrumbs: true})
	if err != nil {
		return nil, err
	}
	in, toUs := io.Pipe()
	fromUs, out := io.Pipe()
	c := &client{in: toUs, out: bufio.NewReader(fromUs), done: make(chan error, 1)}
	go func() {
		err := rpc.Serve(ctx, st, rpc.Options{}, in, out)
		out.CloseWithError(err)
		c.done <- err
	}()
	return c, nil
}

func (c *client) close() {
	c.in.Close()
	<-c.done
}

// params are those of all methods that are called here.
type params struct {
	Dialect    string `json:"dialect,omitempty"`
	CWD        string `json:"cwd,omitempty"`
	SessionDir string `json:"sessionDir,omitempty"`
	Dir        string `json:"dir,omitempty"`
	Limit      *int   `json:"limit,omitempty"`
	Session    string `json:"session,omitempty"`
}

// Requests are made one at a time, so the next line is the answer to this one.
func (c *client) call(method string, p params, result any) error {
	c.next++
	request := struct {
		Version string `json:"jsonrpc"`
		ID      int    `json:"id"`
		Method  string `json:"method"`
		Params  params `json:"params"`
	}{"2.0", c.next, method, p}
	if _, err := c.in.Write([]byte(spell(request) + "\n")); err != nil {
		return err
	}
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		return err
	}
	var answer struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		return err
	}
	if answer.Error != nil {
		return errors.New("this library: " + answer.Error.Message)
	}
	return json.Unmarshal(answer.Result, result)
}

// list asks the method that stands for a command.
func (c *client) list(dialect string, ask command, answer any) error {
	switch ask.Op {
	case "list":
		return c.call("list", params{Dialect: dialect, CWD: ask.CWD, SessionDir: ask.Dir}, answer)
	case "listAll":
		return c.call("listAll", params{Dialect: dialect, SessionDir: ask.Dir}, answer)
	case "recent":
		return c.call("getRecentSessions", params{Dialect: dialect, SessionDir: ask.Dir, Limit: ask.Limit}, answer)
	case "mostRecent":
		return c.call("findMostRecent", params{Dialect: dialect, Dir: ask.Dir}, answer)
	}
	return fmt.Errorf("no method for %s", ask.Op)
}

// continues gives the file that a client would go on with, nil for a new one.
// continueRecent may only promise a file: a session that is new has none yet.
func (c *client) continues(dialect, cwd, dir string) (*string, error) {
	var s struct {
		Session string
		File    string
	}
	if err := c.call("continueRecent", params{Dialect: dialect, CWD: cwd, SessionDir: dir}, &s); err != nil {
		return nil, err
	}
	// Looked at before the session is closed, which may write it.
	_, err := os.Stat(s.File)
	var closed any
	if err := c.call("close", params{Session: s.Session}, &closed); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, nil
	}
	return &s.File, nil
}
