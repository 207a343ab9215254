// Package cli is what the commands share: the App with its streams, settings and stores, flags of several commands, the names of sessions,
// entries and archives, and errors that name a command that helps. It has no command.
package cli

import (
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
)

// An App is one command line: what its commands share. Apart from the working directory and files, commands use nothing of the process
// directly, so that tests can replace it.
type App struct {
	console.Console
	WorkDir string // "" is that of the process
	Self    string // the program's own file; "" if it must not be started
	MadeUp  string // the home folder of the demo's stories; "" elsewhere

	// Patience is how long a command may take to end by itself after an interruption, as a time.Duration. Endless means that an
	// interruption is the normal end of the command.
	Patience atomic.Int64
	Endless  atomic.Bool

	Source  string // --source of commands that take a session
	Archive string // --store, or the archive of a session that is named by its URL; it may contain a password
	Origin  string // --origin

	known []backend.Driver // see Drivers
	ends  []func() error   // called at the end of the command
}

// New returns the App for the command line of this process.
func New() *App {
	a := &App{}
	a.Stdin, a.Stdout, a.Stderr, a.Getenv = os.Stdin, os.Stdout, os.Stderr, os.Getenv
	a.ProgressAfter, a.ProgressEvery = 300*time.Millisecond, 100*time.Millisecond
	a.Patience.Store(int64(150 * time.Millisecond))
	return a
}

// AtEnd adds functions that are called at the end of the command, in order.
func (a *App) AtEnd(f ...func() error) { a.ends = append(a.ends, f...) }

// BeforeEnd adds functions that are called before those of AtEnd, for example because they use a store.
func (a *App) BeforeEnd(f ...func() error) { a.ends = slices.Concat(f, a.ends) }

// End calls these functions.
func (a *App) End() (err error) {
	for _, f := range a.ends {
		err = errors.Join(err, f())
	}
	a.ends = nil
	return err
}

// Args requires these arguments. One in brackets is optional, and the last one may be repeated if it ends in ….
//
//go:noinline // its copies took 15 KB
func Args(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, given []string) error {
		for i, name := range names {
			name, many := strings.CutSuffix(name, "…")
			if i >= len(given) && name[0] != '[' {
				return Missing(name)
			}
			if many {
				return nil
			}
		}
		if len(given) > len(names) {
			return Misused("unexpected argument %q", given[len(names)])
		}
		return nil
	}
}

// Missing returns the error for a missing argument. Commands that write or share need an explicit session.
func Missing(name string) error {
	switch name {
	case "<session>":
		return Misused("%s is missing; @last is the newest of the project", name)
	case "<run>":
		return Misused("%s is missing; @last is the newest of all", name)
	}
	return Misused("%s is missing", name)
}

// Changed returns those of some flags that are set.
func Changed(cmd *cobra.Command, names ...string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return !cmd.Flags().Changed(name) })
}
