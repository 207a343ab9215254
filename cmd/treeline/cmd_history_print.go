package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/treeline-dev/treeline/history"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/wire"
	"golang.org/x/term"
)

// printPrompts prints prompts in the form of the flags.
func (a *app) printPrompts(ctx context.Context, out *output, f historyFlags, list []history.Prompt, places *history.Places) error {
	switch {
	case a.json:
		return promptsJSON(ctx, out, list, places)
	case f.print0:
		for _, p := range list {
			text := strings.ReplaceAll(p.Text, "\x00", "") // NUL separates prompts
			if out.width > 0 {
				text = screen.Clean(text)
			}
			out.WriteString(text)
			out.WriteByte(0)
		}
		return nil
	case f.where:
		return a.promptPlaces(ctx, out, list, places)
	}
	if len(list) > 0 {
		a.promptTable(out, list)
	}
	return nil
}

// promptTable prints a line for each prompt, in a pipe with the whole prompt.
func (a *app) promptTable(out *output, list []history.Prompt) {
	st := out.style
	t := table{
		{name: "WHEN", mark: st.cyan, drop: 2}, {name: "PROJECT", path: true, mark: same, least: leastProject, drop: 1},
		{name: "PROMPT", mark: same, least: leastTitle},
	}
	t.grow(len(list))
	for _, p := range list {
		t.add(out.when(p.At), folder(p.CWD, a.home()), screen.OneLine(p.Text, out.width))
	}
	t.write(out)
}

// mostPlaces limits the places of a prompt: one like "go on" may have thousands.
const mostPlaces = 100

// promptPlaces prints each prompt and, below it, the entries where it was used. A prompt without a known place has the
// time and directory of the history.
func (a *app) promptPlaces(ctx context.Context, out *output, list []history.Prompt, places *history.Places) error {
	st := out.style
	for _, p := range list {
		fmt.Fprintln(out, st.bold(screen.OneLine(p.Text, out.width)))
		uses, err := places.Of(ctx, p.Text, mostPlaces)
		if err != nil {
			return err
		}
		for _, u := range uses {
			table{
				{mark: st.cyan, drop: 3}, {mark: st.dim, drop: 1}, {mark: st.yellow}, {path: true, mark: same, least: leastProject, drop: 2},
			}.line(out, "    ", out.when(u.At), screen.OneLine(u.Dialect, 0),
				screen.OneLine(string(u.Session)+"#"+string(u.Entry), 0), folder(u.CWD, a.home()))
		}
		if len(uses) == 0 {
			table{{mark: st.cyan, drop: 1}, {path: true, mark: same, least: leastProject}}.line(out, "    ", out.when(p.At), folder(p.CWD, a.home()))
		}
	}
	return nil
}

func promptsJSON(ctx context.Context, out *output, list []history.Prompt, places *history.Places) error {
	const iso = "2006-01-02T15:04:05Z"
	return wire.WriteList(out, len(list), func(i int) (wire.Prompt, error) {
		p := list[i]
		j := wire.Prompt{ID: p.ID, Prompt: p.Text, At: p.At.UTC().Format(iso), Uses: []wire.Use{}}
		if p.CWD != "" {
			j.CWD = &p.CWD
		}
		uses, err := places.Of(ctx, p.Text, mostPlaces)
		for _, u := range uses {
			j.Uses = append(j.Uses, wire.Use{Session: u.Session, Entry: u.Entry, Dialect: u.Dialect, Path: u.Path, CWD: u.CWD, At: u.At.UTC().Format(iso)})
		}
		return j, err
	})
}

// pick prints a numbered list on stderr, reads a number from stdin and prints only that prompt on stdout, for a key
// binding.
func (a *app) pick(ctx context.Context, list []history.Prompt) error {
	width, _ := terminalWidth(a.stderr)
	if width == 0 {
		width = 80
	}
	digits := len(strconv.Itoa(len(list)))
	for i := len(list) - 1; i >= 0; i-- { // the newest next to the question
		fmt.Fprintf(a.stderr, "%*d  %s\n", digits, i+1, screen.OneLine(list[i].Text, width-digits-2))
	}
	line := strings.TrimSpace(a.askLine(fmt.Sprintf("1 to %d, or nothing: ", len(list))))
	if line == "" || ctx.Err() != nil {
		return quietError{errors.New("nothing was picked")}
	}
	n, err := strconv.Atoi(line)
	if err != nil || n < 1 || n > len(list) {
		return fmt.Errorf("%q is not a number from 1 to %d", line, len(list))
	}
	_, err = fmt.Fprintln(a.stdout, strings.ReplaceAll(list[n-1].Text, "\x00", ""))
	return err
}

// askLine asks for a line; the end of the input is an empty one. A key binding runs while the shell has its own terminal
// mode, without echo and line editing, so that the mode is set here.
func (a *app) askLine(question string) string {
	f, ok := a.stdin.(*os.File)
	if ok && term.IsTerminal(int(f.Fd())) {
		if before, err := term.MakeRaw(int(f.Fd())); err == nil {
			defer term.Restore(int(f.Fd()), before)
			line, _ := term.NewTerminal(struct {
				io.Reader
				io.Writer
			}{f, a.stderr}, question).ReadLine()
			return line
		}
	}
	fmt.Fprint(a.stderr, question)
	line, _ := bufio.NewReader(a.stdin).ReadString('\n')
	return line
}
