// Command treeline reads, checks and keeps the sessions of coding agents. Run "treeline help" for what it can do.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/internal/screen"
)

// Exit codes: 0 fine, 1 a problem, 2 the command was used wrongly.
// Scripts rely on them. That a search finds nothing, a check finds something or two runs differ is a problem, too:
// one can say "if treeline check …".
const (
	exitFine = iota
	exitProblem
	exitUsage
)

// main only gives the process's streams to an app: the tests of commands run the same code with streams of their
// own.
func main() { os.Exit(command(newApp())) }

// command executes the command line of the process.
func command(a *app) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// NotifyContext keeps swallowing signals while it is not stopped, so it is stopped by the first one.
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends a command that does not listen
	a.self, _ = os.Executable()  // nothing but the demo starts it
	return run(ctx, a, os.Args[1:])
}

// run executes one command line and gives its exit code.
// Everything that a command has to say about failing is said here: commands return errors and print none of their
// own, unless they wrap it in quietError.
func run(ctx context.Context, a *app, args []string) int {
	cobra.EnableCommandSorting = false // ours is the order in which one needs them
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitFine
	}
	var quiet quietError
	if !errors.As(err, &quiet) {
		if errors.Is(err, context.Canceled) {
			err = errors.New("interrupted")
		}
		// Error texts may hold paths and ids out of files, so they are cleaned like everything that reaches a
		// terminal.
		fmt.Fprintf(a.stderr, "treeline: %s\n", screen.Clean(err.Error()))
	}
	var usage usageError
	if errors.As(err, &usage) {
		if usage.command != nil {
			fmt.Fprintf(a.stderr, "Run '%s --help' for how it is used.\n", usage.command.CommandPath())
		}
		return exitUsage
	}
	return exitProblem
}

// root is the command that all others hang on: one line each.
// root makes a fresh tree of commands for each call: cobra keeps flags in its commands, and tests run many command
// lines in one process.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "treeline",
		Short: "The session store for coding agents",
		Long: "treeline reads the sessions of coding agents exactly as the agents do: every branch, label and compaction,\n" +
			"and shows what the model would see at any entry. It never changes a file that it only reads.",
		SilenceErrors: true,
		SilenceUsage:  true,
		// Without it cobra would answer a word that is no command with an error of its own, and exit code 1.
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown command %q%s", args[0], suggestion(cmd, args[0])), cmd}
			}
			return cmd.Help()
		},
	}
	root.SuggestionsMinimumDistance = 2
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetIn(a.stdin)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usageError{flagError(err), cmd} })
	// The groups are the order of 'treeline help': reading first, because it can do no harm.
	root.AddGroup(
		&cobra.Group{ID: "read", Title: "Reading sessions:"},
		&cobra.Group{ID: "write", Title: "Writing sessions:"},
		&cobra.Group{ID: "care", Title: "Taking care of them:"},
		&cobra.Group{ID: "runs", Title: "What happened in runs:"},
		&cobra.Group{ID: "more", Title: "More:"},
	)
	add(root, "read",
		a.lsCommand(),
		a.sourcesCommand(),
		a.showCommand(),
		a.treeCommand(),
		a.contextCommand(),
		a.searchCommand(),
		a.watchCommand(),
		a.checkCommand(),
		a.historyCommand(),
	)
	add(root, "write",
		a.newCommand(),
		a.appendCommand(),
		a.branchCommand(),
		a.labelCommand(),
		a.renameCommand(),
		a.forkCommand(),
		a.moveCommand(),
		a.convertCommand(),
	)
	add(root, "care",
		a.rmCommand(),
		a.repairCommand(),
		a.gcCommand(),
	)
	add(root, "runs", a.runCommand())
	add(root, "more",
		a.rpcCommand(),
		a.demoCommand(),
		a.versionCommand(),
		a.helpCommand(root),
	)
	root.SetCompletionCommandGroupID("more")
	// behind all AddCommand: it goes through what is there
	a.complete(root)
	return root
}

// add puts commands into a group of the help.
func add(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, c := range commands {
		c.GroupID = group
		root.AddCommand(c)
	}
}

// helpCommand explains the other commands. Cobra's own takes a word that is none for a question.
func (a *app) helpCommand(root *cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "help [command]",
		Short:   "Explain a command",
		Example: "  treeline help show",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, words []string) error {
			about, rest, err := root.Find(words)
			if err != nil || len(rest) > 0 || about == root && len(words) > 0 {
				return usageError{fmt.Errorf("unknown command %q%s", strings.Join(words, " "), suggestion(root, words[0])), root}
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, c := range root.Commands() {
				if c.IsAvailableCommand() {
					names = append(names, c.Name()+"\t"+c.Short)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	root.SetHelpCommand(cmd)
	return cmd
}

// suggestion is for slips of the fingers: cobra compares by Levenshtein distance and by prefix.
func suggestion(cmd *cobra.Command, word string) string {
	if list := cmd.SuggestionsFor(word); len(list) > 0 {
		return fmt.Sprintf("; did you mean %q?", list[0])
	}
	return ""
}
