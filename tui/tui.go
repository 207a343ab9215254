// Package tui is treeline on a terminal: the sessions of all agents with a filter, one session with its tree, a search over
// everything, usage, and the actions that the command line has.
//
// The program (program.go) is a stack of screens (package tui/look has their contract), with a dialog in front of them at times
// (dialog.go). One file is one screen: sessions.go, search.go, usage.go, and package tui/view for a session. A screen
// draws what package wire gives it. An action is the treeline command that does the same, run in this process (actions.go):
// what the list of all keys shows is what happens.
//
// Sessions are not polled. The list is read again after a signal from the places of the agents (treeline.Listener), and when a place
// that did not exist comes into being. Times such as "2 min" are drawn again once a minute.
package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/tui/look"
)

// Options say what the program shows, and on which terminal.
type Options struct {
	// Store has the sessions. It is only read.
	Store *treeline.Store
	// Command runs a treeline command, without the word treeline, and gives what it prints: the result, and the lines for the
	// user, which are not errors. It may be called from any goroutine. nil leaves all actions out.
	Command func(ctx context.Context, args ...string) (result string, notes []string, err error)
	// Browse opens the session with an id in a browser, and gives the address, also with an error if there is one. nil leaves the
	// action out.
	Browse func(ctx context.Context, id string) (url string, err error)
	// Archive: the sessions are those of an archive. They cannot be removed, and agents continue copies of them.
	Archive bool
	// Agents are the names of those that can continue a session.
	Agents []string
	// Pick ends the program with the session that is chosen. Entries: with the entry that is chosen in it.
	Pick, Entries bool
	// Filter is what the filter begins with.
	Filter string
	// Home is the user's folder, which is shown as ~.
	Home string
	// Clock is the time; nil is that of the machine. Zone is for days and times; nil is the local one.
	Clock func() time.Time
	Zone  *time.Location
	// Input and Output are the terminal, Environ its environment. Colours: it has colours, and the user wants them.
	Input   io.Reader
	Output  io.Writer
	Environ []string
	Colours bool
}

// Result is what the program ended with.
type Result struct {
	// Chosen is the session that was picked; nil if none was.
	Chosen *Choice
	// Lines are for the terminal after the screen is gone: commands that were copied.
	Lines []string
	// Resume is the path of a session that its agent continues now; "" for none.
	Resume string
}

// Choice is a session, and an entry of it if one was asked for.
type Choice struct{ Path, ID, Entry string }

// Run shows the program until the user ends it. The terminal is as it was when Run returns, also after a panic, and when ctx
// is cancelled or the terminal hangs up: these are errors.
func Run(ctx context.Context, opt Options) (Result, error) {
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	if opt.Zone == nil {
		opt.Zone = time.Local
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	ctx, cancel := context.WithCancel(ctx) // ends what the screens began
	defer cancel()
	d := &desk{Options: opt, ctx: ctx, palette: look.Colours(opt.Colours), paged: opt.Store.Paged(), pageRows: 200}
	p := newProgram(d)
	p.canvas = &canvas{w: opt.Output}
	t := tea.NewProgram(p, tea.WithContext(ctx), tea.WithInput(opt.Input), tea.WithOutput(mute(opt.Output)), tea.WithEnvironment(opt.Environ),
		tea.WithoutSignalHandler(), tea.WithFPS(1), tea.WithFilter(p.guarded))
	d.send = t.Send
	p.canvas.enter()
	defer p.canvas.leave()
	_, err := t.Run()
	p.canvas.leave()
	err = ended(ctx, err)
	cancel()
	return p.result, errors.Join(err, p.close())
}

// muted is a terminal that Bubble Tea knows, for its size and its modes, and writes nothing to: the canvas draws. Once a second
// Bubble Tea looks whether there is something to draw, and there is not.
type muted struct{ *os.File }

// Write drops everything.
func (muted) Write(p []byte) (int, error) { return len(p), nil }

// mute gives what Bubble Tea takes for its output.
func mute(w io.Writer) io.Writer {
	if f, ok := w.(*os.File); ok {
		return muted{f}
	}
	return io.Discard
}

// ended words why the program ended.
func ended(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, tea.ErrProgramPanic):
		return fmt.Errorf("a mistake in treeline itself: %w; no session was changed by it", err)
	case errors.Is(err, tea.ErrProgramKilled) && context.Cause(ctx) != nil:
		return context.Cause(ctx)
	}
	return err
}

// desk is what all screens have.
type desk struct {
	Options
	ctx     context.Context
	palette *look.Palette
	send    func(tea.Msg) // from any goroutine
	// paged: the list is read in pages of so many rows, since there may be millions.
	paged    bool
	pageRows int
}

// now is the time in the user's zone.
func (d *desk) now() time.Time { return d.Clock().In(d.Zone) }
