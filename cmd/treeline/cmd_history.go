package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/history"
)

// shells are the key bindings, by the shell's name.
//
//go:embed shell
var shells embed.FS

var shellNames = []string{"bash", "zsh", "fish"}

// historyFlags are those of the history itself.
type historyFlags struct {
	cwd, db, shell                     string
	limit                              int
	json, where, print0, pick, rebuild bool
	anywhere                           bool
}

// historyCommand is the prompt history of all agents in one. Its database has the form of oh-my-pi's, so --db
// works on that one as well; there nothing is changed by looking, also not the files that SQLite puts beside.
func (a *app) historyCommand() *cobra.Command {
	var f historyFlags
	cmd := &cobra.Command{
		Use:   "history [word…]",
		Short: "Find what you typed",
		Long: "Find prompts, newest first: every word must be the beginning of a word of the prompt. Without words the newest are listed.\n\n" +
			"treeline's own history is filled by 'treeline history import', from the sessions of all agents, and by 'treeline history add'.\n" +
			"--db looks into that of an agent, without leaving a trace. Where it is damaged, end the agent before you --rebuild it.\n\n" +
			"To look for the words add or import, write -- before them. The exit code is 1 where the words are not found.\n\n" +
			"--shell-init prints a key binding for a shell: Ctrl-X Ctrl-R puts a prompt on the command line, quoted. It uses fzf where there\n" +
			"is one, and a numbered list (--pick) otherwise.",
		Example: "  treeline history parser test\n  treeline history --cwd . --where\n  treeline history --db ~/.omp/agent/history.db --json\n" +
			"  eval \"$(treeline history --shell-init bash)\"",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, words []string) error {
			if err := f.check(cmd, words); err != nil {
				return err
			}
			switch {
			case f.shell != "":
				text, err := shells.ReadFile("shell/" + f.shell)
				if err != nil {
					return err
				}
				_, err = a.stdout.Write(text)
				return err
			case f.rebuild:
				return a.rebuildHistory(cmd.Context(), f)
			}
			return a.history(cmd.Context(), f, words)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().BoolVar(&f.anywhere, "anywhere", false, "the words may stand inside of words too: for languages without spaces")
	cmd.Flags().StringVar(&f.cwd, "cwd", "", "only what was typed in the directory `DIR`")
	cmd.Flags().IntVarP(&f.limit, "limit", "n", 50, "no more than `N` prompts; 1,000 is the most")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	cmd.Flags().BoolVar(&f.where, "where", false, "show in which sessions each prompt was used")
	cmd.Flags().BoolVar(&f.print0, "print0", false, "print the prompts as they are, each with a NUL behind it")
	cmd.Flags().BoolVar(&f.pick, "pick", false, "ask for one of them, by its number, and print it as it is")
	cmd.Flags().BoolVar(&f.rebuild, "rebuild", false, "move the history aside, and make a new one of what can be read of it and of the sessions")
	cmd.Flags().StringVar(&f.shell, "shell-init", "", "print a key binding for `SHELL`: "+anyOf(shellNames))
	addHistoryDB(cmd, &f.db)
	_ = cmd.RegisterFlagCompletionFunc("shell-init", cobra.FixedCompletions(shellNames, cobra.ShellCompDirectiveNoFileComp))
	cmd.AddCommand(a.historyAddCommand(), a.historyImportCommand())
	return cmd
}

func addHistoryDB(cmd *cobra.Command, db *string) {
	cmd.Flags().StringVar(db, "db", "", "use the history.db of an agent, the file `PATH`, instead of treeline's own")
}

// check refuses what makes no sense together.
// The ways to print exclude each other; which one was meant cannot be told.
func (f *historyFlags) check(cmd *cobra.Command, words []string) error {
	changed := cmd.Flags().Changed
	var ways []string
	for _, name := range []string{"json", "where", "print0", "pick", "rebuild", "shell-init"} {
		if changed(name) {
			ways = append(ways, name)
		}
	}
	switch {
	case len(ways) > 1:
		return usageError{fmt.Errorf("--%s and --%s contradict each other", ways[0], ways[1]), cmd}
	case changed("shell-init") && !slices.Contains(shellNames, f.shell):
		return usageError{fmt.Errorf("--shell-init %q: it is %s", f.shell, anyOf(shellNames)), cmd}
	case (f.rebuild || f.shell != "") && len(words) > 0:
		return usageError{fmt.Errorf("--%s takes no words", ways[0]), cmd}
	case f.limit < 1:
		return usageError{fmt.Errorf("--limit %d: it is from 1 to 1000", f.limit), cmd}
	}
	if err := noneEmpty(cmd); err != nil {
		return usageError{err, cmd}
	}
	return nil
}

// historyOptions say which history is meant.
// The store is for reading, also for import: sessions are never changed for a history.
func (a *app) historyOptions(db string) (history.Options, error) {
	s, err := a.store()
	return history.Options{
		State: treeline.StateDir(a.home(), a.getenv), Cache: treeline.CacheDir(a.home(), a.getenv), DB: db, Sessions: s,
		Notice: a.notice,
	}, err
}

// history finds prompts and shows them.
func (a *app) history(ctx context.Context, f historyFlags, words []string) error {
	opt, err := a.historyOptions(f.db)
	if err != nil {
		return err
	}
	progress := a.newProgress("reading", 0)
	opt.Progress = progress.of
	var places *history.Places
	// Where each prompt was used is in a file of the cache, which may have to be made by reading all sessions. A
	// plain list must not wait for that.
	if f.cwd != "" || f.where || f.json { // nobody else waits for them where they have to be collected
		places, err = history.OpenPlaces(ctx, opt)
		progress.clear()
		if err != nil {
			return err
		}
		defer places.Close()
	}
	q := history.Query{Text: strings.Join(words, " "), Anywhere: f.anywhere, Limit: f.limit}
	if f.cwd != "" {
		if q.CWD, err = filepath.Abs(f.cwd); err != nil {
			return err
		}
		if q.Also, err = usedIn(ctx, places, q.CWD); err != nil {
			return err
		}
	}
	list, err := history.Search(ctx, opt, q)
	progress.clear()
	missing := errors.Is(err, fs.ErrNotExist) && f.db == ""
	if err != nil && !missing {
		return historyError(f.db, err)
	}
	if f.pick && len(list) > 0 {
		return a.pick(ctx, list)
	}
	width, _ := terminalWidth(a.stdout)
	err = a.print(ctx, a.stdout, width, func(ctx context.Context, out *output) error {
		return a.printPrompts(ctx, out, f, list, places)
	})
	if err != nil || len(list) > 0 {
		return err
	}
	return a.noPrompts(f, strings.TrimSpace(q.Text) != "", missing)
}

// noPrompts explains why there is nothing to show: the history is missing, it is empty, or words were asked for that
// it does not have. Only the last is a problem, as it is for search: an empty history is where everyone begins.
func (a *app) noPrompts(f historyFlags, asked, missing bool) error {
	switch {
	case missing:
		a.notice("there is no history yet; 'treeline history import' makes one of the sessions")
	case asked:
	case f.cwd != "":
		a.notice("the history has nothing that was typed in this directory")
	case f.db != "":
		a.notice("the history is empty")
	default:
		a.notice("the history is empty; 'treeline history import' fills it from the sessions")
	}
	switch {
	case asked:
		return errors.New("nothing found")
	case f.pick: // a key binding must see that there is nothing, and puts no error into the prompt
		return quietError{errors.New("nothing to pick from")}
	}
	return nil
}

// usedIn says which prompts were used in a directory, under whichever of its names.
// Agents resolve links in a directory's name or do not, each in its own way, so both names count.
func usedIn(ctx context.Context, places *history.Places, dir string) (func(history.Prompt) bool, error) {
	here, err := places.In(ctx, dir)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || real == dir { // it need not exist any more
		return here, nil
	}
	there, err := places.In(ctx, real)
	return func(p history.Prompt) bool { return p.CWD == real || here(p) || there(p) }, err
}

// historyError says what is wrong with a history, and for an agent's what can be done about it.
// A damaged history of our own is rebuilt without asking, since all of it can be made again; an agent's is the
// agent's.
func historyError(db string, err error) error {
	switch {
	case db == "":
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: no such file", db)
	case errors.Is(err, history.ErrDamaged):
		return fmt.Errorf("%w; nothing was changed: 'treeline history --rebuild --db %s' moves it aside and makes a new one", err, db)
	}
	return err
}

// rebuildHistory keeps the old file: what can be read of it goes into the new one, and the file itself is moved
// aside.
func (a *app) rebuildHistory(ctx context.Context, f historyFlags) error {
	opt, err := a.historyOptions(f.db)
	if err != nil {
		return err
	}
	progress := a.newProgress("reading", 0)
	opt.Progress = progress.of
	report, err := history.Rebuild(ctx, opt)
	progress.clear()
	if err != nil {
		return historyError(f.db, err)
	}
	return a.printImport(ctx, report, false)
}
