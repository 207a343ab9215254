package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/store"
	"golang.org/x/term"
)

// rmCommand moves to treeline's own trash and not to the desktop's: it must work over ssh, and an undo must put a
// file back byte for byte. Deleting for good is a step of its own.
func (a *app) rmCommand() *cobra.Command {
	var (
		asJSON, yes, list, empty bool
		undo, older              string
	)
	cmd := &cobra.Command{
		Use:   "rm <session>…",
		Short: "Move sessions to the trash",
		Long: "Move sessions to treeline's own trash. --list shows what is in it, --undo puts a session back where it was: byte for byte,\n" +
			"and never over another file. On a terminal it asks first. Pictures, backups and other files beside a session stay.\n\n" +
			"--empty-trash removes for good what is in the trash, with --older-than only what has been there for so long (36h, 30d).\n" +
			"It says what will go and asks; where there is nobody to ask it wants --yes." + sessionHelp,
		Example: "  treeline rm 01a1dcc8\n  treeline rm --list\n  treeline rm --undo 01a1dcc8\n  treeline rm --empty-trash --older-than 30d",
		Args: func(cmd *cobra.Command, given []string) error {
			var ways []string
			for _, name := range []string{"list", "undo", "empty-trash"} {
				if cmd.Flags().Changed(name) {
					ways = append(ways, "--"+name)
				}
			}
			switch {
			case len(ways) > 1:
				return errNothing(cmd, ways[0]+" and "+ways[1]+" contradict each other")
			case len(ways) == 1 && len(given) > 0:
				return errNothing(cmd, fmt.Sprintf("unexpected argument %q", given[0]))
			case len(ways) == 0 && len(given) == 0:
				return errNothing(cmd, "<session> is missing")
			case cmd.Flags().Changed("older-than") && !empty:
				return errNothing(cmd, "--older-than goes with --empty-trash")
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
				age, err := ageOf(older)
				if err != nil {
					return usageError{err, cmd}
				}
				return a.emptyTrash(cmd.Context(), s, age, yes, asJSON)
			case list:
				return a.listTrash(cmd.Context(), s, asJSON)
			// Changed: --undo '' must not fall through to removing
			case cmd.Flags().Changed("undo"):
				return a.undo(cmd.Context(), s, undo, asJSON)
			}
			return a.rm(cmd.Context(), s, args, yes, asJSON)
		},
		ValidArgsFunction: a.completeSession,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&list, "list", false, "list the trash")
	cmd.Flags().BoolVar(&empty, "empty-trash", false, "remove for good what is in the trash")
	cmd.Flags().StringVar(&older, "older-than", "0", "with --empty-trash: only what has been there for `TIME` (45m, 36h, 30d)")
	cmd.Flags().StringVar(&undo, "undo", "", "put the session `ID` of the trash back")
	return cmd
}

// trashedJSON is a session in the trash, for programs.
// It is a stable format: ID is the name in the trash, which --undo takes, and Session the session's own id; a
// session can be in the trash twice. Title is the first prompt where there is no title.
type trashedJSON struct {
	ID      string `json:"id"`
	Session string `json:"session"`
	File    string `json:"file"`
	Dialect string `json:"dialect"`
	CWD     string `json:"cwd"`
	Title   string `json:"title"`
	Size    int64  `json:"size"`
	Removed string `json:"removed"`
}

func newTrashedJSON(t store.Trashed) trashedJSON {
	return trashedJSON{
		ID: t.ID, Session: string(t.Session), File: t.From, Dialect: t.Dialect, CWD: t.CWD, Title: orElse(t.Title, t.Prompt),
		Size: t.Size, Removed: t.Time.UTC().Format("2006-01-02T15:04:05.000Z"),
	}
}

