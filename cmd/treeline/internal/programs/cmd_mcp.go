package programs

import (
	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/mcp"
)

// MCP lets an agent read sessions. The protocol uses stdout; notices are written to stderr.
func MCP(a *cli.App) *cobra.Command {
	var opt mcp.Options
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Let an agent search and read sessions",
		Long: "Serve sessions to an agent over the Model Context Protocol, on standard input and output. The agent gets tools to\n" +
			"search, list and read sessions, see what the model sees, recall prompts, list runs and add up usage, and sessions as\n" +
			"resources. It cannot change anything. Results are bounded, and secrets in them are redacted. docs/mcp.md lists the\n" +
			"tools.",
		Example: "  claude mcp add --scope user treeline -- treeline mcp\n  codex mcp add treeline -- treeline mcp\n  pi mcp add treeline -- treeline mcp\n" +
			"  treeline mcp --store https://sessions.example.com",
		Args: cli.Args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.Store()
			if err != nil {
				return err
			}
			if a.Interactive() {
				a.Notice("this is meant to be started by an agent: 'treeline mcp --help' shows how to add it; Ctrl-C ends it")
			}
			opt.Version = cli.ThisVersion().Version
			return mcp.New(s, opt).Serve(cmd.Context(), a.Stdin, a.Stdout)
		},
	}
	cmd.Flags().BoolVar(&opt.NoRedact, "no-redact", false, "do not redact keys, tokens and passwords")
	return cmd
}
