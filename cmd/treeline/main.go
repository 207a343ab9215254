// Command treeline lists, reads, searches, writes and repairs the sessions of coding agents. Run "treeline help" for the
// commands.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/wire"
)

// Exit codes, on which scripts rely. A search that finds nothing, a check that finds something and runs that differ
// are problems, too.
const (
	exitFine    = iota
	exitProblem // it did not work, or the answer is no
	exitUsage   // a mistake in the command line
)

// main is kept small: tests call run with streams of their own.
func main() { os.Exit(command(context.Background(), newApp())) }

// command executes the command line of the process.
func command(ctx context.Context, a *app) int {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as by nohup
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(ctx, ends...)
	defer stop()
	defer context.AfterFunc(ctx, func() {
		stop() // a second Ctrl-C ends the program at once
		time.AfterFunc(time.Duration(a.patience.Load()), a.quit)
	})() // before stop, which would count as an interruption
	a.self, _ = os.Executable() // only the demo needs it
	// The working directory may have been removed, such as a worktree that was merged. The shell still knows its name.
	if _, err := os.Getwd(); err != nil && filepath.IsAbs(a.getenv("PWD")) {
		a.workDir = a.getenv("PWD")
	}
	return run(ctx, a, os.Args[1:])
}

// quit ends the program if the command has not ended by itself after an interruption. It may be in a loop that does not look
// for one, or wait for input. Nothing is lost by that: all writes survive a crash at any moment. A pager has the terminal,
// and Ctrl-C is for it.
func (a *app) quit() {
	if a.paging.Load() {
		return
	}
	if a.endless.Load() {
		os.Exit(exitFine)
	}
	if slices.Contains(os.Args, "--json") {
		_ = wire.Write(a.stderr, wire.NewError(errInterrupted, exitProblem, "")) // the program ends anyway
	} else {
		if _, terminal := terminalWidth(a.stderr); terminal && a.getenv("TERM") != "dumb" {
			fmt.Fprint(a.stderr, "\r\x1b[K") // there may be a line of progress
		}
		fmt.Fprintf(a.stderr, "treeline: %v\n", errInterrupted)
	}
	os.Exit(exitProblem)
}

var errInterrupted = errors.New("interrupted")

// keepOrder makes the help list commands in our order. The setting is global, and tests run command lines in parallel.
var keepOrder = sync.OnceFunc(func() { cobra.EnableCommandSorting = false })

// run executes one command line and returns its exit code. Commands return errors; only run prints them.
func run(ctx context.Context, a *app, args []string) int {
	keepOrder()
	root := a.root()
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) { // with or without descriptions
		a.complete(root)
		unquoteUsage(root)
	}
	root.SetArgs(args)
	help := &checkedWriter{w: a.stdout} // cobra drops its errors
	root.SetOut(help)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil && !closedPipe(help.err) {
		err = help.err
	}
	for _, f := range a.close {
		err = errors.Join(err, f())
	}
	a.close = nil
	if err == nil {
		return exitFine
	}
	var exit exitError
	if errors.As(err, &exit) {
		return int(exit)
	}
	// A mistake before the flag leaves it unread.
	a.json = a.json || slices.Contains(args, "--json")
	code, usageHelp := exitProblem, ""
	var usage usageError
	if errors.As(err, &usage) || errors.Is(err, place.ErrUnknownSource) {
		if cmd.Name() == "help" {
			cmd = root
		}
		code, usageHelp = exitUsage, cmd.CommandPath()+" --help"
	}
	var quiet quietError
	if !errors.As(err, &quiet) {
		if errors.Is(err, context.Canceled) {
			err = errInterrupted
		}
		err = a.hint(err)
		a.report(wire.NewError(err, code, usageHelp), err.Error())
	}
	if usageHelp != "" && !a.json {
		fmt.Fprintf(a.stderr, "Run '%s' for usage.\n", usageHelp)
	}
	return code
}

