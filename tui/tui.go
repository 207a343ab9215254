// Package tui is treeline on a terminal: the sessions of all agents with a filter, one session with its tree, a search over
// everything, usage, and the actions that the command line has.
//
// The program (program.go) is a stack of screens (package tui/look has their contract), sometimes with a dialog in front of them
// (dialog.go). There is one file for each screen: sessions.go, search.go, usage.go, and package tui/view for a session. A screen draws the
// output of package wire. An action is the treeline command that does the same, run in this process (actions.go), so the list of all keys
// shows exactly what happens.
//
// Sessions are not polled. The list is read again after a signal from the places of the agents (treeline.Listener), and when a missing
// place is created. Relative times such as "2 min" are drawn again once a minute.
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

// Options are the options of the program, and its terminal.
type Options struct {
	// Store has the sessions. The program only reads it.
	Store *treeline.Store
	// Command runs a treeline command, given without the word treeline, and returns its output: the result, and notes for the user, which
	// are not errors. It may be called from any goroutine. nil disables all actions.
	Command func(ctx context.Context, args ...string) (result string, notes []string, err error)
	// Browse opens the session with an id in a browser, and returns the address, if possible even with an error. nil disables the action.
	Browse func(ctx context.Context, id string) (url string, err error)
	// Archive means that the sessions are those of an archive. They cannot be removed, and agents continue copies of them.
	Archive bool
	// Agents are the names of the agents that can continue a session.
	Agents []string
	// Pick ends the program with the chosen session. Entries adds the chosen entry.
	Pick, Entries bool
	// Filter is the initial text of the filter.
	Filter string
	// Home is the user's home directory, which is shown as ~.
	Home string
	// Clock returns the time; nil means the machine's clock. Zone is for days and times; nil means the local zone.
	Clock func() time.Time
	Zone  *time.Location
	// Input and Output are the terminal, and Environ is its environment. Colours means that the terminal has colours and the user wants
	// them.
	Input   io.Reader
	Output  io.Writer
	Environ []string
	Colours bool
}

// Result is the result of the program.
type Result struct {
	// Chosen is the session that was picked; nil if none was.
	Chosen *Choice
	// Lines are printed on the terminal after the screen is gone: commands that were copied.
	Lines []string
	// Resume is the path of a session to be continued in its agent now; "" means none.
	Resume string
}

// Choice is a session, and an entry of it if one was requested.
type Choice struct{ Path, ID, Entry string }

// Run shows the program until the user ends it. When Run returns, the terminal is as before, even after a panic. It returns an error if ctx
// is cancelled or the terminal hangs up.
func Run(ctx context.Context, opt Options) (Result, error) {
	if opt.Clock == nil {
		opt.Clock = time.Now
	}
	if opt.Zone == nil {
		opt.Zone = time.Local
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	ctx, cancel := context.WithCancel(ctx) // ends what the screens started
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

// muted is a terminal whose size and modes Bubble Tea can query, but to which it writes nothing: the canvas draws. Once a second Bubble Tea
// checks whether there is something to draw, and there is nothing.
type muted struct{ *os.File }

// Write discards everything.
func (muted) Write(p []byte) (int, error) { return len(p), nil }

// mute returns the output for Bubble Tea.
func mute(w io.Writer) io.Writer {
	if f, ok := w.(*os.File); ok {
		return muted{f}
	}
	return io.Discard
}

// ended returns the error for the reason why the program ended.
func ended(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, tea.ErrProgramPanic):
		return fmt.Errorf("a mistake in treeline itself: %w; no session was changed by it", err)
	case errors.Is(err, tea.ErrProgramKilled) && context.Cause(ctx) != nil:
		return context.Cause(ctx)
	}
	return err
}

// desk is shared by all screens.
type desk struct {
	Options
	ctx     context.Context
	palette *look.Palette
	send    func(tea.Msg) // may be called from any goroutine
	// paged means that the list is read in pages of pageRows rows, since there may be millions.
	paged    bool
	pageRows int
}

// now returns the time in the user's zone.
func (d *desk) now() time.Time { return d.Clock().In(d.Zone) }
