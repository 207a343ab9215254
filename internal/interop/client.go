package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/rpc"
)

// client uses this library as a program in another language does: through package rpc and two pipes.
type client struct {
	in   *io.PipeWriter
	out  *bufio.Reader
	done chan error
	next int
}

// newClient ignores breadcrumbs: the last session of the terminal would decide what recent means.
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
	_ = c.in.Close()
	<-c.done
}

// params has the parameters of all methods that are called here.
type params struct {
	Dialect    string `json:"dialect,omitempty"`
	CWD        string `json:"cwd,omitempty"`
	SessionDir string `json:"sessionDir,omitempty"`
	Dir        string `json:"dir,omitempty"`
	Limit      *int   `json:"limit,omitempty"`
	Session    string `json:"session,omitempty"`
	// Force: the agents accept a directory that does not exist.
	Force bool `json:"force,omitempty"`
}

// call makes one request at a time, so the next line is its answer.
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

// methods has the method for each command of the agents.
var methods = map[string]string{
	"list": "list", "listAll": "listAll", "recent": "getRecentSessions", "mostRecent": "findMostRecent",
}

func (c *client) list(dialect string, ask command, answer any) error {
	p := params{Dialect: dialect, CWD: ask.CWD, SessionDir: ask.Dir, Limit: ask.Limit}
	if ask.Op == "mostRecent" {
		p = params{Dialect: dialect, Dir: ask.Dir}
	}
	return c.call(methods[ask.Op], p, answer)
}

// continues returns the file of the session that continueRecent opens, nil for a new session, which has no file yet.
func (c *client) continues(dialect, cwd, dir string) (*string, error) {
	var s struct {
		Session string
		File    string
	}
	if err := c.call("continueRecent", params{Dialect: dialect, CWD: cwd, SessionDir: dir, Force: true}, &s); err != nil {
		return nil, err
	}
	// Before the session is closed, which may create the file.
	_, missing := os.Stat(s.File)
	var closed any
	if err := c.call("close", params{Session: s.Session}, &closed); err != nil || missing != nil {
		return nil, err
	}
	return &s.File, nil
}
