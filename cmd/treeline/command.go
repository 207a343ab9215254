package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/runs"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// app is what the commands share: the streams, the environment and the progress line. Apart from the working directory
// and files, commands take nothing from the process directly, so that tests can replace it.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	self           string // the program's own file; "" if it must not be started

	// Progress is shown after progressAfter and then every progressEvery. Tests set both to zero.
	progressAfter, progressEvery time.Duration
	showing                      *progress // on the terminal's last line, nil for none

	close []func() error // called at the end of the command
}

func newApp() *app {
	return &app{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv,
		progressAfter: 300 * time.Millisecond, progressEvery: 100 * time.Millisecond,
	}
}

// usageError is a mistake in the command line: exit code 2. If the command is known, its help is named as well.
type usageError struct {
	error
	command *cobra.Command
}

func (e usageError) Unwrap() error { return e.error }

// misused is a usageError with a text.
func misused(cmd *cobra.Command, what string) error { return usageError{errors.New(what), cmd} }

// quietError ends a command with exit code 1 and prints nothing: the output has said it all.
type quietError struct{ error }

// args wants exactly these arguments. The names are those of Use.
func args(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		switch {
		case len(given) < len(names):
			return usageError{fmt.Errorf("%s is missing", names[len(given)]), cmd}
		case len(given) > len(names):
			return usageError{fmt.Errorf("unexpected argument %q", given[len(names)]), cmd}
		}
		return nil
	}
}

// hint adds to an error of the library the command that helps. The library knows no commands.
func hint(err error) error {
	more := ""
	var readOnly *store.ReadOnlyError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, place.ErrNoSession) && strings.HasPrefix(err.Error(), "@last"):
		more = "'treeline ls --all' lists those of other directories"
	case errors.Is(err, place.ErrNoSession):
		more = "'treeline ls --all' lists them"
	case errors.Is(err, runs.ErrNoRun):
		more = "'treeline run ls --all' lists them"
	case errors.Is(err, place.ErrUnknownSource):
		more = "'treeline sources' lists them"
	case errors.As(err, &readOnly) && readOnly.Run:
		more = "'treeline run record' records one, 'treeline convert' makes a session of one"
	case errors.As(err, &readOnly):
		more = "'treeline convert' makes a session of it that can be written"
	default:
		return err
	}
	return fmt.Errorf("%w; %s", err, more)
}

// notice prints something that does not fail the command.
func (a *app) notice(text string) {
	if a.showing != nil {
		a.showing.clear() // it comes back with the next step
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
		a.notice(p.String())
	}
}

// atPath leaves the name of the system call out of an error.
func atPath(path string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}
