package finding

import (
	"bufio"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	"github.com/treeline-dev/treeline/history"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/wire"
	"golang.org/x/term"
)

// shells are the key bindings, by the shell's name.
//
//go:embed shell
var shells embed.FS

// ShellNames are the values of --shell-init.
var ShellNames = []string{"bash", "zsh", "fish"}

type historyFlags struct {
	cwd, db, shell string
	cli.LimitFlag
	where, print0, pick, rebuild bool
	anywhere                     bool
}

// History searches the prompts of all agents. The database has the form of oh-my-pi's, so that --db can read that
// one, too, without changing a file.
func History(a *cli.App) *cobra.Command {
	var f historyFlags
	cmd := &cobra.Command{
		Use:        "history [<word>…]",
		SuggestFor: []string{"prompts"},
		Short:      "Search your prompts",
		Long: "Search your prompts, newest first. Each word must be the beginning of a word in the prompt. Without words, list the\n" +
			"newest.\n\n" +
			"'treeline history import' fills treeline's own history from the sessions of all agents, and 'treeline history add'\n" +
			"adds a prompt. --db reads the history of an agent without changing it. Close the agent before you --rebuild a damaged\n" +
			"one.\n\n" +
			"To search for the words add or import, put -- before them. The exit code is 1 if nothing is found.\n\n" +
			"--shell-init prints a key binding for a shell: Ctrl-X Ctrl-R puts a prompt on the command line, quoted. It uses fzf if\n" +
			"that is installed, otherwise a numbered list (--pick).",
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
				_, err = a.Stdout.Write(text)
				return err
			case f.rebuild:
				return rebuildHistory(cmd.Context(), a, f)
			}
			return searchHistory(a, cmd, f, words)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().BoolVar(&f.anywhere, "anywhere", false, "match inside words too, for languages without spaces")
	cmd.Flags().StringVar(&f.cwd, "cwd", "", "only prompts from the directory `DIR`")
	f.LimitFlag.Add(cmd, "prompts")
	a.AddJSON(cmd)
	cmd.Flags().BoolVar(&f.where, "where", false, "show the sessions in which each prompt was used")
	cmd.Flags().BoolVar(&f.print0, "print0", false, "print the prompts unchanged, each followed by a NUL")
	cmd.Flags().BoolVar(&f.pick, "pick", false, "choose one by number and print it unchanged")
	cmd.Flags().BoolVar(&f.rebuild, "rebuild", false, "rename the history and build a new one from its readable part and the sessions")
	cmd.Flags().StringVar(&f.shell, "shell-init", "", "print a key binding for `SHELL`: "+cli.AnyOf(ShellNames))
	addHistoryDB(cmd, &f.db)
	cmd.AddCommand(historyAddCommand(a), historyImportCommand(a))
	return cmd
}

func addHistoryDB(cmd *cobra.Command, db *string) {
	cmd.Flags().StringVar(db, "db", "", "use an agent's history.db at `PATH` instead of treeline's own")
}

func (f *historyFlags) check(cmd *cobra.Command, words []string) error {
	ways := cli.Changed(cmd, "json", "where", "print0", "pick", "rebuild", "shell-init")
	switch {
	case len(ways) > 1:
		return cli.Misused("--%s and --%s cannot be combined", ways[0], ways[1])
	case cmd.Flags().Changed("shell-init") && !slices.Contains(ShellNames, f.shell):
		return cli.Invalid("shell-init", f.shell, cli.AnyOf(ShellNames))
	case (f.rebuild || f.shell != "") && len(words) > 0:
		return cli.Misused("--%s takes no words", ways[0])
	}
	return nil
}

// historyOptions choose the history. The store is read-only: sessions are never changed for a history.
func historyOptions(a *cli.App, db string) (history.Options, *console.Progress, error) {
	s, err := a.Store()
	if err == nil && a.KnownHome() == "" {
		err = treeline.ErrNoHome
	}
	show := a.Progress("reading")
	return history.Options{
		State: treeline.StateDir(a.Home(), a.Getenv), Cache: treeline.CacheDir(a.Home(), a.Getenv), DB: db, Sessions: s,
		Notice: a.Notice, Problem: a.Unread, Progress: show.At,
	}, show, err
}

