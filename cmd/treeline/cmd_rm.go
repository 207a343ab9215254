package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/store"
	"golang.org/x/term"
)

func (a *app) rmCommand() *cobra.Command {
	var (
		asJSON, yes, list bool
		undo              string
	)
	cmd := &cobra.Command{
		Use:   "rm <session>…",
		Short: "Move sessions to the trash",
		Long: "Move sessions to treeline's own trash. --list shows what is in it, --undo puts a session back where it was: byte for byte,\n" +
			"and never over another file. On a terminal it asks first. Pictures, backups and other files beside a session stay." + sessionHelp,
		Example: "  treeline rm 01a1dcc8\n  treeline rm --list\n  treeline rm --undo 01a1dcc8",
		Args: func(cmd *cobra.Command, given []string) error {
			undoing := cmd.Flags().Changed("undo")
			switch {
			case list && undoing:
				return errNothing(cmd, "--list and --undo contradict each other")
			case (list || undoing) && len(given) > 0:
				return errNothing(cmd, fmt.Sprintf("unexpected argument %q", given[0]))
			case !list && !undoing && len(given) == 0:
				return errNothing(cmd, "<session> is missing")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.writeStore()
			if err != nil {
				return err
			}
			switch {
			case list:
				return a.listTrash(cmd.Context(), s, asJSON)
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
	cmd.Flags().StringVar(&undo, "undo", "", "put the session `ID` of the trash back")
	return cmd
}

// trashedJSON is a session in the trash, for programs.
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

func (a *app) rm(ctx context.Context, s *store.Store, refs []string, yes, asJSON bool) error {
	// All are found before the first is gone.
	var paths []string
	for _, ref := range refs {
		path, err := a.locate(ctx, s, ref)
		if err != nil {
			return err
		}
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
		t, err := s.Trash(ctx, path, store.WriteOptions{})
		if err != nil {
			return openError(path, err)
		}
		if asJSON {
			err = writeJSON(a.stdout, newTrashedJSON(t))
		} else {
			_, err = fmt.Fprintf(a.stdout, "%s is in the trash; 'treeline rm --undo %s' puts it back\n", clean(path), clean(t.ID))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// confirm asks whether sessions may go, where there is somebody to ask.
func (a *app) confirm(paths []string) bool {
	f, ok := a.stdin.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return true
	}
	for _, path := range paths {
		fmt.Fprintf(a.stderr, "%s\n", clean(path))
	}
	fmt.Fprintf(a.stderr, "Move %s to the trash? [y/N] ", counted(len(paths), "session", "sessions"))
	answer, err := bufio.NewReader(a.stdin).ReadString('\n')
	if err != nil {
		return false
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

func (a *app) undo(ctx context.Context, s *store.Store, id string, asJSON bool) error {
	t, err := s.Restore(ctx, id, store.WriteOptions{})
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(a.stdout, newTrashedJSON(t))
	}
	_, err = fmt.Fprintln(a.stdout, clean(t.From))
	return err
}

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
			{name: "REMOVED", mark: st.cyan}, {name: "PROJECT", mark: same}, {name: "TITLE", mark: same},
			{name: "SIZE", right: true, mark: same}, {name: "ID", mark: st.yellow},
		}
		for _, t := range items {
			rows.add(t.Time.Local().Format("2006-01-02 15:04"), tilde(oneLine(t.CWD, 0), home),
				oneLine(orElse(orElse(t.Title, t.Prompt), "(no title)"), titleColumns), byteSize(t.Size), oneLine(t.ID, 60))
		}
		if out.width > 0 {
			rows.fit(out.width)
		}
		rows.write(out)
		return nil
	})
}
