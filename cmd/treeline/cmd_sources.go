package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/store"
)

// sourcesCommand answers why a session is not found: it shows every place that is looked at, with what is in it
// and why it is known. Places that cannot be read are told on stderr; the exit code stays 0.
func (a *app) sourcesCommand() *cobra.Command {
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   "sources",
		Short: "Show where sessions are looked for",
		Long: "Show the places where sessions are looked for, and what is in them: the agents' own folders, where they are by default\n" +
			"or where the environment puts them, and those that the settings add:\n\n" +
			"  # ~/.config/treeline/config.toml\n  [[root]]\n  path = \"~/backup/omp\"\n  dialect = \"omp\"   # optional\n\n" +
			"What the sessions in a place are is found out from them; the settings need to say it only for those that do not say it\n" +
			"themselves. A name that ends in -doc is the format as the agent's document has it, where the program writes another.\n" +
			"Places that do not exist, and values of an agent's format that have no sessions beside others in the same\n" +
			"folder, are shown with --all.",
		Example: "  treeline sources\n  treeline sources --json | jq -r '.[].root'",
		Args:    args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.store()
			if err != nil {
				return err
			}
			list, err := s.LookAtSources(cmd.Context())
			if err != nil {
				return err
			}
			return a.sources(cmd.Context(), list, all, asJSON)
		},
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "show places that do not exist, too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, of all places")
	return cmd
}

// sources prints JSON of all places, also of those that the table hides: programs can filter for themselves.
func (a *app) sources(ctx context.Context, list []store.SourceInfo, all, asJSON bool) error {
	width, _ := terminalWidth(a.stdout)
	hidden := 0
	err := a.print(ctx, a.stdout, width, func(_ context.Context, out *output) error {
		if asJSON {
			return sourcesJSON(out, list)
		}
		hidden = a.sourcesTable(out, list, all)
		return nil
	})
	if hidden == len(list) && !asJSON {
		fmt.Fprintf(a.stderr, "treeline: no agent has sessions here; --all shows where they would be, %s can name other places\n",
			screen.Clean(treeline.ConfigPath(a.home(), a.getenv)))
	}
	for _, s := range list {
		if s.Err != nil {
			a.notice(s.Err.Error())
		}
	}
	return err
}

// sourcesTable prints the sources for people and says how many it left out.
func (a *app) sourcesTable(out *output, list []store.SourceInfo, all bool) (hidden int) {
	st, home, now := out.style, a.home(), time.Now()
	t := table{
		{name: "DIALECT", mark: st.cyan, least: fewest}, {name: "FOLDER", path: true, mark: same, least: leastTitle},
		{name: "SESSIONS", right: true, mark: same, drop: 4}, {name: "SIZE", right: true, mark: same, drop: 2},
		{name: "NEWEST", mark: same, drop: 3}, {name: "KNOWN BY", mark: st.dim, drop: 1},
	}
	for i, s := range list {
		// Several values of a family may share a folder; those without sessions there would only repeat the line.
		beside := s.Sessions == 0 && slices.ContainsFunc(list[:i], func(o store.SourceInfo) bool { return o.Root.Sessions == s.Root.Sessions })
		if (!s.Exists || beside) && !all {
			hidden++
			continue
		}
		sessions, size, newest := "-", "-", "-"
		if s.Exists {
			sessions, size = strconv.Itoa(s.Sessions), byteSize(s.Bytes)
		}
		if !s.Newest.IsZero() {
			newest = s.Newest.Local().Format("2006-01-02 15:04")
			if out.width > 0 {
				newest = ago(s.Newest.Local(), now)
			}
		}
		t.add(orElse(strings.Join(dialectsAt(s), ", "), "?"), tilde(screen.OneLine(s.Root.Sessions, 0), home), sessions, size, newest, screen.OneLine(string(s.Why), 0))
	}
	if out.width > 0 {
		t = t.fit(out.width)
	}
	if hidden < len(list) {
		t.write(out)
	}
	return hidden
}

// dialectsAt names what the sessions of a source are or, where there are none, what they would be; nothing where nobody
// knows.
func dialectsAt(s store.SourceInfo) []string {
	var names []string
	for _, d := range s.Dialects {
		names = append(names, d.Name())
	}
	if len(names) == 0 && !s.Assumed {
		names = append(names, s.Dialect.Name())
	}
	return names
}

// sourceJSON is a source for programs.
// It is a stable format: newest is null where there are no sessions.
type sourceJSON struct {
	// Dialect is the agent's or, in a place that is nobody's, that of most of its sessions; null where there are none.
	// Dialects are those of the sessions that are there.
	Dialect  *string  `json:"dialect"`
	Dialects []string `json:"dialects"`
	Root     string   `json:"root"`
	Why      string   `json:"why"`
	Exists   bool     `json:"exists"`
	Sessions int      `json:"sessions"`
	Size     int64    `json:"size"`
	Newest   *string  `json:"newest"`
}

func sourcesJSON(out *output, list []store.SourceInfo) error {
	array := arrayWriter{w: out.Writer}
	for _, s := range list {
		j := sourceJSON{
			Dialects: []string{}, Root: s.Root.Sessions, Why: string(s.Why), Exists: s.Exists, Sessions: s.Sessions, Size: s.Bytes,
		}
		if len(s.Dialects) > 0 {
			j.Dialects = dialectsAt(s)
		}
		if name := s.Dialect.Name(); !s.Assumed {
			j.Dialect = &name
		} else if len(j.Dialects) > 0 {
			j.Dialect = &j.Dialects[0]
		}
		if !s.Newest.IsZero() {
			newest := s.Newest.UTC().Format("2006-01-02T15:04:05.000Z")
			j.Newest = &newest
		}
		if err := array.add(j); err != nil {
			return err
		}
	}
	return array.end()
}
