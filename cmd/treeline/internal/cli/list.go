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

// On a terminal a list shows its newest rows, and the last line says how many there are. In a pipe and with --json it is
// whole: a program must not miss a row because a person would not read that far.

const (
	// ShownRows is how many rows of a list a terminal shows.
	ShownRows = 30
	// CountedRows is how many hits and prompts are looked for to say how many there are: finding them all takes long.
	CountedRows = 500
	// CountedMost is up to how many sessions or runs of an archive a list says how many there are.
	CountedMost = 10_000
)

// LimitFlag is --limit. Whether it was given counts: 0 means all.
type LimitFlag struct {
	limit int
	Given bool
}

// Add adds the flag. what are the rows.
func (f *LimitFlag) Add(cmd *cobra.Command, what string) {
	cmd.Flags().IntVarP(&f.limit, "limit", "n", 0, fmt.Sprintf("at most `N` %s; 0 for all. Default: %d on a terminal, all elsewhere", what, ShownRows))
}

// Most says how many rows are wanted; 0 is all.
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

// First gives the first rows of a list; most 0 is all.
func First[T any](rows []T, most int) []T {
	if most > 0 && len(rows) > most {
		return rows[:most:most]
	}
	return rows
}

// Project gives the directory whose sessions are meant here, and says so if it is not this one.
func (a *App) Project(s *treeline.Store, rows []place.Row) string {
	dir := s.Project(rows)
	a.NoteProject(s, dir)
	return dir
}

// NoteProject says that sessions of another directory than this one are meant.
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

// LogsRead tells how far a refresh of the catalogue is.
func LogsRead(p *console.Progress) func(find.Progress) {
	return func(r find.Progress) { p.Read(r.Logs, r.OfLogs, r.Bytes, r.OfBytes) }
}
