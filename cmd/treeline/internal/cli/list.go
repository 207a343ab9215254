package cli

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/wire"
)

// On a terminal, a list shows its newest rows, and the last line says how many there are. In a pipe and with --json it is complete: a
// program must not miss rows only because a person would not read that far.

const (
	// ShownRows is the number of rows of a list on a terminal.
	ShownRows = 30
	// CountedRows is the number of hits and prompts that are searched for in order to count them: finding all of them takes long.
	CountedRows = 500
	// CountedMost is the largest number of sessions or runs of an archive that a list counts.
	CountedMost = 10_000
)

// LimitFlag is --limit. It is known whether the flag was given; 0 means all.
type LimitFlag struct {
	limit int
	Given bool
}

// Add adds the flag. what are the rows.
func (f *LimitFlag) Add(cmd *cobra.Command, what string) {
	cmd.Flags().IntVarP(&f.limit, "limit", "n", 0, fmt.Sprintf("at most `N` %s; 0 for all. Default: %d on a terminal, all elsewhere", what, ShownRows))
}

// Most returns the number of rows to show; 0 means all.
func (f *LimitFlag) Most(a *App, cmd *cobra.Command) (int, error) {
	f.Given = cmd.Flags().Changed("limit")
	_, isTerminal := console.Width(a.Stdout)
	switch {
	case f.limit < 0:
		return 0, Misused("--limit must not be negative")
	case !f.Given && isTerminal && !a.JSON:
		return ShownRows, nil
	}
	return f.limit, nil
}

// First returns the first rows of a list; most 0 means all.
func First[T any](rows []T, most int) []T {
	if most > 0 && len(rows) > most {
		return rows[:most:most]
	}
	return rows
}

// Project returns the directory whose sessions are meant by default, and prints it if it is not the working directory.
func (a *App) Project(s *treeline.Store, rows []place.Row) string {
	dir := s.Project(rows)
	a.NoteProject(s, dir)
	return dir
}

// NoteProject says that the sessions of another directory than the working directory are meant.
func (a *App) NoteProject(s *treeline.Store, dir string) {
	here := s.Env().WorkDir
	if dir == "" || s.SameDir(dir, here) {
		return
	}
	why := "the main worktree of this one"
	if rest, err := filepath.Rel(dir, here); err == nil && filepath.IsLocal(rest) {
		why = "the nearest directory above with any"
	}
	a.Notice("the sessions of " + wire.Tilde(dir, a.Tilde()) + ", " + why)
}

// LogsRead returns a function that shows the progress of a refresh of the catalogue.
func LogsRead(p *console.Progress) func(find.Progress) {
	return func(r find.Progress) { p.Read(r.Logs, r.OfLogs, r.Bytes, r.OfBytes) }
}
