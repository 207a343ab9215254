package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"unicode"
)

// cli is the program treeline, with a home of its own.
type cli struct {
	binary, home string
}

// newCLI builds the program.
func newCLI(ctx context.Context, work, home string) (*cli, error) {
	binary := filepath.Join(work, "treeline")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/treeline-dev/treeline/cmd/treeline").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("treeline cannot be built: %w\n%s", err, out)
	}
	return &cli{binary, home}, nil
}

// lsRow has the members of a session in ls that the agents show as well.
type lsRow struct {
	Path, Dialect, Title, Prompt string
	Messages                     int
}

// ls runs with the cache that earlier folders left.
func (c *cli) ls(ctx context.Context) (rows []lsRow, err error) {
	cmd := exec.CommandContext(ctx, c.binary, "ls", "--all", "--json")
	cmd.Env = []string{"HOME=" + c.home, "PATH=" + os.Getenv("PATH")}
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	text, err := cmd.Output()
	// Exit code 1 means that some files are not sessions. The rows are printed all the same.
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, fmt.Errorf("treeline ls: %w\n%s", err, &complaints)
	}
	return rows, nil
}

// most is the number of bytes that `treeline ls` keeps of a prompt or a title, or one character less.
const most = 150

// compareLs compares `treeline ls` with the agent's list of all sessions: count, first prompt and title of each, and the order if
// both sort by the times of the files. FORMATS.md has the intended differences.
func (l *lister) compareLs(ctx context.Context) error {
	var theirs []row
	if err := l.peer.ask(command{Op: "listAll"}, &theirs); err != nil {
		return err
	}
	rows, err := l.cli.ls(ctx)
	if err != nil {
		return err
	}
	ours := map[string]lsRow{}
	for _, r := range rows {
		ours[r.Path] = r
	}
	var wrong []error
	when := map[string]string{}
	if l.recents { // pi sorts by the last message, and this library by the file
		for _, r := range theirs {
			when[r.path()], _ = r.get("modified").(string)
		}
	}
	last := ""
	for _, r := range rows {
		at := when[r.Path]
		if last != "" && at > last {
			wrong = append(wrong, fmt.Errorf("treeline ls: %s was used at %s and comes after one that was used at %s", r.Path, at, last))
		}
		last = cmp.Or(at, last)
	}
	for _, r := range theirs {
		mine, ok := ours[r.path()]
		if !ok {
			wrong = append(wrong, fmt.Errorf("treeline ls does not have %s", spell(r)))
			continue
		}
		first, _ := r.get("firstMessage").(string)
		name, _ := cmp.Or(r.get("name"), r.get("title")).(string)
		if first == "(no messages)" && mine.Prompt == "" {
			first = ""
		}
		count, _ := r.get("messageCount").(float64)
		if text, err := os.ReadFile(r.path()); err == nil && l.recents && bytes.Contains(text, []byte(`"session_info"`)) {
			name = "" // this library prefers a name that pi gave to a summary, and oh-my-pi never shows it
		}
		// A session without a visible name has another title in treeline.
		if !begins(first, mine.Prompt) || int(count) != mine.Messages || words(name) != "" && !begins(name, mine.Title) {
			wrong = append(wrong, fmt.Errorf("treeline ls: %s\n%s: %s", spell(mine), l.peer.name, spell(r)))
		}
	}
	return errors.Join(wrong...)
}

// begins reports whether shown is the text or a long enough prefix of it. White space is not compared: names are shown on one
// line, and blocks without text leave no space.
func begins(text, shown string) bool {
	text, shown = words(text), words(shown)
	return strings.HasPrefix(text, shown) && len(shown) >= min(len(text), most)
}

func words(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' }), " ")
}