// searchHistory searches prompts and prints them. Finding where they were used may require reading all sessions, so it does this only for
// the flags that need it.
func searchHistory(a *cli.App, cmd *cobra.Command, f historyFlags, words []string) error {
	ctx := cmd.Context()
	most, err := f.Most(a, cmd)
	if err != nil {
		return err
	}
	if f.pick && !f.Given {
		most = cli.ShownRows // the list is for a person, even if stdout is a pipe
	}
	opt, progress, err := historyOptions(a, f.db)
	if err != nil {
		return err
	}
	var places *history.Places
	if f.cwd != "" || f.where || a.JSON {
		places, err = history.OpenPlaces(ctx, opt)
		progress.Clear()
		if err != nil {
			return err
		}
		defer places.Close()
	}
	q := history.Query{Text: strings.Join(words, " "), Anywhere: f.anywhere, All: most == 0 || most >= history.MaxLimit}
	counted := max(most, cli.CountedRows)
	q.Limit = counted + 1
	if f.cwd != "" {
		if q.CWD, err = filepath.Abs(f.cwd); err != nil {
			return err
		}
		if q.Also, err = usedIn(ctx, places, q.CWD); err != nil {
			return err
		}
	}
	list, err := history.Search(ctx, opt, q)
	progress.Clear()
	missing := errors.Is(err, fs.ErrNotExist) && f.db == ""
	if err != nil && !missing {
		return historyError(f.db, err)
	}
	if f.pick && len(list) > 0 {
		return pick(ctx, a, cli.First(list, most))
	}
	err = a.PageLong(ctx, f.Given, func(out *console.Output) error {
		shown, found := cli.First(list, most), list
		if !q.All {
			found = cli.First(list, counted)
		}
		if err := printPrompts(ctx, a, out, f, shown, places); err != nil {
			return err
		}
		if !a.JSON && !f.print0 {
			out.Summary(len(shown), len(found), len(found) < len(list), "prompt", "prompts")
		}
		return nil
	})
	if err != nil || len(list) > 0 {
		return err
	}
	return noPrompts(a, f, strings.TrimSpace(q.Text) != "", missing)
}

// noPrompts says why there is nothing to show. As in search, it is an error only if words were not found.
func noPrompts(a *cli.App, f historyFlags, asked, missing bool) error {
	switch {
	case missing:
		a.Notice("there is no history yet; 'treeline history import' makes one from the sessions")
	case asked:
	case f.cwd != "":
		a.Notice("the history has no prompts from this directory")
	case f.db != "":
		a.Notice("the history is empty")
	default:
		a.Notice("the history is empty; 'treeline history import' fills it from the sessions")
	}
	switch {
	case asked:
		return errors.New("nothing found")
	case f.pick: // a key binding needs the exit code and no text
		return cli.Quiet("nothing to pick from")
	}
	return nil
}

// usedIn returns a function that reports whether a prompt was used in a directory. Some agents resolve symbolic links, so both names count.
func usedIn(ctx context.Context, places *history.Places, dir string) (func(history.Prompt) bool, error) {
	here, err := places.In(ctx, dir)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || real == dir { // the directory need not exist
		return here, nil
	}
	there, err := places.In(ctx, real)
	return func(p history.Prompt) bool { return p.CWD == real || here(p) || there(p) }, err
}

// historyError adds advice to the error for a damaged history of an agent. Treeline's own history is rebuilt automatically.
func historyError(db string, err error) error {
	switch {
	case db == "":
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: no such file", db)
	case errors.Is(err, history.ErrDamaged):
		return fmt.Errorf("%w; nothing was changed. 'treeline history --rebuild --db %s' renames it and makes a new one", err, db)
	}
	return err
}

// rebuildHistory renames the old file and copies what can be read from it into a new one.
func rebuildHistory(ctx context.Context, a *cli.App, f historyFlags) error {
	opt, progress, err := historyOptions(a, f.db)
	if err != nil {
		return err
	}
	report, err := history.Rebuild(ctx, opt)
	progress.Clear()
	if err != nil {
		return historyError(f.db, err)
	}
	return printImport(a, report)
}

// printPrompts prints prompts in the form that the flags select.
func printPrompts(ctx context.Context, a *cli.App, out *console.Output, f historyFlags, list []history.Prompt, places *history.Places) error {
	switch {
	case a.JSON:
		return promptsJSON(ctx, out, list, places)
	case f.print0:
		for _, p := range list {
			text := strings.ReplaceAll(p.Text, "\x00", "") // NUL separates prompts
			if out.Width > 0 {
				text = screen.Clean(text)
			}
			out.WriteString(text)
			out.WriteByte(0)
		}
		return nil
	case f.where:
		return promptPlaces(ctx, a, out, list, places)
	}
	if len(list) > 0 {
		promptTable(a, out, list)
	}
	return nil
}

