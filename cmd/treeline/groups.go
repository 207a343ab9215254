package main

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/continuing"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/finding"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/keeping"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/programs"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/reading"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/sharing"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/writing"
)

// group is a heading of the help with its commands.
type group struct {
	title string
	verbs []verb
}

// verb is the name of a command and what makes it. Making all commands takes longer than some of them run.
type verb struct {
	name string
	make func(*cli.App) *cobra.Command
}

// groups are the commands in the order of the help.
func groups(help *cobra.Command) []group {
	pick := func(a *cli.App) *cobra.Command { return finding.Pick(a, runScreens) }
	return []group{
		{"Find:", []verb{
			{"ls", finding.Ls}, {"search", finding.Search}, {"history", finding.History}, {"stats", finding.Stats}, {"pick", pick},
			{"sources", finding.Sources},
		}},
		{"Read:", []verb{
			{"show", reading.Show}, {"tree", reading.Tree}, {"context", reading.Context}, {"watch", reading.Watch}, {"serve", reading.Serve},
		}},
		{"Continue:", []verb{{"resume", continuing.Resume}, {"convert", continuing.Convert}, {"fork", continuing.Fork}}},
		{"Write:", []verb{
			{"new", writing.New}, {"append", writing.Append}, {"branch", writing.Branch}, {"label", writing.Label}, {"rename", writing.Rename},
			{"move", writing.Move},
		}},
		{"Keep:", []verb{{"check", keeping.Check}, {"repair", keeping.Repair}, {"rm", keeping.Rm}, {"gc", keeping.GC}}},
		{"Share:", []verb{{"export", sharing.Export}, {"push", sharing.Push}, {"pull", sharing.Pull}, {"token", sharing.Token}}},
		{"For programs and agents:", []verb{{"mcp", programs.MCP}, {"rpc", programs.RPC}, {"run", programs.Run}}},
		{"More:", []verb{
			{"demo", demoCommand}, {"completion", completionCommand}, {"version", versionCommand},
			{"help", func(*cli.App) *cobra.Command { return help }},
		}},
	}
}

// firstWord returns the first word of a command line. It returns "" if there is none, or if that command needs all the others.
func firstWord(args []string) string {
	if len(args) == 0 || args[0] == "help" || args[0] == "completion" {
		return ""
	}
	return args[0]
}

// has reports whether the group has a command of this name.
func (g group) has(name string) bool {
	return slices.ContainsFunc(g.verbs, func(v verb) bool { return v.name == name })
}

// addTo adds the group to the help, with the command of one name; "" stands for all names.
func (g group) addTo(root *cobra.Command, a *cli.App, name string) {
	root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
	for _, v := range g.verbs {
		if name == "" || name == v.name {
			cmd := v.make(a)
			cmd.GroupID = g.title
			root.AddCommand(cmd)
		}
	}
}
