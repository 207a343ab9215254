package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/history"
	"github.com/treeline-dev/treeline/internal/screen"
)

// historyAddCommand is for scripts and for agents without a history of their own. Nothing is printed: it is called
// once for each prompt, often from a hook.
func (a *app) historyAddCommand() *cobra.Command {
	var (
		db, cwd string
		stdin   bool
	)
	cmd := &cobra.Command{
		Use:   "add <text>",
		Short: "Add a prompt to the history",
		Long: "Add a prompt, unless it is the one that was added last. Its directory is this one, or that of --cwd.\n\n" +
			"With --db it is added to the history of an agent, as the agent itself would do it.",
		Example: "  treeline history add 'why is the sky blue?'\n  git log -1 --format=%B | treeline history add --stdin",
		Args: func(cmd *cobra.Command, given []string) error {
			if stdin {
				return args()(cmd, given)
			}
			return args("<text>, or --stdin,")(cmd, given)
		},
		RunE: func(cmd *cobra.Command, given []string) error {
			text := strings.Join(given, "")
			if stdin {
				// One byte more than is allowed shows that there is more without reading it all.
				b, err := io.ReadAll(io.LimitReader(a.stdin, longestAdded+1))
				if err != nil {
					return err
				}
				text = string(b)
			}
			if len(text) > longestAdded {
				return fmt.Errorf("a prompt of more than %s", byteSize(longestAdded))
			}
			if strings.TrimSpace(text) == "" {
				return errors.New("the prompt is empty")
			}
			dir, err := filepath.Abs(cwd)
			if err != nil {
				return err
			}
			opt, err := a.historyOptions(db)
			if err != nil {
				return err
			}
			return historyError(db, history.Add(cmd.Context(), opt, text, dir))
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().StringVar(&cwd, "cwd", "", "it was typed in the directory `DIR`, not in this one")
	cmd.Flags().BoolVar(&stdin, "stdin", false, "read the prompt from standard input")
	addHistoryDB(cmd, &db)
	return cmd
}

// longestAdded is the longest prompt that is taken.
// In bytes: a megabyte is no prompt but a file that was pasted.
const longestAdded = 1 << 20

// historyImportCommand brings the history up to date. Its report is printed also where it was interrupted: what
// was read is kept, and the next import goes on from there. The exit code is then 1 all the same.
func (a *app) historyImportCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Fill the history from the sessions of all agents",
		Long: "Read what people typed in the sessions of all agents, on all branches, and add what the history does not have. A prompt that\n" +
			"was used often is there once, with the time of its last use; 'treeline history --where' shows all of them.\n\n" +
			"A session that did not change since the last import is not read again. When it is interrupted, what was read is kept.",
		Example: "  treeline history import",
		Args:    args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			opt, err := a.historyOptions("")
			if err != nil {
				return err
			}
			progress := a.newProgress("reading", 0)
			opt.Progress = progress.of
			report, err := history.Import(cmd.Context(), opt)
			progress.clear()
			if err != nil && !errors.Is(err, context.Canceled) {
				return err
			}
			return errors.Join(a.printImport(cmd.Context(), report, asJSON), err)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// importJSON is what an import did, for programs.
// It is a stable format. Failed are paths of files that are no sessions; renewed are prompts that were known and
// have been used again.
type importJSON struct {
	Sessions  int      `json:"sessions"`
	Unchanged int      `json:"unchanged"`
	Failed    []string `json:"failed"`
	Prompts   int      `json:"prompts"`
	TooLong   int      `json:"tooLong"`
	Added     int      `json:"added"`
	Renewed   int      `json:"renewed"`
}

// Files that are no sessions do not fail an import: there is nothing to import in them, and 'check' is the command
// that explains them.
func (a *app) printImport(ctx context.Context, r history.Report, asJSON bool) error {
	j := importJSON{r.Sessions, r.Unchanged, append([]string{}, r.Failed...), r.Prompts, r.TooLong, r.Added, r.Renewed}
	err := a.print(ctx, a.stdout, 0, func(_ context.Context, out *output) error {
		if asJSON {
			return writeJSON(out, j)
		}
		fmt.Fprintf(out, "%s in %s: %s new, %s used again; %s did not change\n",
			counted(r.Prompts, "prompt", "prompts"), counted(r.Sessions, "session", "sessions"),
			grouped(int64(r.Added)), grouped(int64(r.Renewed)), counted(r.Unchanged, "session", "sessions"))
		return nil
	})
	if r.TooLong > 0 {
		fmt.Fprintf(a.stderr, "treeline: %s of more than %s left out\n", counted(r.TooLong, "prompt", "prompts"), byteSize(longestAdded))
	}
	if len(r.Failed) > 0 {
		fmt.Fprintf(a.stderr, "treeline: no session in %s, which 'treeline check' explains: %s\n",
			counted(len(r.Failed), "file", "files"), screen.Clean(r.Failed[0]))
	}
	return err
}
