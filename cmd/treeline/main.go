// Command treeline lists, reads, searches, writes and repairs the sessions of coding agents. Run "treeline help" for the
// commands.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/finding"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/wire"
)

// Exit codes, on which scripts rely. A search that finds nothing, a check that finds something and runs that differ count as problems, too.
const (
	exitFine    = iota
	exitProblem // it did not work, or the answer is no
	exitUsage   // a mistake in the command line
)

// An exitError ends a command with that code and prints nothing, because another command line has printed everything.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// main is kept small: tests call run with streams of their own.
func main() { os.Exit(command(context.Background(), cli.New())) }

// command executes the command line of the process.
func command(ctx context.Context, a *cli.App) int {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as by nohup
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(ctx, ends...)
	defer stop()
	defer context.AfterFunc(ctx, func() {
		stop() // a second Ctrl-C kills the program
		time.AfterFunc(time.Duration(a.Patience.Load()), func() { quit(a) })
	})() // before stop, which would look like an interruption
	a.Self, _ = os.Executable() // only the demo needs it
	// The working directory may have been removed, like that of a merged worktree. The shell still knows its name.
	if _, err := os.Getwd(); err != nil && filepath.IsAbs(a.Getenv("PWD")) {
		a.WorkDir = a.Getenv("PWD")
	}
	return run(ctx, a, os.Args[1:])
}

// quit kills the program if the command does not end by itself after an interruption: it may be in a loop that does not check for one, or
// wait for input. Nothing is lost, because all writes survive a crash at any moment. While a pager has the terminal, Ctrl-C is meant for
// the pager.
func quit(a *cli.App) {
	if a.IsPaging() {
		return
	}
	if a.Endless.Load() {
		os.Exit(exitFine)
	}
	if slices.Contains(os.Args, "--json") {
		_ = wire.Write(a.Stderr, wire.NewError(errInterrupted, exitProblem, "")) // the program ends in any case
	} else {
		if _, terminal := console.Width(a.Stderr); terminal && a.Getenv("TERM") != "dumb" {
			fmt.Fprint(a.Stderr, "\r\x1b[K") // there may be a line of progress
		}
		fmt.Fprintf(a.Stderr, "treeline: %v\n", errInterrupted)
	}
	os.Exit(exitProblem)
}

var errInterrupted = errors.New("interrupted")

// keepOrder makes the help list commands in our order. The setting is global, and tests run command lines in parallel.
var keepOrder = sync.OnceFunc(func() { cobra.EnableCommandSorting = false })

// run executes one command line and returns its exit code. Commands return errors; only run prints them.
func run(ctx context.Context, a *cli.App, args []string) int {
	keepOrder()
	root := newRoot(a, firstWord(args))
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) { // with or without descriptions
		if words, ok := demoWords(args); ok {
			return completeDemo(ctx, a, words)
		}
		complete(a, root)
		unquoteUsage(root)
	}
	root.SetArgs(args)
	help := &checkedWriter{w: a.Stdout} // cobra ignores write errors
	root.SetOut(help)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil && !console.ClosedPipe(help.err) {
		err = help.err
	}
	if err = errors.Join(err, a.End()); err == nil {
		return exitFine
	}
	var exit exitError
	if errors.As(err, &exit) {
		return int(exit)
	}
	// After a mistake before the flag, the flag has not been parsed.
	a.JSON = a.JSON || slices.Contains(args, "--json")
	code, usageHelp := exitProblem, ""
	var usage cli.UsageError
	if errors.As(err, &usage) || errors.Is(err, place.ErrUnknownSource) {
		if cmd.Name() == "help" {
			cmd = root
		}
		code, usageHelp = exitUsage, cmd.CommandPath()+" --help"
	}
	var quiet cli.QuietError
	if !errors.As(err, &quiet) {
		if errors.Is(err, context.Canceled) {
			err = errInterrupted
		}
		err = a.Hint(err)
		a.Report(wire.NewError(err, code, usageHelp), err.Error())
	}
	if usageHelp != "" && !a.JSON {
		fmt.Fprintf(a.Stderr, "Run '%s' for usage.\n", usageHelp)
	}
	return code
}

// newRoot makes the tree of commands. Each command line gets a fresh one, since cobra keeps the values of flags in it. If word, the first of
// the command line, is the name of a command, the others are not made; "" makes all.
func newRoot(a *cli.App, word string) *cobra.Command {
	root := &cobra.Command{
		Use:   "treeline",
		Short: "The session store for coding agents",
		Long: "treeline reads and writes the sessions of coding agents in the agents' own formats, with every branch, label and\n" +
			"compaction. It shows what the model would see at any entry. Reading never changes a file.\n\n" +
			"Without a command, on a terminal, it shows all sessions full-screen, with a filter and every action of the commands.",
		Example: "  treeline                              # all sessions of all agents, full-screen\n" +
			"  treeline search 'race condition'      # search all of them\n" +
			"  treeline show @last                   # read the newest session of this directory\n" +
			"  treeline resume @last --in codex      # continue it in another agent\n" +
			"  treeline demo                         # see what treeline does",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	cli.GroupOnly(root)
	show := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 && a.HasTerminal() {
			return browseSessions(cmd.Context(), a)
		}
		if err := show(cmd, args); err != nil || len(args) > 0 {
			return err
		}
		return finding.NoPlaces(a)
	}
	root.SuggestionsMinimumDistance = 2
	addVersion(a, root)
	a.AddGlobal(root)
	root.SetErr(a.Stderr)
	root.SetIn(a.Stdin)
	root.CompletionOptions.DisableDefaultCmd = true // there is one of ours
	help := helpCommand(root)
	root.SetHelpCommand(help)
	list := groups(help)
	if !slices.ContainsFunc(list, func(g group) bool { return g.has(word) }) {
		word = ""
	}
	for _, g := range list {
		g.addTo(root, a, word)
	}
	a.AddSource(root)
	a.AddStore(root)
	fitHelp(a, root)
	return root
}

// checkedWriter remembers the first error of w.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	if c.err == nil {
		c.err = err
	}
	return n, err
}
