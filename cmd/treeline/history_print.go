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
	"time"

	"github.com/treeline-dev/treeline/history"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
	"golang.org/x/term"
)

// printPrompts shows prompts in the way that was asked for.
func (a *app) printPrompts(ctx context.Context, out *output, f historyFlags, list []history.Prompt, places *history.Places) error {
	switch {
	case f.json:
		return promptsJSON(ctx, out, list, places)
	case f.print0:
		for _, p := range list {
			// NUL is what separates prompts here, and no prompt needs one
			text := strings.ReplaceAll(p.Text, "\x00", "") // it would end the prompt
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

// promptTable prints a line for each prompt. In a pipe it is the whole prompt.
// A width of 0, in a pipe, cuts nothing.
func (a *app) promptTable(out *output, list []history.Prompt) {
	st := out.style
	t := table{
		{name: "WHEN", mark: st.cyan, drop: 2}, {name: "PROJECT", path: true, mark: same, least: leastProject, drop: 1},
		{name: "PROMPT", mark: same, least: leastTitle},
	}
	t.grow(len(list))
	for _, p := range list {
		t.add(out.when(p.At), orElse(tilde(screen.OneLine(p.CWD, 0), a.home()), "-"), screen.OneLine(p.Text, out.width))
	}
	if out.width > 0 {
		t = t.fit(out.width)
	}
	t.write(out)
}

// when is a moment as people say it, on a terminal; in a pipe it does not depend on when it is read.
func (o *output) when(t time.Time) string {
	if o.width > 0 {
		return ago(t.Local(), time.Now())
	}
	return t.Local().Format("2006-01-02 15:04")
}

// mostPlaces is how many places of a prompt are shown.
// A prompt like "go on" may have been used thousands of times.
const mostPlaces = 100

// promptPlaces prints each prompt with the places where it was used below it, in the words that 'show' takes.
// A prompt without a known place is shown with what the history itself says.
func (a *app) promptPlaces(ctx context.Context, out *output, list []history.Prompt, places *history.Places) error {
	st := out.style
	for _, p := range list {
		fmt.Fprintln(out, st.bold(screen.OneLine(p.Text, out.width)))
		uses, err := places.Of(ctx, p.Text, mostPlaces)
		if err != nil {
			return err
		}
		for _, u := range uses {
			writeWords(out, "    ", []word{
				{text: out.when(u.At), mark: st.cyan, drop: 3},
				{text: screen.OneLine(u.Dialect, 0), mark: st.dim, drop: 1},
				{text: screen.OneLine(string(u.Session)+"#"+string(u.Entry), 0), mark: st.yellow},
				{text: orElse(tilde(screen.OneLine(u.CWD, 0), a.home()), "-"), path: true, mark: same, least: leastProject, drop: 2},
			})
		}
		if len(uses) == 0 {
			writeWords(out, "    ", []word{
				{text: out.when(p.At), mark: st.cyan, drop: 1},
				{text: orElse(tilde(screen.OneLine(p.CWD, 0), a.home()), "-"), path: true, mark: same, least: leastProject},
			})
		}
	}
	return nil
}

// promptJSON is a prompt for programs.
// It is a stable format: cwd is null where the history has none, uses is empty where no session is known. Times
// are UTC, to the second, as the database has them.
type promptJSON struct {
	ID     int64     `json:"id"`
	Prompt string    `json:"prompt"`
	CWD    *string   `json:"cwd"`
	At     string    `json:"at"`
	Uses   []useJSON `json:"uses"`
}

// useJSON is one place where a prompt was used: session#entry is what 'show' takes.
type useJSON struct {
	Session session.ID      `json:"session"`
	Entry   session.EntryID `json:"entry"`
	Dialect string          `json:"dialect"`
	Path    string          `json:"path"`
	CWD     string          `json:"cwd"`
	At      string          `json:"at"`
}

func promptsJSON(ctx context.Context, out *output, list []history.Prompt, places *history.Places) error {
	const iso = "2006-01-02T15:04:05Z"
	w := arrayWriter{w: out.Writer}
	for _, p := range list {
		j := promptJSON{ID: p.ID, Prompt: p.Text, At: p.At.UTC().Format(iso), Uses: []useJSON{}}
		if p.CWD != "" {
			j.CWD = &p.CWD
		}
		uses, err := places.Of(ctx, p.Text, mostPlaces)
		if err != nil {
			return err
		}
		for _, u := range uses {
			j.Uses = append(j.Uses, useJSON{u.Session, u.Entry, u.Dialect, u.Path, u.CWD, u.At.UTC().Format(iso)})
		}
		if err := w.add(j); err != nil {
			return err
		}
	}
	return w.end()
}

// pick shows a numbered list on stderr, reads a number from stdin, and prints the prompt as it is, for a key binding.
// What is picked goes to stdout alone, so that a key binding can put it on the command line; everything else is on
// stderr.
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

// askLine asks for a line. A key binding runs us while the shell has the terminal in a state of its own, in which a line never
// ends and nothing is seen: so we set it ourselves. The end of the input is an answer too, an empty one.
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
