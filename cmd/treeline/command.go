package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/backend"
	drivers "github.com/treeline-dev/treeline/backend/all"
	"github.com/treeline-dev/treeline/export"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/runs"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/trash"
	"github.com/treeline-dev/treeline/wire"
)

// app is what the commands share: the streams, the environment and the progress line. Apart from the working directory
// and files, commands take nothing from the process directly, so that tests can replace it.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	clock          func() time.Time // of stores; nil is that of the machine
	workDir        string           // "" is that of the process
	columns        int              // that output fits into; 0 is those of the terminal
	self           string           // the program's own file; "" if it must not be started

	// Progress is shown after progressAfter and then every progressEvery. Tests set both to zero.
	progressAfter, progressEvery time.Duration
	showing                      *progress // on the terminal's last line, nil for none

	// patience is how long a command has after an interruption to end by itself, a time.Duration. paging: a pager has the terminal.
	// endless: an interruption is the regular end of the command.
	patience        atomic.Int64
	paging, endless atomic.Bool

	json    bool   // --json
	source  string // --source of commands that take a session
	archive string // --store, or the archive of a session that is named by its URL; it may hold a password
	origin  string // --origin
	color   string // --color
	noPager bool   // --no-pager

	known []backend.Driver // see drivers
	close []func() error   // called at the end of the command
}

func newApp() *app {
	a := &app{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv,
		progressAfter: 300 * time.Millisecond, progressEvery: 100 * time.Millisecond,
	}
	a.patience.Store(int64(150 * time.Millisecond))
	return a
}

// usageError is a mistake in the command line: exit code 2.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// misused is a usageError with a text.
func misused(format string, a ...any) error { return usageError{fmt.Errorf(format, a...)} }

// quietError ends a command with exit code 1 and prints nothing: the output has said it all.
type quietError struct{ error }

// exitError ends a command with that code and prints nothing: another command line has said it all.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// args wants these arguments. One in brackets may be missing, and more may follow one that ends in ….
//
//go:noinline // its copies took 15 KB
func args(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, given []string) error {
		for i, name := range names {
			name, many := strings.CutSuffix(name, "…")
			if i >= len(given) && name[0] != '[' {
				return misused("%s is missing", name)
			}
			if many {
				return nil
			}
		}
		if len(given) > len(names) {
			return misused("unexpected argument %q", given[len(names)])
		}
		return nil
	}
}

// changed gives those of some flags that are set.
func changed(cmd *cobra.Command, names ...string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return !cmd.Flags().Changed(name) })
}

// hint adds to an error of the library the command that helps. The library knows no commands.
func (a *app) hint(err error) error {
	more := ""
	var readOnly *store.ReadOnlyError
	var refused *store.RefusedError
	var needed *trash.NeededError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, trash.ErrNotInTrash):
		more = "'treeline rm --list' lists those that are"
	case errors.Is(err, place.ErrNoSession) && strings.HasPrefix(err.Error(), "@last"):
		more = "'treeline ls --all' lists those of other directories"
	case errors.Is(err, place.ErrNoSession):
		more = "'treeline ls --all' lists them"
	case errors.Is(err, runs.ErrNoRun):
		more = "'treeline run ls --all' lists them"
	case errors.Is(err, place.ErrUnknownSource):
		more = "'treeline sources' lists them"
	case errors.As(err, &refused):
		more = "--force writes it anyway"
	case errors.As(err, &readOnly) && readOnly.Run:
		more = "'treeline run record' records one, 'treeline convert' makes a session of one"
	case errors.As(err, &readOnly):
		more = "'treeline convert' makes a session of it that can be written"
	case errors.As(err, &needed):
		more = "remove those first, or use --force"
	case errors.Is(err, export.ErrExists):
		more = "--force replaces it"
	case errors.Is(err, backend.ErrHeld):
		more = "close it, or use --force where the command has it"
	case errors.Is(err, drivers.ErrToken):
		more = "set " + tokenVariable + ", or add a line \"HOST\" = \"TOKEN\" to " + a.tokensFile()
	default:
		return oncePath(err)
	}
	if a.archive != "" {
		more = strings.Replace(more, " ls --all'", " ls --all --store URL'", 1)
	}
	return fmt.Errorf("%w; %s", err, more)
}

// say prints one result: as JSON with --json, otherwise as a line.
func (a *app) say(v any, line string) error {
	if a.json {
		return wire.Write(a.stdout, v)
	}
	_, err := fmt.Fprintln(a.stdout, screen.Clean(line))
	return err
}

// notice prints something that does not fail the command.
func (a *app) notice(text string) { a.report(wire.Message{Notice: &wire.Notice{Message: text}}, text) }

// report prints a line on stderr: as JSON with --json, otherwise as text.
func (a *app) report(m wire.Message, text string) {
	if a.showing != nil {
		a.showing.clear() // it comes back with the next step
	}
	if a.json {
		_ = wire.Write(a.stderr, m) // there is nowhere else to say that it fails
		return
	}
	fmt.Fprintf(a.stderr, "treeline: %s\n", screen.Clean(text))
}

// mostProblems is how many problems a reading command prints before it refers to check.
const mostProblems = 10

// problems prints the problems of a session that a command reads, on stderr. They do not change the exit code: what
// could be read is on stdout.
func (a *app) problems(list []session.Problem) {
	for i, p := range list {
		if i == mostProblems {
			a.notice(fmt.Sprintf("and %d more problems; 'treeline check %s' lists them", len(list)-i, p.File))
			return
		}
		a.report(wire.Message{Problem: &p}, p.String())
	}
}

// unread tells that a place or a log could not be read.
func (a *app) unread(err error) {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = atPath(p.Path, p)
	}
	a.notice(err.Error())
}

// oncePath leaves the name of the system call and the second path out of an error such as "a: open a: permission denied".
func oncePath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		if before, ok := strings.CutSuffix(err.Error(), p.Error()); ok && strings.HasSuffix(before, p.Path+": ") {
			return fmt.Errorf("%s%w", before, p.Err)
		}
	}
	return err
}

// atPath leaves the name of the system call out of an error.
func atPath(path string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}
