package finding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/history"
	"github.com/treeline-dev/treeline/wire"
)

// historyAddCommand is for hooks and for agents without a history. It prints nothing.
func historyAddCommand(a *cli.App) *cobra.Command {
	var (
		db, cwd string
		stdin   bool
	)
	cmd := &cobra.Command{
		Use:   "add <text>",
		Short: "Add a prompt to the history",
		Long: "Add a prompt typed in this directory, or in that of --cwd, unless it is the same as the last one.\n\n" +
			"With --db, add it to the history of an agent, as the agent does.",
		Example: "  treeline history add 'why is the sky blue?'\n  git log -1 --format=%B | treeline history add --stdin",
		Args: func(cmd *cobra.Command, given []string) error {
			if stdin {
				return cli.Args()(cmd, given)
			}
			return cli.Args("<text>, or --stdin,")(cmd, given)
		},
		RunE: func(cmd *cobra.Command, given []string) error {
			text := strings.Join(given, "")
			if stdin {
				a.Awaits("the prompt")
				b, err := io.ReadAll(io.LimitReader(a.Stdin, longestAdded+1))
				if err != nil {
					return err
				}
				text = string(b)
			}
			if !stdin && strings.TrimSpace(text) == "" {
				return cli.Misused("<text> is empty")
			}
			if len(text) > longestAdded {
				return fmt.Errorf("the prompt is longer than %s", wire.Size(longestAdded))
			}
			dir, err := filepath.Abs(cwd)
			if err = cmp.Or(err, cli.CheckText("the prompt", text)); err != nil {
				return err
			}
			opt, _, err := historyOptions(a, db)
			if err != nil {
				return err
			}
			return historyError(db, history.Add(cmd.Context(), opt, text, dir))
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().StringVar(&cwd, "cwd", "", "add it for the directory `DIR` instead of this one")
	cmd.Flags().BoolVar(&stdin, "stdin", false, "read the prompt from standard input")
	addHistoryDB(cmd, &db)
	return cmd
}

// longestAdded is the length limit of a prompt, in bytes.
const longestAdded = 1 << 20

// historyImportCommand brings the history up to date. An interrupted import prints its report, too: what was read is kept, and the next
// import continues there.
func historyImportCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Fill the history from the sessions of all agents",
		Long: "Add the prompts from the sessions of all agents, on all branches, and from the history files that agents keep\n" +
			"(history.jsonl of Claude Code and Codex). A prompt that was used several times is listed once, with the time of its\n" +
			"last use; 'treeline history --where' shows every use in a session.\n\n" +
			"Sessions that did not change since the last import are not read again. An interrupted import keeps what it has read.",
		Example: "  treeline history import",
		Args:    cli.Args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			opt, progress, err := historyOptions(a, "")
			if err != nil {
				return err
			}
			report, err := history.Import(cmd.Context(), opt)
			progress.Clear()
			if err != nil && !errors.Is(err, context.Canceled) {
				return err
			}
			return errors.Join(printImport(a, report), err)
		},
	}
	a.AddJSON(cmd)
	return cmd
}

// printImport prints the report of an import. Files that are not sessions do not make it fail.
func printImport(a *cli.App, r history.Report) error {
	read := wire.Count(r.Sessions, "session", "sessions")
	if r.Histories > 0 {
		read += " and " + wire.Count(r.Histories, "history file", "history files")
	}
	err := a.Say(wire.Import{
		Sessions: r.Sessions, Unchanged: r.Unchanged, Failed: append([]string{}, r.Failed...), Histories: r.Histories, Prompts: r.Prompts, TooLong: r.TooLong,
		Added: r.Added, Renewed: r.Renewed,
	}, fmt.Sprintf("%s in %s: %s new, %s used again; %s did not change",
		wire.Count(r.Prompts, "prompt", "prompts"), read,
		wire.Number(int64(r.Added)), wire.Number(int64(r.Renewed)), wire.Count(r.Unchanged, "session", "sessions")))
	if r.TooLong > 0 {
		a.Notice(fmt.Sprintf("%s longer than %s left out", wire.Count(r.TooLong, "prompt", "prompts"), wire.Size(longestAdded)))
	}
	notSessions(a, r.Failed)
	return err
}
