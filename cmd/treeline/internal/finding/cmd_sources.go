package finding

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	"github.com/treeline-dev/treeline/dialect/unread"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/wire"
)

// Sources shows why a session is found or not. Places that cannot be read are reported on stderr; the exit code is still 0.
func Sources(a *cli.App) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "sources",
		Short: "Show where treeline looks for sessions",
		Long: "Show where treeline looks for sessions, and what is there: the agents' own folders, at their default place or where\n" +
			"the environment puts them, and the places that the settings add:\n\n" +
			"  # ~/.config/treeline/config.toml\n" +
			"  [[root]]\n" +
			"  path = \"~/backup/omp\"\n" +
			"  dialect = \"omp\"   # optional\n\n" +
			"The format is detected from the sessions; name it in the settings only if that is not possible. A dialect that ends in\n" +
			"-doc is the format in the agent's documentation, where its program writes another one. --all also shows places that do\n" +
			"not exist, and formats without sessions that share a folder with others. Agents whose sessions cannot be read yet are\n" +
			"shown with their folders.",
		Example: "  treeline sources\n  treeline sources --json | jq -r '.[].path'",
		Args:    cli.Args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.Store()
			if err != nil {
				return err
			}
			list, err := s.LookAtSources(cmd.Context())
			if err != nil {
				return err
			}
			return sources(a, list, s.Unread(), all)
		},
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "also show places that do not exist")
	cmd.Flags().BoolVar(&a.JSON, "json", false, "print JSON, with all places")
	return cmd
}

// sources prints the places. The JSON also has those that the table omits.
func sources(a *cli.App, list []place.SourceInfo, others []unread.Agent, all bool) error {
	hidden := 0
	err := a.Print(func(out *console.Output) error {
		if a.JSON {
			return wire.WriteList(out, len(list)+len(others), func(i int) (wire.Source, error) {
				if i < len(list) {
					return wire.NewSource(list[i]), nil
				}
				return wire.NewUnread(others[i-len(list)]), nil
			})
		}
		hidden = sourcesTable(a, out, list, others, all)
		return nil
	})
	if hidden == len(list) && !a.JSON {
		a.Notice(noneHere(others) + "; --all shows where they would be, and " + treeline.ConfigPath(a.Home(), a.Getenv) + " can add other places")
	}
	for _, s := range list {
		if s.Err != nil {
			a.Unread(s.Err)
		}
	}
	return err
}

// sourcesTable prints the places as a table and returns how many it omitted.
func sourcesTable(a *cli.App, out *console.Output, list []place.SourceInfo, others []unread.Agent, all bool) (hidden int) {
	st, home := out.Style, a.Home()
	const leastFolder = 24 // most default folders fit, and it is what the list is for
	t := console.Table{
		{Name: "DIALECT", Mark: st.Cyan}, {Name: "FOLDER", Path: true, Least: leastFolder},
		{Name: "SESSIONS", Right: true, Drop: 4}, {Name: "SIZE", Right: true, Drop: 2},
		{Name: "NEWEST", Drop: 3}, {Name: "KNOWN BY", Mark: st.Dim, Drop: 1},
	}
	origin := slices.ContainsFunc(list, func(s place.SourceInfo) bool { return s.Origin != "" })
	if origin {
		t = slices.Insert(t, 1, console.Column{Name: "ORIGIN", Drop: 5})
	}
	for i, s := range list {
		// Several dialects of a family may share a folder; those without sessions would repeat the line.
		beside := s.Sessions == 0 && slices.ContainsFunc(list[:i], func(o place.SourceInfo) bool { return o.Root.Sessions == s.Root.Sessions })
		if (!s.Exists || beside) && !all {
			hidden++
			continue
		}
		sessions, size, newest := "-", "-", "-"
		if s.Exists {
			sessions, size = strconv.Itoa(s.Sessions), wire.Size(s.Bytes)
		}
		if !s.Newest.IsZero() {
			newest = out.When(s.Newest)
		}
		why := screen.OneLine(string(s.Why), 0)
		if s.Why == place.WhyAsked {
			why = "--store"
		}
		cells := []string{cmp.Or(strings.Join(dialectsAt(s), ", "), "?"), wire.Tilde(screen.OneLine(s.Root.Sessions, 0), home), sessions, size, newest, why}
		if origin {
			cells = slices.Insert(cells, 1, console.Dash(screen.OneLine(s.Origin, 0)))
		}
		t.Add(cells...)
	}
	for _, o := range others {
		cells := []string{o.Name, wire.Tilde(screen.OneLine(o.Path, 0), home), "-", "-", "-", wire.CannotRead}
		if origin {
			cells = slices.Insert(cells, 1, console.Dash(""))
		}
		t.Add(cells...)
	}
	if hidden < len(list) || len(others) > 0 {
		t.Write(out)
	}
	return hidden
}

// noneHere says that there are no sessions, and which agents with sessions were found.
func noneHere(others []unread.Agent) string {
	var names []string
	for _, o := range others {
		names = append(names, o.Name)
	}
	if names = slices.Compact(names); names == nil {
		return "no agent has sessions here"
	}
	return "no agent that can be read has sessions here (found, cannot be read yet: " + strings.Join(names, ", ") + ")"
}

// dialectsAt returns the dialects of the sessions in a place or, if it is empty, the one that its agent would write.
func dialectsAt(s place.SourceInfo) []string {
	var names []string
	for _, d := range s.Dialects {
		names = append(names, d.Name())
	}
	if len(names) == 0 && !s.Assumed {
		names = append(names, s.Dialect.Name())
	}
	return names
}
