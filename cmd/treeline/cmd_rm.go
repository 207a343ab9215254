package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/trash"
	"github.com/treeline-dev/treeline/wire"
	"golang.org/x/term"
)

// rmCommand has a trash of its own, not the desktop's: it works over ssh, and an undo restores a file byte for byte.
func (a *app) rmCommand() *cobra.Command {
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
			"shows what will be deleted and asks first; without a terminal it needs --yes." + sessionHelp,
		Example: "  treeline rm 01a1dcc8\n  treeline rm --list\n  treeline rm --undo 01a1dcc8\n  treeline rm --empty-trash --older-than 30d",
		Args: func(cmd *cobra.Command, given []string) error {
			ways := changed(cmd, "list", "undo", "empty-trash")
			switch {
			case len(ways) > 1:
				return misused("--%s and --%s cannot be combined", ways[0], ways[1])
			case len(ways) == 1 && len(given) > 0:
				return misused("unexpected argument %q", given[0])
			case len(ways) == 0 && len(given) == 0:
				return misused("<session> is missing")
			case cmd.Flags().Changed("older-than") && !empty:
				return misused("--older-than needs --empty-trash")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.writeStore()
			if err != nil {
				return err
			}
			switch {
			case empty:
				age, err := wire.ParseAge(older)
				if err != nil {
					return invalid("older-than", older, "a time like 45m, 36h or 30d")
				}
				return a.emptyTrash(cmd.Context(), s, age, yes)
			case list:
				return a.listTrash(cmd.Context(), s)
			case cmd.Flags().Changed("undo"):
				return a.undo(cmd.Context(), s, undo)
			}
			return a.rm(cmd.Context(), s, args, yes, force)
		},
		ValidArgsFunction: a.completeSession,
	}
	a.addJSON(cmd)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	addForce(cmd, &force)
	cmd.Flags().BoolVar(&list, "list", false, "list the trash")
	cmd.Flags().BoolVar(&empty, "empty-trash", false, "delete what is in the trash")
	cmd.Flags().StringVar(&older, "older-than", "0", "with --empty-trash: only what has been there at least `TIME` (45m, 36h, 30d)")
	cmd.Flags().StringVar(&undo, "undo", "", "restore the session `ID`")
	return cmd
}

