package main

import (
	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
)

// versionCommand touches no file.
func versionCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Show the version",
		Long:    "Show the version of treeline, the commit and its date, and the Go toolchain and the system that it was built for.",
		Example: "  treeline version\n  treeline version --json",
		Args:    cli.Args(),
		RunE: func(*cobra.Command, []string) error {
			return a.Say(cli.ThisVersion(), cli.VersionLine(cli.ThisVersion()))
		},
	}
	a.AddJSON(cmd)
	return cmd
}

// addVersion adds --version. Cobra's own flag needs a template, and a program with templates keeps every exported method.
func addVersion(a *cli.App, root *cobra.Command) {
	version := root.Flags().BoolP("version", "v", false, "version for treeline")
	rest := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if *version {
			return a.Say(cli.ThisVersion(), cli.VersionLine(cli.ThisVersion()))
		}
		return rest(cmd, args)
	}
}