// root makes the tree of commands. Each command line gets a fresh one, since cobra keeps the values of flags in it.
func (a *app) root() *cobra.Command {
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
	groupOnly(root)
	help := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 && a.hasTerminal() {
			return a.browseSessions(cmd.Context())
		}
		if err := help(cmd, args); err != nil || len(args) > 0 {
			return err
		}
		return a.noPlaces()
	}
	root.SuggestionsMinimumDistance = 2
	a.addVersion(root)
	a.addGlobal(root)
	root.SetErr(a.stderr)
	root.SetIn(a.stdin)
	add(root, "Find:", a.lsCommand(), a.searchCommand(), a.historyCommand(), a.statsCommand(), a.pickCommand(), a.sourcesCommand())
	add(root, "Read:", a.showCommand(), a.treeCommand(), a.contextCommand(), a.watchCommand(), a.serveCommand())
	add(root, "Continue:", a.resumeCommand(), a.convertCommand(), a.forkCommand())
	add(root, "Write:", a.newCommand(), a.appendCommand(), a.branchCommand(), a.labelCommand(), a.renameCommand(), a.moveCommand())
	add(root, "Keep:", a.checkCommand(), a.repairCommand(), a.rmCommand(), a.gcCommand())
	add(root, "Share:", a.exportCommand(), a.pushCommand(), a.pullCommand(), a.tokenCommand())
	add(root, "For programs and agents:", a.mcpCommand(), a.rpcCommand(), a.runCommand())
	add(root, "More:", a.demoCommand(), a.completionCommand(root), a.versionCommand(), a.helpCommand(root))
	a.addSource(root)
	a.addStore(root)
	a.fitHelp(root)
	return root
}

// add puts commands into a group of the help.
func add(root *cobra.Command, group string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: group, Title: group})
	for _, c := range commands {
		c.GroupID = group
		root.AddCommand(c)
	}
}

// groupOnly makes cmd a command that only has others. An unknown one is the mistake to report, not the flags after it.
func groupOnly(cmd *cobra.Command) {
	unknown := func(word string) error {
		name := strings.TrimPrefix(cmd.CommandPath()+" "+word, "treeline ")
		return misused("unknown command %q%s", name, suggestion(cmd, word))
	}
	cmd.Args = cobra.ArbitraryArgs // without it cobra reports an unknown command itself, with exit code 1
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return unknown(args[0])
	}
	cmd.SetFlagErrorFunc(func(at *cobra.Command, err error) error {
		if words := at.Flags().Args(); at == cmd && len(words) > 0 {
			return unknown(words[0])
		}
		return usageError{flagError(err)}
	})
}

// helpCommand replaces cobra's own, which accepts unknown commands.
func (a *app) helpCommand(root *cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "help [command]",
		Short:   "Explain a command",
		Example: "  treeline help show",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, words []string) error {
			about, rest, err := root.Find(words)
			if err != nil || len(rest) > 0 || about == root && len(words) > 0 {
				return misused("unknown command %q%s", strings.Join(words, " "), suggestion(root, words[0]))
			}
			about.InitDefaultHelpFlag()
			about.InitDefaultVersionFlag()
			return about.Help()
		},
		ValidArgsFunction: completeCommand,
	}
	root.SetHelpCommand(cmd)
	return cmd
}

// completeCommand completes a command, as the first argument of another one.
func completeCommand(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	for _, c := range cmd.Root().Commands() {
		if c.IsAvailableCommand() && len(args) == 0 {
			names = append(names, c.Name()+"\t"+c.Short)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// suggestion names the command that a word may mean: one that it is a synonym of, or one that is spelled like it.
func suggestion(cmd *cobra.Command, word string) string {
	for _, c := range cmd.Commands() {
		if slices.Contains(c.SuggestFor, strings.ToLower(word)) {
			return fmt.Sprintf("; did you mean %q?", c.Name())
		}
	}
	if list := cmd.SuggestionsFor(word); len(list) > 0 {
		return fmt.Sprintf("; did you mean %q?", list[0])
	}
	return ""
}
