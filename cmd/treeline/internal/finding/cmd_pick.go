package finding

import (
	"context"
	"errors"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/tui"
)

// Pick lets the user choose a session for another command. It draws on the terminal itself, since standard output is the
// answer. show runs the terminal program.
func Pick(a *cli.App, show func(context.Context, *cli.App, tui.Options) (tui.Result, error)) *cobra.Command {
	var path, entry bool
	cmd := &cobra.Command{
		Use:        "pick [<word>…]",
		SuggestFor: []string{"choose", "select", "fzf"},
		Short:      "Choose a session for a script",
		Long: "Show the sessions of all agents on the terminal, with a filter, and print the one you choose: its id, with --path its\n" +
			"file, or with --entry session#entry, after you choose an entry too. The terminal is used even if the output goes to a\n" +
			"program. The exit code is 1 if nothing was chosen.\n\n" +
			"The words are the initial filter: words of the title, project or agent, or agent:, project:, model:, since:, until: and\n" +
			"has: with a value.",
		Example: "  omp --resume \"$(treeline pick --path)\"\n  treeline show \"$(treeline pick agent:claude since:7d)\"\n  treeline fork \"$(treeline pick --entry)\"",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, words []string) error {
			if path && entry {
				return cli.Misused("--path and --entry cannot be combined")
			}
			if a.Getenv("TERM") == "dumb" {
				return errors.New("a terminal with TERM=dumb cannot show a list to choose from; 'treeline ls' lists sessions")
			}
			in, out, err := tea.OpenTTY()
			if err != nil {
				return errors.New("there is no terminal to choose on; 'treeline ls' lists sessions for programs")
			}
			defer in.Close()
			if out != in {
				defer out.Close()
			}
			result, err := show(cmd.Context(), a, tui.Options{Input: in, Output: out, Pick: true, Entries: entry, Filter: strings.Join(words, " ")})
			if err != nil {
				return err
			}
			if result.Chosen == nil {
				return cli.Quiet("nothing was chosen")
			}
			return picked(a, *result.Chosen, path)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().BoolVar(&path, "path", false, "print the file of the session")
	cmd.Flags().BoolVar(&entry, "entry", false, "choose an entry too, and print session#entry")
	return cmd
}

// picked prints the choice. A session without an id is named by its file. A pipe gets the name unchanged.
func picked(a *cli.App, c tui.Choice, path bool) error {
	name := c.ID
	if path || name == "" {
		name = c.Path
	}
	if c.Entry != "" && !path {
		name += "#" + c.Entry
	}
	if _, terminal := console.Width(a.Stdout); terminal {
		name = screen.Clean(name)
	}
	_, err := fmt.Fprintln(a.Stdout, name)
	return err
}
