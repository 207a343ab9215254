package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
)

// app is what the commands share: the streams, and what is known of the machine.
// Commands take nothing from the process but through it, so that tests can give them another world. Exceptions are
// the working directory and the files themselves.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	self           string // the program's own file; "" where it must not be started

	// How long work goes on before it is told how far it is, and how often that is told.
	// They are fields because tests make them zero: a test cannot wait for something to take long.
	progressAfter, progressEvery time.Duration
	showing                      *progress // what stands on the terminal's last line, if anything does
}

func newApp() *app {
	return &app{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv,
		progressAfter: 300 * time.Millisecond, progressEvery: 100 * time.Millisecond,
	}
}

// usageError is a command used wrongly: exit code 2.
// The line behind the error names the command whose help explains it, if it is known.
type usageError struct {
	error
	command *cobra.Command
}

func (e usageError) Unwrap() error { return e.error }

// quietError ends a command with exit code 1 when all was said already.
// The error inside is for those who call the command from Go, such as tests: nobody prints it.
type quietError struct{ error }

// args says how many arguments a command takes, with an error that names them.
// The names are those of Use, so that the message says what the help says.
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

// noneEmpty refuses flags that were given and say nothing: mostly a variable of the shell that is not set, and the answer
// would be one to another question.
func noneEmpty(cmd *cobra.Command) error {
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		// a list of words without any is spelled [] by pflag
		if value := f.Value.String(); err == nil && (value == "" || value == "[]") {
			err = fmt.Errorf("--%s is empty", f.Name)
		}
	})
	return err
}

// flagError says what is wrong with a flag in words that do not come from the parser's depths.
func flagError(err error) error {
	var wrong *pflag.InvalidValueError
	if !errors.As(err, &wrong) {
		return err
	}
	// A value that names no type that we know keeps pflag's own words.
	takes := map[string]string{"int": "a whole number", "bool": "true or false", "duration": "a time like 90s or 1h30m"}[wrong.GetFlag().Value.Type()]
	if takes == "" {
		return err
	}
	return fmt.Errorf("--%s takes %s, not %q", wrong.GetFlag().Name, takes, wrong.GetValue())
}

// mostProblems is how many problems a reading command tells of before it points to 'treeline check'.
const mostProblems = 10

// problems tells of what is wrong with a session that a command reads. They do not fail the command.
// They go to stderr, and the exit code stays 0: the session could be read, and what could be read is on stdout.
// Only 'check' makes them its business.
func (a *app) problems(list []session.Problem) {
	for i, p := range list {
		if i == mostProblems {
			fmt.Fprintf(a.stderr, "treeline: and %d more problems; 'treeline check %s' lists them\n", len(list)-i, screen.Clean(p.File))
			return
		}
		fmt.Fprintf(a.stderr, "treeline: %s\n", screen.Clean(p.String()))
	}
}

// atPath says what is wrong with a path without the name of the system call.
// Whoever gave the path knows what was to be done with it: "open", "stat" or "lstat" before it tell him nothing.
func atPath(path string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}
