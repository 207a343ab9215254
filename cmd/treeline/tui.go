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

	"golang.org/x/term"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/server"
	"github.com/treeline-dev/treeline/tui"
	"github.com/treeline-dev/treeline/wire"
)

// terminalUI is the terminal program of one command line.
type terminalUI struct {
	a *app
	// notices are what would be printed meanwhile. They are printed at the end.
	mu      sync.Mutex
	notices []string
	// viewer is the server for the browser, begun when it is first needed.
	viewer struct {
		sync.Once
		url   string
		err   error
		close []func() error
	}
}

// hasTerminal reports whether a person sits at standard input and output.
func (a *app) hasTerminal() bool {
	out, ok := a.stdout.(*os.File)
	return ok && a.interactive() && term.IsTerminal(int(out.Fd())) && a.getenv("TERM") != "dumb"
}

// browseSessions is treeline without a command on a terminal.
func (a *app) browseSessions(ctx context.Context) error {
	result, err := a.tui(ctx, tui.Options{Input: a.stdin, Output: a.stdout})
	for _, line := range result.Lines {
		fmt.Fprintln(a.stdout, line)
	}
	if err != nil || result.Resume == "" {
		return err
	}
	a.archive = "" // the session is on this machine
	c, err := a.resume(ctx, result.Resume, "", "", "", treeline.ResumeOptions{Ready: installed})
	if err != nil {
		return err
	}
	return a.resumed(ctx, c, true)
}

// tui runs the terminal program. Nothing else is printed meanwhile.
func (a *app) tui(ctx context.Context, opt tui.Options) (tui.Result, error) {
	t := &terminalUI{a: a}
	given := a.options()
	given.ReadOnly, given.Notice = true, t.notice
	easeCollection()
	s, err := a.opened(given)
	if err != nil {
		return tui.Result{}, err
	}
	a.patience.Store(int64(2 * time.Second)) // the terminal is given back
	opt.Store, opt.Archive, opt.Agents, opt.Home, opt.Clock = s, a.archive != "", launchable(), a.home(), a.clock
	opt.Environ, opt.Colours = os.Environ(), a.colours()
	opt.Command, opt.Browse = t.command, t.browse
	result, err := tui.Run(ctx, opt)
	a.close = append(slices.Clone(t.viewer.close), a.close...) // before the store
	for _, text := range t.notices {
		a.notice(text)
	}
	return result, err
}

// colours reports whether the terminal program has colours. It does not ask where standard output leads: 'treeline pick' draws
// on the terminal although its output is read by a program.
func (a *app) colours() bool {
	switch {
	case a.color == "always":
		return true
	case a.color == "never" || a.getenv("NO_COLOR") != "":
		return false
	}
	return a.getenv("CLICOLOR") != "0"
}

func (t *terminalUI) notice(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notices = append(t.notices, text)
}

// command runs a treeline command in this process: an action of the terminal program is what the command line does. What it
// prints is caught.
func (t *terminalUI) command(ctx context.Context, args ...string) (result string, notes []string, err error) {
	var stdout, stderr bytes.Buffer
	b := newApp()
	b.stdin, b.stdout, b.stderr = strings.NewReader(""), &stdout, &stderr
	b.getenv, b.clock = t.a.getenv, t.a.clock
	if t.a.archive != "" {
		far := []string{"--store", t.a.archive}
		if t.a.origin != "" {
			far = append(far, "--origin", t.a.origin)
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

// messages gives what a command printed on standard error, line by line. With --json each is an object.
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
	return at, openBrowser(at)
}

// serve begins the server.
func (t *terminalUI) serve(ctx context.Context) error {
	opt := t.a.options()
	opt.ReadOnly, opt.Notice = true, t.notice
	s, err := treeline.New(opt)
	if err != nil {
		return err
	}
	t.viewer.close = []func() error{s.Close}
	const host = "127.0.0.1"
	h, err := server.New(server.Options{
		Store: s, Host: host, Home: t.a.home(), Agents: launchable(), Version: thisVersion(), Clock: t.a.clock, Log: slog.New(slog.DiscardHandler),
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