// rm finds all sessions before it moves the first, so that a misspelled name leaves them all in place. Each is opened
// to check that it is a session: rm does not delete arbitrary files.
func (a *app) rm(ctx context.Context, s *treeline.Store, refs []string, yes, force bool) error {
	var paths []string
	var about [][]string
	needs := map[string][]string{} // paths of sessions that go on from one
	for _, ref := range refs {
		path, err := a.locate(ctx, s, ref)
		if err != nil {
			return err
		}
		sess, err := s.Open(ctx, path, store.OpenOptions{})
		if err != nil {
			return openError(path, err)
		}
		about = append(about, aboutSession(sess.Log().Time, sess.Dialect(), titleOf(ctx, sess)))
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
	if !yes && !a.confirm(paths, about) {
		return errors.New("nothing was removed")
	}
	put := s.Trash
	if force {
		put = s.TrashHeld
	}
	for len(paths) > 0 {
		// Sessions that go on from another one come before it.
		i := slices.IndexFunc(paths, func(path string) bool {
			return !slices.ContainsFunc(needs[path], func(by string) bool { return slices.Contains(paths, by) })
		})
		i = max(i, 0)
		path := paths[i]
		paths = slices.Delete(paths, i, i+1)
		t, err := put(ctx, path)
		if err != nil {
			return openError(path, err)
		}
		line := fmt.Sprintf("%s is in the trash; 'treeline rm --undo %s' puts it back", path, t.ID)
		if err := a.say(wire.NewTrashed(t), line); err != nil {
			return err
		}
	}
	return nil
}

// neededBy gives the paths of the sessions that go on from the one at a path.
func neededBy(ctx context.Context, s *treeline.Store, d dialect.Dialect, path string) ([]string, error) {
	l, err := s.Locate(path)
	if err != nil {
		return nil, err
	}
	return s.NeededBy(ctx, d, l)
}

// titleOf is the title of a session or, without one, the first prompt.
func titleOf(ctx context.Context, sess *store.Session) string {
	title, _ := sess.Name() // a session without a readable title is removed without one
	for p, err := range sess.Prompts(ctx) {
		if title == "" && err == nil {
			title = p.Text
		}
		break
	}
	return screen.OneLine(cmp.Or(title, "(no title)"), titleColumns)
}

// confirm asks on a terminal, with what is known of each session. Elsewhere it agrees, since rm can be undone.
func (a *app) confirm(paths []string, about [][]string) bool {
	if !a.interactive() {
		return true
	}
	for i, line := range align(about) {
		fmt.Fprintf(a.stderr, "%s\n  %s\n", screen.Clean(line), screen.Clean(paths[i]))
	}
	return a.ask(fmt.Sprintf("Move %s to the trash?", wire.Count(len(paths), "session", "sessions")))
}

// interactive reports whether stdin is a terminal.
func (a *app) interactive() bool {
	f, ok := a.stdin.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// ask takes anything but y and yes for a no.
func (a *app) ask(question string) bool {
	fmt.Fprintf(a.stderr, "%s [y/N] ", question)
	answer, err := bufio.NewReader(a.stdin).ReadString('\n')
	if err != nil {
		return false
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

// undo restores a session and prints its file.
func (a *app) undo(ctx context.Context, s *treeline.Store, id string) error {
	t, err := s.Restore(ctx, id)
	if err != nil {
		return err
	}
	return a.say(wire.NewTrashed(t), t.From)
}

// emptyTrash deletes what has been in the trash that long. The limit is fixed before the question, so that it spares
// what is moved to the trash meanwhile.
func (a *app) emptyTrash(ctx context.Context, s *treeline.Store, age time.Duration, yes bool) error {
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
		a.notice(why)
		if a.json {
			return wire.Write(a.stdout, []wire.Trashed{})
		}
		return nil
	}
	size := int64(0)
	for _, t := range items {
		size += t.Size
		if !yes {
			fmt.Fprintf(a.stderr, "%s  %s  %s\n", t.Time.Local().Format("2006-01-02 15:04"), screen.Clean(t.ID), screen.OneLine(cmp.Or(t.Title, t.Prompt, "(no title)"), titleColumns))
		}
	}
	what := fmt.Sprintf("%s, %s", wire.Count(len(items), "session", "sessions"), wire.Size(size))
	switch {
	case yes:
	case !a.interactive():
		return fmt.Errorf("%s would be deleted; use --yes to delete them", what)
	case !a.ask("Delete " + what + "?"):
		return errors.New("nothing was removed")
	}
	gone, err := s.EmptyTrash(ctx, before)
	if a.json {
		list := make([]wire.Trashed, 0, len(gone))
		for _, t := range gone {
			list = append(list, wire.NewTrashed(t))
		}
		return errors.Join(err, wire.Write(a.stdout, list))
	}
	if err == nil {
		_, err = fmt.Fprintf(a.stdout, "%s removed from the trash\n", what)
	}
	return err
}

// listTrash prints the trash, newest first. --undo takes the id.
func (a *app) listTrash(ctx context.Context, s *treeline.Store) error {
	items, err := s.Trashed(ctx)
	if err != nil {
		return err
	}
	return a.print(func(out *output) error {
		if a.json {
			return wire.WriteList(out, len(items), func(i int) (wire.Trashed, error) { return wire.NewTrashed(items[i]), nil })
		}
		if len(items) == 0 {
			a.notice("the trash is empty")
			return nil
		}
		st, home := out.style, a.home()
		rows := table{
			{name: "REMOVED", mark: st.cyan, drop: 3}, {name: "PROJECT", path: true, mark: same, least: leastProject, drop: 2},
			{name: "TITLE", mark: same, least: leastTitle, drop: 4}, {name: "SIZE", right: true, mark: same, drop: 1},
			{name: "ID", mark: st.yellow},
		}
		for _, t := range items {
			rows.add(t.Time.Local().Format("2006-01-02 15:04"), wire.Tilde(screen.OneLine(t.CWD, 0), home),
				screen.OneLine(cmp.Or(t.Title, t.Prompt, "(no title)"), titleColumns), wire.Size(t.Size), screen.OneLine(t.ID, 60))
		}
		rows.write(out)
		return nil
	})
}
