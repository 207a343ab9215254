package main

import (
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/finding"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/programs"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/writing"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/llm"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/usage"
)

// complete registers completions for the flags of all commands. Flags of the same name accept the same values. Only a shell that asks for
// completions needs them; they would take a tenth of the start of every other command.
func complete(a *cli.App, root *cobra.Command) {
	these := func(list ...string) cli.Completion {
		return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
	}
	byFlag := map[string]cli.Completion{
		"cwd": completeFolder, "root": completeFolder,
		"since": completeWhen, "until": completeWhen,
		"store": a.CompleteStore, "origin": a.CompleteOrigin,
		"source": a.CompleteSource, "model": a.CompleteModel, "leaf": a.CompleteEntry,
		"in": completeSome(finding.PartWords), "has": completeSome(finding.HasWords),
		"sort": these(cli.Words(place.Orders)...), "by": completeSome(cli.Words(usage.Keys)), "sync": these(cli.Levels...), "on-conflict": these(cli.Policies...), "role": these(writing.Roles...),
		"dialect": these(cli.DialectNames()...), "to": these(targetNames()...), "shell-init": these(finding.ShellNames...), "run": programs.CompleteRun(a),
		"llm": these(llm.Names()...), "prompt": cobra.NoFileCompletions, "max-tokens": cobra.NoFileCompletions,
		"from": these("now\twith what is written from now on", "start\tat the start of the sessions"), "label": these("*\tany label"),
		"title": cobra.NoFileCompletions, "limit": cobra.NoFileCompletions, "lines": cobra.NoFileCompletions, "near": cobra.NoFileCompletions,
	}
	for _, cmd := range root.Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if offer, ok := byFlag[f.Name]; ok && f.Value.Type() != "bool" {
				_ = cmd.RegisterFlagCompletionFunc(f.Name, safely(offer)) // fails only for an unknown flag
			}
		})
		if cmd.ValidArgsFunction == nil && !strings.ContainsAny(cmd.Use, " ") {
			cmd.ValidArgsFunction = cobra.NoFileCompletions // it takes no arguments
		}
		if offer := cmd.ValidArgsFunction; offer != nil {
			cmd.ValidArgsFunction = safely(offer)
		}
		complete(a, cmd)
	}
}

// unquoteUsage removes the backquotes from the descriptions of flags. Help replaces them; a shell shows them.
func unquoteUsage(cmd *cobra.Command) {
	unquote := func(f *pflag.Flag) { _, f.Usage = pflag.UnquoteUsage(f) }
	cmd.Flags().VisitAll(unquote)
	cmd.PersistentFlags().VisitAll(unquote)
	for _, sub := range cmd.Commands() {
		unquoteUsage(sub)
	}
}

// safely omits words that a shell could execute or that could control a terminal: names of models, sessions and entries come from files
// that any program may have written. It does not check what the user has typed already.
func safely(offer cli.Completion) cli.Completion {
	return func(cmd *cobra.Command, given []string, word string) ([]string, cobra.ShellCompDirective) {
		list, directive := offer(cmd, given, word)
		var safe []string
		for _, line := range list {
			name, about, described := strings.Cut(line, "\t")
			rest, typed := strings.CutPrefix(name, word)
			if !typed || word == "" {
				rest = name
			}
			if strings.ContainsFunc(rest, unsafeInShell) || word == "" && strings.HasPrefix(name, "-") {
				continue
			}
			if described {
				name += "\t" + screen.OneLine(about, 70)
			}
			safe = append(safe, name)
		}
		return safe, directive
	}
}

// unsafeInShell reports whether a character is unsafe in an unquoted word.
func unsafeInShell(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:@#+,=*%~", r) && r != filepath.Separator
}

// completeCommand completes the name of a command as the arguments of another one.
func completeCommand(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	above, rest, err := cmd.Root().Find(args)
	if err != nil || len(rest) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, c := range above.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name()+"\t"+c.Short)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func completeFolder(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

func completeWhen(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"1h\tan hour ago", "1d\ta day ago", "7d\ta week ago", "30d\ta month ago", time.Now().Format("2006-01-02") + "\ttoday"},
		cobra.ShellCompDirectiveNoFileComp
}

// completeSome offers values for a comma-separated list. The shell replaces the whole word, so each offer repeats what precedes the last
// comma.
func completeSome(words []string) cli.Completion {
	return func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		before := word[:strings.LastIndexByte(word, ',')+1]
		var list []string
		for _, w := range words {
			if !slices.Contains(strings.Split(before, ","), w) {
				list = append(list, before+w)
			}
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

// targetNames lists the dialects that sessions can be converted to.
func targetNames() []string {
	var names []string
	for _, d := range treeline.Dialects() {
		if _, ok := place.Sessions(d).(dialect.Composer); ok {
			names = append(names, d.Name())
		}
	}
	return names
}
