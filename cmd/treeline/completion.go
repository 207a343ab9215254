package main

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/treeline-dev/treeline"
	drivers "github.com/treeline-dev/treeline/backend/all"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/llm"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/wire"
)

// completion offers words to the shell. It never fails: without an answer it offers nothing.
type completion = func(cmd *cobra.Command, given []string, word string) ([]string, cobra.ShellCompDirective)

// complete registers completions for the flags of all commands. Flags of the same name take the same values. Only a shell that
// asks for words needs it; it would be a tenth of the start of every other command.
func (a *app) complete(root *cobra.Command) {
	words := func(list ...string) completion {
		return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
	}
	byFlag := map[string]completion{
		"cwd": completeFolder, "root": completeFolder,
		"since": completeWhen, "until": completeWhen,
		"store": a.completeStore, "origin": a.completeOrigin,
		"source": a.completeSource, "model": a.completeModel, "leaf": a.completeEntry,
		"in": completeSome(partWords), "has": completeSome(hasWords),
		"sort": words(orderWords()...), "by": completeSome(keyWords()), "sync": words(levels...), "on-conflict": words(policies...), "role": words(roles...),
		"dialect": words(dialectNames()...), "to": words(targetNames()...), "shell-init": words(shellNames...), "run": a.completeRun,
		"llm": words(llm.Names()...), "prompt": cobra.NoFileCompletions, "max-tokens": cobra.NoFileCompletions,
		"from": words("now\twith what is written from now on", "start\tat the start of the sessions"), "label": words("*\tany label"),
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
		a.complete(cmd)
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

// safely leaves out words that a shell could execute or a terminal obey: names of models, sessions and entries come from
// files that anything may have written. What the user typed already is not looked at.
func safely(offer completion) completion {
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

// unsafeInShell reports whether a character is more than a part of a plain word.
func unsafeInShell(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:@#+,=*%~", r) && r != filepath.Separator
}

func completeFolder(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

func completeWhen(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"1h\tan hour ago", "1d\ta day ago", "7d\ta week ago", "30d\ta month ago", time.Now().Format("2006-01-02") + "\ttoday"},
		cobra.ShellCompDirectiveNoFileComp
}

// completeSome offers values for a list with commas. The shell replaces the whole word, so that each offer repeats what
// precedes the last comma.
func completeSome(words []string) completion {
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

// completeSource offers the dialects of the sessions here, and the folders of the settings.
func (a *app) completeSource(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names, folders []string
	var infos []place.SourceInfo
	if s, err := a.store(); err == nil {
		infos, _ = s.LookAtSources(cmd.Context())
	}
	for _, info := range infos {
		for _, d := range info.Dialects {
			if !slices.Contains(names, d.Name()) {
				names = append(names, d.Name())
			}
		}
		if info.Why == place.WhyConfig && info.Sessions > 0 {
			folders = append(folders, info.Root.Sessions+"\t"+wire.Count(info.Sessions, "session", "sessions"))
		}
	}
	if len(names) == 0 {
		names = dialectNames()
	}
	return append(names, folders...), cobra.ShellCompDirectiveNoFileComp
}

// completeStore offers the servers that this machine has a token for, and the kinds of archives.
func (a *app) completeStore(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	hosts, _ := drivers.Hosts(a.tokensFile())
	var list []string
	for _, h := range hosts {
		list = append(list, "https://"+h)
	}
	return append(list, "https://\ta server", "postgres://\ta database"), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeURL is completeStore for the argument of a command.
func (a *app) completeURL(cmd *cobra.Command, given []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeStore(cmd, given, word)
}

// completeOrigin offers the machines in the archive that the command line names. One that does not answer soon offers nothing.
func (a *app) completeOrigin(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	if a.archive == "" && strings.Contains(cmd.Use, "<url>") && len(given) > 0 {
		a.archive = given[0]
	}
	found := make(chan []string, 1)
	go func() {
		var names []string
		if s, err := a.store(); err == nil && a.archive != "" && a.checkStore(a.archive) == nil {
			for _, src := range s.Sources() {
				if !slices.Contains(names, src.Origin) && src.Origin != "" {
					names = append(names, src.Origin)
				}
			}
		}
		found <- names
	}()
	select {
	case names := <-found:
		return names, cobra.ShellCompDirectiveNoFileComp
	case <-time.After(3 * time.Second):
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeModel offers the models in the catalogue as it is: bringing it up to date would take too long.
func (a *app) completeModel(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	s, err := a.store()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.Models(), cobra.ShellCompDirectiveNoFileComp
}

// completeSession offers sessions of the project and files. If none fits, it offers those of other directories. After
// session# and as a second argument it offers entries.
func (a *app) completeSession(cmd *cobra.Command, given []string, word string) ([]string, cobra.ShellCompDirective) {
	// A command whose Use ends in … takes any number of sessions.
	if len(given) > 0 && !strings.HasSuffix(cmd.Use, "…") {
		if len(given) == 1 && strings.Contains(cmd.Use, "<entry>") {
			return a.completeEntry(cmd, given, word)
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if i := strings.LastIndexByte(word, '#'); i > 0 {
		list := a.entriesOf(cmd, word[:i], word[i+1:])
		for k := range list {
			list[k] = word[:i+1] + list[k]
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
	s, err := a.store()
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	all, err := s.List(cmd.Context(), place.ListOptions{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var list []string
	project := s.InDir(s.Project(all), slices.Clone(all))
	if len(project) > 0 && strings.HasPrefix("@last", word) {
		list = append(list, "@last\tthe newest of the project")
	}
	for _, rows := range [][]place.Row{project, all} {
		for _, r := range rows {
			if len(list) <= mostOffered && r.OK && strings.HasPrefix(string(r.ID), word) {
				list = append(list, screen.OneLine(string(r.ID), 0)+"\t"+screen.OneLine(cmp.Or(r.Title, r.Prompt), 60))
			}
		}
		if len(list) > 0 || word == "" {
			break
		}
	}
	return list, cobra.ShellCompDirectiveDefault // and files
}

// mostOffered limits the sessions, runs and entries that are offered.
const mostOffered = 50

// completeEntry offers the entries of the session in the first argument.
func (a *app) completeEntry(cmd *cobra.Command, given []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(given) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.entriesOf(cmd, given[0], word), cobra.ShellCompDirectiveNoFileComp
}

// entriesOf gives the newest entries of a session whose ids have a prefix.
func (a *app) entriesOf(cmd *cobra.Command, ref, begin string) []string {
	s, err := a.open(cmd.Context(), ref, "")
	if err != nil {
		return nil
	}
	defer s.Close()
	var list []string
	t := s.Tree()
	for i := t.Len() - 1; i >= 0 && len(list) < mostOffered; i-- {
		e := t.At(i)
		if !strings.HasPrefix(string(e.ID), begin) {
			continue
		}
		about := strconv.Itoa(e.Line)
		if v, err := wire.Look(s.Dialect().Codec(), e); err == nil {
			about = v.Word() + ": " + v.Line(60)
		}
		list = append(list, screen.OneLine(string(e.ID), 0)+"\t"+screen.OneLine(about, 70))
	}
	return list
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

func dialectNames() []string {
	var names []string
	for _, d := range treeline.Dialects() {
		names = append(names, d.Name())
	}
	return names
}
