package keeping

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/trash"
	"github.com/treeline-dev/treeline/wire"
)

// Rm has a trash of its own, not the desktop's: it works over ssh, and an undo restores a file byte for byte.
func Rm(a *cli.App) *cobra.Command {
	var (
		yes, list, empty, force bool
		undo, older             string
	)
	cmd := &cobra.Command{
		Use:        "rm <session>…",
		SuggestFor: []string{"delete", "del", "remove", "trash", "unlink"},
		Short:      "Move sessions to the trash",
		Long: "Move sessions to treeline's own trash; on a terminal, it asks first. --list shows the trash. --undo restores a session\n" +
			"byte for byte and never overwrites another file. The folder of a session of Claude Code or Copilot CLI goes with it,\n" +
			"including sub-agents and long outputs. Images, backups and other files next to a session stay. A Codex session that\n" +
			"forks continue from is refused without --force, unless the forks are removed as well.\n\n" +
			"--empty-trash deletes what is in the trash, or with --older-than only what has been there that long (36h, 30d). It\n" +
			"shows what will be deleted and asks first; without a terminal it needs --yes." + cli.SessionHelp,
		Example: "  treeline rm 01a1df83\n  treeline rm --list\n  treeline rm --undo 01a1df83\n  treeline rm --empty-trash --older-than 30d",
		Args: func(cmd *cobra.Command, given []string) error {
			ways := cli.Changed(cmd, "list", "undo", "empty-trash")
			switch {
			case len(ways) > 1:
				return cli.Misused("--%s and --%s cannot be combined", ways[0], ways[1])
			case len(ways) == 1 && len(given) > 0:
				return cli.Misused("unexpected argument %q", given[0])
			case cmd.Flags().Changed("older-than") && !empty:
				return cli.Misused("--older-than needs --empty-trash")
			case len(ways) == 0 && len(given) == 0:
				return cli.Missing("<session>")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.WriteStore()
			if err != nil {
				return err
			}
			switch {
			case empty:
				age, err := wire.ParseAge(older)
				if err != nil {
					return cli.Invalid("older-than", older, "a time like 45m, 36h or 30d")
				}
				return emptyTrash(cmd.Context(), a, s, age, yes)
			case list:
				return listTrash(cmd.Context(), a, s)
			case cmd.Flags().Changed("undo"):
				return restore(cmd.Context(), a, s, undo)
			}
			return rm(cmd.Context(), a, s, args, yes, force)
		},
		ValidArgsFunction: a.CompleteSession,
	}
	a.AddJSON(cmd)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cli.AddForce(cmd, &force)
	cmd.Flags().BoolVar(&list, "list", false, "list the trash")
	cmd.Flags().BoolVar(&empty, "empty-trash", false, "delete what is in the trash")
	cmd.Flags().StringVar(&older, "older-than", "0", "with --empty-trash: only what has been there at least `TIME` (45m, 36h, 30d)")
	cmd.Flags().StringVar(&undo, "undo", "", "restore the session `ID`")
	return cmd
}

// rm finds all sessions before it moves the first one, so that a misspelled name leaves all of them in place. Each one is opened to check
// that it is a session: rm does not delete arbitrary files.
func rm(ctx context.Context, a *cli.App, s *treeline.Store, refs []string, yes, force bool) error {
	var paths []string
	var about [][]string
	needs := map[string][]string{} // paths of the sessions that continue each one
	for _, ref := range refs {
		path, err := a.Locate(ctx, s, ref)
		if err != nil {
			return err
		}
		sess, err := s.Open(ctx, path, store.OpenOptions{})
		if err != nil {
			return cli.OpenError(path, err)
		}
		about = append(about, cli.AboutSession(sess.Log().Time, sess.Dialect(), titleOf(ctx, sess)))
		d := sess.Dialect()
		if err := sess.Close(); err != nil {
			return err
		}
		if needs[path], err = neededBy(ctx, s, d, path); err != nil {
			return err
		}
		paths = append(paths, path)
	}
	for _, path := range paths {
		others := slices.DeleteFunc(slices.Clone(needs[path]), func(by string) bool { return slices.Contains(paths, by) })
		if len(others) > 0 && !force {
			return &trash.NeededError{Path: path, By: others}
		}
	}
	if !yes && !confirm(a, paths, about) {
		return errors.New("nothing was removed")
	}
	put := s.Trash
	if force {
		put = s.TrashHeld
	}
	for len(paths) > 0 {
		// Sessions that continue another one are removed before it.
		i := slices.IndexFunc(paths, func(path string) bool {
			return !slices.ContainsFunc(needs[path], func(by string) bool { return slices.Contains(paths, by) })
		})
		i = max(i, 0)
		path := paths[i]
		paths = slices.Delete(paths, i, i+1)
		t, err := put(ctx, path)
		if err != nil {
			return cli.OpenError(path, err)
		}
		line := fmt.Sprintf("%s is in the trash; 'treeline rm --undo %s' puts it back", path, t.ID)
		if err := a.Say(wire.NewTrashed(t), line); err != nil {
			return err
		}
	}
	return nil
}

// neededBy returns the paths of the sessions that continue the one at a path.
func neededBy(ctx context.Context, s *treeline.Store, d dialect.Dialect, path string) ([]string, error) {
	l, err := s.Locate(path)
	if err != nil {
		return nil, err
	}
	return s.NeededBy(ctx, d, l)
}

// titleOf returns the title of a session or, if it has none, the first prompt.
func titleOf(ctx context.Context, sess *store.Session) string {
	title, _ := sess.Name() // a session whose title cannot be read is removed without one
	for p, err := range sess.Prompts(ctx) {
		if title == "" && err == nil {
			title = p.Text
		}
		break
	}
	return screen.OneLine(cmp.Or(title, "(no title)"), cli.TitleColumns)
}

// confirm asks for confirmation on a terminal, and shows what is known about each session. Elsewhere it returns true, since rm can be
// undone.
func confirm(a *cli.App, paths []string, about [][]string) bool {
	if !a.Interactive() {
		return true
	}
	for i, line := range console.Align(about) {
		fmt.Fprintf(a.Stderr, "%s\n  %s\n", screen.Clean(line), screen.Clean(paths[i]))
	}
	return a.Ask(fmt.Sprintf("Move %s to the trash?", wire.Count(len(paths), "session", "sessions")))
}

// restore restores a session and prints its file.
func restore(ctx context.Context, a *cli.App, s *treeline.Store, id string) error {
	t, err := s.Restore(ctx, id)
	if err != nil {
		return err
	}
	return a.Say(wire.NewTrashed(t), t.From)
}

// emptyTrash deletes what has been in the trash for that long. The limit is fixed before the question, so that sessions that are moved to
// the trash meanwhile are kept.
func emptyTrash(ctx context.Context, a *cli.App, s *treeline.Store, age time.Duration, yes bool) error {
	before := time.Now().Add(-age)
	items, err := s.Trashed(ctx)
	if err != nil {
		return err
	}
	why := "the trash is empty"
	if len(items) > 0 {
		why = "nothing in the trash is that old"
	}
	items = slices.DeleteFunc(items, func(t trash.Item) bool { return !t.Time.Before(before) })
	if len(items) == 0 {
		a.Notice(why)
		if a.JSON {
			return wire.Write(a.Stdout, []wire.Trashed{})
		}
		return nil
	}
	size := int64(0)
	for _, t := range items {
		size += t.Size
		if !yes {
			fmt.Fprintf(a.Stderr, "%s  %s  %s\n", t.Time.Local().Format("2006-01-02 15:04"), screen.Clean(t.ID), screen.OneLine(cmp.Or(t.Title, t.Prompt, "(no title)"), cli.TitleColumns))
		}
	}
	what := fmt.Sprintf("%s, %s", wire.Count(len(items), "session", "sessions"), wire.Size(size))
	switch {
	case yes:
	case !a.Interactive():
		return fmt.Errorf("%s would be deleted; use --yes to delete them", what)
	case !a.Ask("Delete " + what + "?"):
		return errors.New("nothing was removed")
	}
	gone, err := s.EmptyTrash(ctx, before)
	if a.JSON {
		list := make([]wire.Trashed, 0, len(gone))
		for _, t := range gone {
			list = append(list, wire.NewTrashed(t))
		}
		return errors.Join(err, wire.Write(a.Stdout, list))
	}
	if err == nil {
		_, err = fmt.Fprintf(a.Stdout, "%s removed from the trash\n", what)
	}
	return err
}

// listTrash prints the trash, newest first. --undo takes the id.
func listTrash(ctx context.Context, a *cli.App, s *treeline.Store) error {
	items, err := s.Trashed(ctx)
	if err != nil {
		return err
	}
	return a.Print(func(out *console.Output) error {
		if a.JSON {
			return wire.WriteList(out, len(items), func(i int) (wire.Trashed, error) { return wire.NewTrashed(items[i]), nil })
		}
		if len(items) == 0 {
			a.Notice("the trash is empty")
			return nil
		}
		st, home := out.Style, a.Tilde()
		rows := console.Table{
			{Name: "REMOVED", Mark: st.Cyan, Drop: 3}, {Name: "PROJECT", Path: true, Least: console.LeastProject, Drop: 2},
			{Name: "TITLE", Least: console.LeastTitle, Drop: 4}, {Name: "SIZE", Right: true, Drop: 1},
			{Name: "ID", Mark: st.Yellow},
		}
		for _, t := range items {
			rows.Add(t.Time.Local().Format("2006-01-02 15:04"), wire.Tilde(screen.OneLine(t.CWD, 0), home),
				screen.OneLine(cmp.Or(t.Title, t.Prompt, "(no title)"), cli.TitleColumns), wire.Size(t.Size), screen.OneLine(t.ID, 60))
		}
		rows.Write(out)
		return nil
	})
}
