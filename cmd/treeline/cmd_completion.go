package main

import (
	_ "embed"
	"io"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
)

// bashAlone has the functions of the package bash-completion that cobra's script uses.
//
//go:embed completion.bash
var bashAlone string

// completionScripts writes the script of each shell. The scripts call this program to get completions.
var completionScripts = []struct {
	shell string
	write func(root *cobra.Command, w io.Writer, describe bool) error
}{
	{"bash", func(root *cobra.Command, w io.Writer, describe bool) error {
		if err := root.GenBashCompletionV2(w, describe); err != nil {
			return err
		}
		_, err := io.WriteString(w, bashAlone)
		return err
	}},
	{"zsh", func(root *cobra.Command, w io.Writer, describe bool) error {
		if describe {
			return root.GenZshCompletion(w)
		}
		return root.GenZshCompletionNoDesc(w)
	}},
	{"fish", (*cobra.Command).GenFishCompletion},
	{"powershell", func(root *cobra.Command, w io.Writer, describe bool) error {
		if describe {
			return root.GenPowerShellCompletionWithDesc(w)
		}
		return root.GenPowerShellCompletion(w)
	}},
}

// completionCommand replaces cobra's own, whose script for bash needs the package bash-completion.
func completionCommand(a *cli.App) *cobra.Command {
	var shells []string
	for _, s := range completionScripts {
		shells = append(shells, s.shell)
	}
	plain := false
	cmd := &cobra.Command{
		Use:   "completion <shell>",
		Short: "Complete commands, sessions and entries in your shell",
		Long: "Print a script that makes the tab key complete commands, flags, sessions, entries and models. <shell> is bash, zsh,\n" +
			"fish or powershell. Add the line for your shell to its startup file, and open a new shell:\n\n" +
			"  bash         ~/.bashrc                    source <(treeline completion bash)\n" +
			"  zsh          ~/.zshrc, after compinit     source <(treeline completion zsh)\n" +
			"  fish         ~/.config/fish/config.fish   treeline completion fish | source\n" +
			"  powershell   $PROFILE                     treeline completion powershell | Out-String | Invoke-Expression",
		Example: "  source <(treeline completion bash)",
		Args:    cli.Args("<shell>"),
		RunE: func(cmd *cobra.Command, given []string) error {
			for _, s := range completionScripts {
				if s.shell == given[0] {
					return s.write(cmd.Root(), a.Stdout, !plain)
				}
			}
			return cli.Misused("unknown shell %q: use bash, zsh, fish or powershell", given[0])
		},
		ValidArgsFunction: cobra.FixedCompletions(shells, cobra.ShellCompDirectiveNoFileComp),
	}
	cmd.Flags().BoolVar(&plain, "no-descriptions", false, "offer words without descriptions")
	return cmd
}