// promptTable prints one line per prompt; in a pipe, with the whole prompt.
func promptTable(a *cli.App, out *console.Output, list []history.Prompt) {
	st := out.Style
	t := console.Table{
		{Name: "WHEN", Mark: st.Cyan, Drop: 2}, {Name: "PROJECT", Path: true, Least: console.LeastProject, Drop: 1},
		{Name: "PROMPT", Least: console.LeastTitle},
	}
	for _, p := range list {
		t.Add(out.When(p.At), console.Folder(p.CWD, a.Tilde()), screen.OneLine(p.Text, out.Width))
	}
	t.Write(out)
}

// mostPlaces is the largest number of places of a prompt: one such as "go on" may have thousands.
const mostPlaces = 100

// promptPlaces prints each prompt followed by the entries where it was used. A prompt without a known place has the time and directory of
// the history.
func promptPlaces(ctx context.Context, a *cli.App, out *console.Output, list []history.Prompt, places *history.Places) error {
	st := out.Style
	for _, p := range list {
		fmt.Fprintln(out, st.Bold(screen.OneLine(p.Text, out.Width)))
		uses, err := places.Of(ctx, p.Text, mostPlaces)
		if err != nil {
			return err
		}
		for _, u := range uses {
			console.Table{
				{Mark: st.Cyan, Drop: 3}, {Mark: st.Dim, Drop: 1}, {Mark: st.Yellow}, {Path: true, Least: console.LeastProject, Drop: 2},
			}.Line(out, "    ", out.When(u.At), screen.OneLine(u.Dialect, 0),
				screen.OneLine(string(u.Session)+"#"+string(u.Entry), 0), console.Folder(u.CWD, a.Tilde()))
		}
		if len(uses) == 0 {
			console.Table{{Mark: st.Cyan, Drop: 1}, {Path: true, Least: console.LeastProject}}.Line(out, "    ",
				out.When(p.At), console.Folder(p.CWD, a.Tilde()))
		}
	}
	return nil
}

func promptsJSON(ctx context.Context, out *console.Output, list []history.Prompt, places *history.Places) error {
	return wire.WriteList(out, len(list), func(i int) (wire.Prompt, error) {
		p := wire.NewPrompt(list[i].ID, list[i].Text, list[i].CWD, list[i].At)
		uses, err := places.Of(ctx, list[i].Text, mostPlaces)
		for _, u := range uses {
			p.Used(wire.Use{Session: u.Session, Entry: u.Entry, Dialect: u.Dialect, Path: u.Path, CWD: u.CWD}, u.At)
		}
		return p, err
	})
}

// pick prints a numbered list on stderr, reads a number from stdin and prints only that prompt on stdout, for a key binding.
func pick(ctx context.Context, a *cli.App, list []history.Prompt) error {
	width, _ := console.Width(a.Stderr)
	if width == 0 {
		width = 80
	}
	digits := len(strconv.Itoa(len(list)))
	for i := len(list) - 1; i >= 0; i-- { // the newest is next to the question
		fmt.Fprintf(a.Stderr, "%*d  %s\n", digits, i+1, screen.OneLine(list[i].Text, width-digits-2))
	}
	line := strings.TrimSpace(askLine(a, fmt.Sprintf("1 to %d, or nothing: ", len(list))))
	if line == "" || ctx.Err() != nil {
		return cli.Quiet("nothing was picked")
	}
	n, err := strconv.Atoi(line)
	if err != nil || n < 1 || n > len(list) {
		return fmt.Errorf("%q is not a number from 1 to %d", line, len(list))
	}
	_, err = fmt.Fprintln(a.Stdout, strings.ReplaceAll(list[n-1].Text, "\x00", ""))
	return err
}

// askLine asks for a line; at the end of the input, the line is empty. While a key binding runs, the shell has set a terminal mode of its
// own, without echo and line editing, so the mode is changed here.
func askLine(a *cli.App, question string) string {
	f, ok := a.Stdin.(*os.File)
	if ok && term.IsTerminal(int(f.Fd())) {
		if before, err := term.MakeRaw(int(f.Fd())); err == nil {
			defer term.Restore(int(f.Fd()), before)
			line, _ := term.NewTerminal(struct {
				io.Reader
				io.Writer
			}{f, a.Stderr}, question).ReadLine()
			return line
		}
	}
	fmt.Fprint(a.Stderr, question)
	line, _ := bufio.NewReader(a.Stdin).ReadString('\n')
	return line
}
