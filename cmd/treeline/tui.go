package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/continuing"
	"github.com/treeline-dev/treeline/server"
	"github.com/treeline-dev/treeline/tui"
	"github.com/treeline-dev/treeline/wire"
)

// terminalUI is the terminal program of one command line.
type terminalUI struct {
	a *cli.App
	// notices are messages that would otherwise be printed while the screens are shown. They are printed at the end.
	mu      sync.Mutex
	notices []string
	// viewer is the server for the browser, started when it is first needed.
	viewer struct {
		sync.Once
		url   string
		err   error
		close []func() error
	}
}

// browseSessions runs treeline without a command on a terminal.
func browseSessions(ctx context.Context, a *cli.App) error {
	result, err := runScreens(ctx, a, tui.Options{Input: a.Stdin, Output: a.Stdout})
	for _, line := range result.Lines {
		fmt.Fprintln(a.Stdout, line)
	}
	if err != nil || result.Resume == "" {
		return err
	}
	a.Archive = "" // the chosen session is on this machine
	return continuing.Start(ctx, a, result.Resume)
}

// runScreens runs the terminal program. Nothing else is printed in the meantime.
func runScreens(ctx context.Context, a *cli.App, opt tui.Options) (tui.Result, error) {
	t := &terminalUI{a: a}
	given := a.Options()
	given.ReadOnly, given.Notice = true, t.notice
	cli.EaseCollection()
	s, err := a.Opened(given)
	if err != nil {
		return tui.Result{}, err
	}
	a.Patience.Store(int64(2 * time.Second)) // time for restoring the terminal
	opt.Store, opt.Archive, opt.Agents, opt.Home, opt.Clock = s, a.Archive != "", cli.Launchable(), a.Home(), a.Clock
	opt.Environ, opt.Colours = os.Environ(), a.Colours()
	opt.Command, opt.Browse = t.command, t.browse
	result, err := tui.Run(ctx, opt)
	a.BeforeEnd(t.viewer.close...)
	for _, text := range t.notices {
		a.Notice(text)
	}
	return result, err
}

func (t *terminalUI) notice(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notices = append(t.notices, text)
}

// command runs a treeline command in this process, so that an action of the terminal program does exactly what the command line does. Its
// output is captured.
func (t *terminalUI) command(ctx context.Context, args ...string) (result string, notes []string, err error) {
	var stdout, stderr bytes.Buffer
	b := cli.New()
	b.Stdin, b.Stdout, b.Stderr = strings.NewReader(""), &stdout, &stderr
	b.Getenv, b.Clock = t.a.Getenv, t.a.Clock
	if t.a.Archive != "" {
		far := []string{"--store", t.a.Archive}
		if t.a.Origin != "" {
			far = append(far, "--origin", t.a.Origin)
		}
		args = slices.Insert(slices.Clone(args), 1, far...)
	}
	code := run(ctx, b, args)
	notes = messages(stderr.String())
	if code == exitFine {
		return stdout.String(), notes, nil
	}
	return "", nil, errors.New(cmp.Or(strings.Join(notes, "; "), "the command ended with code "+fmt.Sprint(code)))
}

// messages splits the output of a command on standard error into lines. With --json, each line is an object.
func messages(text string) (lines []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "treeline: ")
		var m wire.Message
		if json.Unmarshal([]byte(line), &m) == nil {
			switch {
			case m.Error != nil:
				line = m.Error.Message
			case m.Notice != nil:
				line = m.Notice.Message
			case m.Problem != nil:
				line = m.Problem.String()
			}
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// browse opens a session in the browser. The server is that of 'treeline serve', on a port of its own, and ends with this
// program.
func (t *terminalUI) browse(ctx context.Context, id string) (string, error) {
	t.viewer.Do(func() { t.viewer.err = t.serve(ctx) })
	if t.viewer.err != nil {
		return "", t.viewer.err
	}
	at := t.viewer.url
	if id != "" {
		at += "s/" + url.PathEscape(id)
	}
	return at, cli.OpenBrowser(at)
}

// serve starts the server.
func (t *terminalUI) serve(ctx context.Context) error {
	opt := t.a.Options()
	opt.ReadOnly, opt.Notice = true, t.notice
	s, err := treeline.New(opt)
	if err != nil {
		return err
	}
	t.viewer.close = []func() error{s.Close}
	const host = "127.0.0.1"
	h, err := server.New(server.Options{
		Store: s, Host: host, Home: t.a.Home(), Agents: cli.Launchable(), Version: cli.ThisVersion(), Clock: t.a.Clock, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return errors.Join(err, h.Close())
	}
	served := make(chan struct{})
	t.viewer.close = []func() error{h.Close, func() error { <-served; return nil }, s.Close}
	t.viewer.url = "http://" + l.Addr().String() + h.Base() + "/"
	go func() {
		defer close(served)
		_ = h.Serve(ctx, l) // it ends with the program
	}()
	return nil
}
