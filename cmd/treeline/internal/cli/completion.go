package cli

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/wire"
)

// Launchable returns the agents that can continue a session, each once: for a family, that is the name of its current program.
func Launchable() (names []string) {
	for _, d := range treeline.Dialects() {
		if l, ok := d.(dialect.Launcher); ok && !slices.Contains(names, l.Program()) {
			names = append(names, l.Program())
		}
	}
	return names
}

// Completion offers words to the shell. It never fails: without an answer it offers nothing.
type Completion = func(cmd *cobra.Command, given []string, word string) ([]string, cobra.ShellCompDirective)

// CompleteSource offers the dialects of the sessions here, and the folders of the settings.
func (a *App) CompleteSource(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names, folders []string
	var infos []place.SourceInfo
	if s, err := a.Store(); err == nil {
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
		names = DialectNames()
	}
	return append(names, folders...), cobra.ShellCompDirectiveNoFileComp
}

// CompleteStore offers the servers that this machine has a token for, and the kinds of archives.
func (a *App) CompleteStore(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	hosts, _ := a.Hosts()
	var list []string
	for _, h := range hosts {
		list = append(list, "https://"+h)
	}
	return append(list, "https://\ta server", "postgres://\ta database"), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// CompleteURL is CompleteStore for the argument of a command.
func (a *App) CompleteURL(cmd *cobra.Command, given []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.CompleteStore(cmd, given, word)
}

// CompleteOrigin offers the machines in the archive that the command line names. If the archive does not answer soon, it offers nothing.
func (a *App) CompleteOrigin(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	if a.Archive == "" && strings.Contains(cmd.Use, "<url>") && len(given) > 0 {
		a.Archive = given[0]
	}
	found := make(chan []string, 1)
	go func() {
		var names []string
		if s, err := a.Store(); err == nil && a.Archive != "" && a.checkStore(a.Archive) == nil {
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

// CompleteModel offers the models in the catalogue without updating it, which would take too long.
func (a *App) CompleteModel(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	s, err := a.Store()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.Models(), cobra.ShellCompDirectiveNoFileComp
}

// CompleteSession offers sessions of the project and files. If none fits, it offers those of other directories. After
// session# and as a second argument it offers entries.
func (a *App) CompleteSession(cmd *cobra.Command, given []string, word string) ([]string, cobra.ShellCompDirective) {
	// A command whose Use ends in … takes any number of sessions.
	if len(given) > 0 && !strings.HasSuffix(cmd.Use, "…") {
		if len(given) == 1 && strings.Contains(cmd.Use, "<entry>") {
			return a.CompleteEntry(cmd, given, word)
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
	s, err := a.Store()
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
			if len(list) <= MostOffered && r.OK && strings.HasPrefix(string(r.ID), word) {
				list = append(list, screen.OneLine(string(r.ID), 0)+"\t"+screen.OneLine(cmp.Or(r.Title, r.Prompt), 60))
			}
		}
		if len(list) > 0 || word == "" {
			break
		}
	}
	return list, cobra.ShellCompDirectiveDefault // and files
}

// MostOffered is the largest number of sessions, runs or entries that are offered.
const MostOffered = 50

// CompleteEntry offers the entries of the session in the first argument.
func (a *App) CompleteEntry(cmd *cobra.Command, given []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(given) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.entriesOf(cmd, given[0], word), cobra.ShellCompDirectiveNoFileComp
}

// entriesOf returns the newest entries of a session whose ids have a prefix.
func (a *App) entriesOf(cmd *cobra.Command, ref, begin string) []string {
	s, err := a.Open(cmd.Context(), ref, "")
	if err != nil {
		return nil
	}
	defer s.Close()
	var list []string
	t := s.Tree()
	for i := t.Len() - 1; i >= 0 && len(list) < MostOffered; i-- {
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

// DialectNames returns the names of the dialects.
func DialectNames() []string {
	var names []string
	for _, d := range treeline.Dialects() {
		names = append(names, d.Name())
	}
	return names
}