// Several may be named, and one that is misspelled must not leave half of them removed.
func (a *app) rm(ctx context.Context, s *store.Store, refs []string, yes, asJSON bool) error {
	// All are found before the first is gone.
	var paths []string
	for _, ref := range refs {
		path, err := a.locate(ctx, s, ref)
		if err != nil {
			return err
		}
		// Opened only to see that it is a session: rm is no way to delete any file.
		sess, err := s.Open(ctx, path, store.OpenOptions{})
		if err != nil {
			return openError(path, err)
		}
		if err := sess.Close(); err != nil {
			return err
		}
		paths = append(paths, path)
	}
	if !yes && !a.confirm(paths) {
		return errors.New("nothing was removed")
	}
	for _, path := range paths {
		// Each is told as soon as it is done: if a later one fails, it is known what is in the trash.
		t, err := s.Trash(ctx, path, store.WriteOptions{})
		if err != nil {
			return openError(path, err)
		}
		if asJSON {
			err = writeJSON(a.stdout, newTrashedJSON(t))
		} else {
			_, err = fmt.Fprintf(a.stdout, "%s is in the trash; 'treeline rm --undo %s' puts it back\n", screen.Clean(path), screen.Clean(t.ID))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// confirm asks whether sessions may go, where there is somebody to ask.
// Without a terminal it goes ahead: the trash can be undone. emptyTrash, which cannot, decides otherwise.
func (a *app) confirm(paths []string) bool {
	if !a.somebody() {
		return true
	}
	for _, path := range paths {
		fmt.Fprintf(a.stderr, "%s\n", screen.Clean(path))
	}
	return a.ask(fmt.Sprintf("Move %s to the trash?", counted(len(paths), "session", "sessions")))
}

// somebody says whether there is one to ask.
func (a *app) somebody() bool {
	f, ok := a.stdin.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// ask wants a yes: all else is a no.
// The end of the input, Ctrl-D, is no yes either.
func (a *app) ask(question string) bool {
	fmt.Fprintf(a.stderr, "%s [y/N] ", question)
	answer, err := bufio.NewReader(a.stdin).ReadString('\n')
	if err != nil {
		return false
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

// undo prints where the session is again.
func (a *app) undo(ctx context.Context, s *store.Store, id string, asJSON bool) error {
	t, err := s.Restore(ctx, id, store.WriteOptions{})
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(a.stdout, newTrashedJSON(t))
	}
	_, err = fmt.Fprintln(a.stdout, screen.Clean(t.From))
	return err
}

// ageOf reads how long ago something must have been: a duration, or a number of days.
// Days are what people think in here, and time.ParseDuration has none. At most 65535 of them.
func ageOf(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err == nil {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("--older-than %q: it is a time like 45m, 36h or 30d", text)
	}
	return d, nil
}

// emptyTrash removes for good what has been in the trash for that long, after it said what that is.
// before is fixed once: what comes into the trash while somebody thinks about the question is not removed.
func (a *app) emptyTrash(ctx context.Context, s *store.Store, age time.Duration, yes, asJSON bool) error {
	before := time.Now().Add(-age)
	items, err := s.Trashed(ctx)
	if err != nil {
		return err
	}
	items = slices.DeleteFunc(items, func(t store.Trashed) bool { return !t.Time.Before(before) })
	if len(items) == 0 {
		fmt.Fprintln(a.stderr, "treeline: nothing in the trash is that old")
		if asJSON {
			return writeJSON(a.stdout, []trashedJSON{})
		}
		return nil
	}
	size := int64(0)
	for _, t := range items {
		size += t.Size
		if !yes {
			fmt.Fprintf(a.stderr, "%s  %s  %s\n", t.Time.Local().Format("2006-01-02 15:04"), screen.Clean(t.ID), screen.OneLine(orElse(orElse(t.Title, t.Prompt), "(no title)"), titleColumns))
		}
	}
	what := fmt.Sprintf("%s, %s", counted(len(items), "session", "sessions"), byteSize(size))
	switch {
	case yes:
	case !a.somebody():
		return fmt.Errorf("%s would go for good; --yes removes them", what)
	case !a.ask("Remove " + what + ", for good?"):
		return errors.New("nothing was removed")
	}
	// What it removed before an error is still told.
	gone, err := s.EmptyTrash(ctx, before)
	if asJSON {
		list := make([]trashedJSON, 0, len(gone))
		for _, t := range gone {
			list = append(list, newTrashedJSON(t))
		}
		return errors.Join(err, writeJSON(a.stdout, list))
	}
	if err == nil {
		_, err = fmt.Fprintf(a.stdout, "%s removed from the trash\n", what)
	}
	return err
}

// listTrash shows the newest first, as the store gives them; the id is what --undo takes.
func (a *app) listTrash(ctx context.Context, s *store.Store, asJSON bool) error {
	items, err := s.Trashed(ctx)
	if err != nil {
		return err
	}
	width, _ := terminalWidth(a.stdout)
	return a.print(ctx, a.stdout, width, func(_ context.Context, out *output) error {
		if asJSON {
			list := arrayWriter{w: out}
			for _, t := range items {
				if err := list.add(newTrashedJSON(t)); err != nil {
					return err
				}
			}
			return list.end()
		}
		if len(items) == 0 {
			fmt.Fprintln(a.stderr, "treeline: the trash is empty")
			return nil
		}
		st, home := out.style, a.home()
		rows := table{
			{name: "REMOVED", mark: st.cyan, drop: 3}, {name: "PROJECT", path: true, mark: same, least: leastProject, drop: 2},
			{name: "TITLE", mark: same, least: leastTitle, drop: 4}, {name: "SIZE", right: true, mark: same, drop: 1},
			{name: "ID", mark: st.yellow}, // in full, and all that is needed to bring it back
		}
		for _, t := range items {
			rows.add(t.Time.Local().Format("2006-01-02 15:04"), tilde(screen.OneLine(t.CWD, 0), home),
				screen.OneLine(orElse(orElse(t.Title, t.Prompt), "(no title)"), titleColumns), byteSize(t.Size), screen.OneLine(t.ID, 60))
		}
		if out.width > 0 {
			rows = rows.fit(out.width)
		}
		rows.write(out)
		return nil
	})
}
