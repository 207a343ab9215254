package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

func (a *app) lsCommand() *cobra.Command {
	var (
		f    sessionFlags
		cwd  string
		root string
		all  bool
	)
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List sessions",
		Long: "List the sessions of this directory, or of all with --all, newest first. Only the two ends of each file are read:\n" +
			"the number of messages is ? where that is not enough.",
		Example: "  treeline ls\n  treeline ls --all --json | jq -r '.[].path'\n  treeline ls --cwd ~/src/app\n  treeline ls --all --root /backup/.omp/agent",
		Args:    args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if all && cwd != "" {
				return usageError{fmt.Errorf("--all and --cwd contradict each other"), cmd}
			}
			dir, err := a.listDir(cwd, all)
			if err != nil {
				return err
			}
			var roots []string
			if root != "" {
				if err := mustBeDir(root); err != nil {
					return err
				}
				roots = append(roots, root)
			}
			s, err := a.store(roots...)
			if err != nil {
				return err
			}
			opt, err := openOptions(s, cmd, f)
			if err != nil {
				return err
			}
			return a.ls(cmd.Context(), s, store.ListOptions{CWD: dir, Dialect: opt.Dialect}, f.json)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&cwd, "cwd", "", "list the sessions of the directory `DIR` instead of this one")
	cmd.Flags().StringVar(&root, "root", "", "look in the folder `DIR` instead of the agents' own")
	cmd.Flags().BoolVarP(&all, "all", "a", false, "list the sessions of all directories")
	return cmd
}

// listDir is the directory whose sessions are wanted, "" for all. It need not exist any more.
func (a *app) listDir(cwd string, all bool) (string, error) {
	if all {
		return "", nil
	}
	if cwd == "" {
		env, err := a.env()
		return env.WorkDir, err
	}
	return filepath.Abs(cwd)
}

func mustBeDir(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return atPath(path, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s: not a folder", path)
	}
	return nil
}

func (a *app) ls(ctx context.Context, s *store.Store, opt store.ListOptions, asJSON bool) error {
	opt.Problem = func(err error) { fmt.Fprintf(a.stderr, "treeline: %s\n", clean(err.Error())) }
	// A list is made of very many small pieces that nearly all stay: looking for garbage among them is lost time. Memory
	// that is never touched costs nothing and puts the first collection off until a list is really large.
	ballast := make([]byte, 64<<20)
	defer runtime.KeepAlive(ballast)
	rows, err := s.List(ctx, opt)
	if err != nil {
		return err
	}
	var bad []string
	for i := range rows {
		if rows[i].Err != nil {
			bad = append(bad, rows[i].Path)
		}
	}
	good := rows
	if len(bad) > 0 {
		good = slices.DeleteFunc(rows, func(r store.Row) bool { return r.Err != nil })
	}
	width, _ := terminalWidth(a.stdout)
	err = a.print(ctx, a.stdout, width, func(_ context.Context, out *output) error {
		if asJSON {
			return listJSON(out.Writer, good)
		}
		a.listTable(out, good)
		return nil
	})
	a.notListed(opt, len(good), bad)
	return err
}

// notListed tells of files that are no sessions, and why a list is empty.
func (a *app) notListed(opt store.ListOptions, listed int, bad []string) {
	if len(bad) > 0 {
		more := ""
		if len(bad) > 1 {
			more = ", " + ellipsis
		}
		fmt.Fprintf(a.stderr, "treeline: no session in %s, which 'treeline check' explains: %s%s\n",
			counted(len(bad), "file", "files"), clean(bad[0]), more)
	}
	switch {
	case listed > 0:
	case opt.CWD != "":
		fmt.Fprintf(a.stderr, "treeline: no sessions for %s; --all lists every directory\n", clean(opt.CWD))
	default:
		fmt.Fprintf(a.stderr, "treeline: no sessions found\n")
	}
}

// rowJSON is a session in a list for programs.
type rowJSON struct {
	ID          session.ID `json:"id"`
	Dialect     string     `json:"dialect"`
	Path        string     `json:"path"`
	CWD         string     `json:"cwd"`
	Title       string     `json:"title"`
	FirstPrompt string     `json:"firstPrompt"`
	Messages    *int       `json:"messages"`
	Size        int64      `json:"size"`
	Modified    string     `json:"modified"`
	Created     *string    `json:"created"`
	Parent      string     `json:"parentSession,omitempty"`
}

func listJSON(w *bufio.Writer, rows []store.Row) error {
	list := arrayWriter{w: w}
	for i := range rows {
		r := &rows[i]
		j := rowJSON{
			ID: r.ID, Dialect: r.Dialect.Name(), Path: r.Path, CWD: r.CWD, Title: r.Title, FirstPrompt: r.Prompt, Size: r.Log.Size,
			Modified: r.Log.Time.UTC().Format("2006-01-02T15:04:05.000Z"), Created: utc(r.Created), Parent: r.Parent,
		}
		if r.Messages >= 0 {
			j.Messages = &r.Messages
		}
		if err := list.add(j); err != nil {
			return err
		}
	}
	return list.end()
}

// listTable prints the rows for people. The title takes what is left of the line.
func (a *app) listTable(out *output, rows []store.Row) {
	if len(rows) == 0 {
		return
	}
	st := out.style
	home := a.home()
	now := time.Now()
	t := table{
		{name: "WHEN", mark: st.cyan}, {name: "PROJECT", mark: same}, {name: "TITLE", mark: same}, {name: "MSGS", right: true, mark: same},
		{name: "SIZE", right: true, mark: same}, {name: "DIALECT", mark: st.dim}, {name: "ID", mark: st.yellow},
	}
	t.grow(len(rows))
	for i := range rows {
		r := &rows[i]
		when := r.When().Local().Format("2006-01-02 15:04")
		if out.width > 0 {
			when = ago(r.When().Local(), now)
		}
		messages := "?"
		if r.Messages >= 0 {
			messages = strconv.Itoa(r.Messages)
		}
		t.add(when, orElse(tilde(oneLine(r.CWD, 0), home), "-"), rowTitle(r), messages, byteSize(r.Log.Size), r.Dialect.Name(),
			orElse(oneLine(r.Short, 40), "-"))
	}
	if out.width > 0 {
		t.fit(out.width)
	}
	t.write(out)
}

// titleColumns is how much of a prompt a list shows at most: it may be a whole file.
const titleColumns = 120

// rowTitle is what a session is called: its title, or what was asked first.
func rowTitle(r *store.Row) string {
	switch {
	case strings.TrimSpace(r.Title) != "":
		return oneLine(r.Title, titleColumns)
	case strings.TrimSpace(r.Prompt) != "":
		return oneLine(r.Prompt, titleColumns)
	case r.Log.Size == 0:
		return "(empty file)"
	case r.Messages == 0:
		return "(no messages)"
	}
	return "(no title)"
}
