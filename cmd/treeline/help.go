package main

import (
	"bytes"
	"cmp"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
)

// fitHelp makes the help of all commands fit the terminal.
func fitHelp(a *cli.App, root *cobra.Command) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		out := cmd.OutOrStdout()
		var text bytes.Buffer
		cmd.SetOut(&text)
		help(cmd, args)
		cmd.SetOut(out)
		width, _ := console.Width(a.Stdout)
		_, _ = io.WriteString(out, console.Fitted(text.String(), cmp.Or(a.Columns, width))) // out keeps the error
	})
}

// helpCommand replaces cobra's own, which accepts unknown commands.
func helpCommand(root *cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "help [command]",
		Short:   "Explain a command",
		Example: "  treeline help show",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, words []string) error {
			about, rest, err := root.Find(words)
			if err != nil || len(rest) > 0 || about == root && len(words) > 0 {
				return cli.Misused("unknown command %q%s", strings.Join(words, " "), cli.Suggestion(root, words[0]))
			}
			about.InitDefaultHelpFlag()
			about.InitDefaultVersionFlag()
			return about.Help()
		},
		ValidArgsFunction: completeCommand,
	}
	return cmd
}
