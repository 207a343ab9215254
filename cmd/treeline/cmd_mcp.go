package main

import (
	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/mcp"
)

// mcpCommand lets an agent read sessions. stdout belongs to the protocol; notices go to stderr.
func (a *app) mcpCommand() *cobra.Command {
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
		Args: args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.store()
			if err != nil {
				return err
			}
			if a.interactive() {
				a.notice("this is meant to be started by an agent: 'treeline mcp --help' shows how to add it; Ctrl-C ends it")
			}
			opt.Version = thisVersion().Version
			return mcp.New(s, opt).Serve(cmd.Context(), a.stdin, a.stdout)
		},
	}
	cmd.Flags().BoolVar(&opt.NoRedact, "no-redact", false, "do not redact keys, tokens and passwords")
	return cmd
}
