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

// cli is treeline itself, in a home of its own.
// It is the binary and not the package: what people run is what is compared.
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

// lsRow is what the program says of a session, as far as the agents say it too.
type lsRow struct {
	Path, Dialect, Title, FirstPrompt string
	Messages                          int
}

// The cache is below the home, so that later folders find what earlier ones left there, as in life.
func (c *cli) ls(ctx context.Context) (rows []lsRow, err error) {
	cmd := exec.CommandContext(ctx, c.binary, "ls", "--all", "--json")
	cmd.Env = []string{"HOME=" + c.home, "PATH=" + os.Getenv("PATH")}
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	text, err := cmd.Output()
	// It complains of what is no session, and then the code is 1: the rows are there.
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, fmt.Errorf("treeline ls: %w\n%s", err, &complaints)
	}
	return rows, nil
}

// most is how many bytes of a prompt or a title `treeline ls` keeps, or one character less.
const most = 150

// compareLs compares `treeline ls` with the agent's list of all: count, first prompt and title of each session that both
// have and, where both go by the files' times, their order.
// Only what both mean the same by is compared; where we show something else on purpose, FORMATS.md says so.
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
	for _, r := range theirs {
		when[r.path()], _ = r.get("modified").(string)
	}
	last := ""
	for _, r := range rows {
		at := when[r.Path]
		if at == "" || !l.recents { // pi goes by what was said, and we by the file
			continue
		}
		if last != "" && at > last {
			wrong = append(wrong, fmt.Errorf("treeline ls: %s was used at %s and comes behind what was used at %s", r.Path, at, last))
		}
		last = at
	}
	for _, r := range theirs {
		mine, ok := ours[r.path()]
		if !ok {
			wrong = append(wrong, fmt.Errorf("treeline ls does not have %s", spell(r)))
			continue
		}
		first, _ := r.get("firstMessage").(string)
		name, _ := cmp.Or(r.get("name"), r.get("title")).(string)
		if first == "(no messages)" && mine.FirstPrompt == "" {
			first = ""
		}
		count, _ := r.get("messageCount").(float64)
		if text, err := os.ReadFile(r.path()); err == nil && l.recents && bytes.Contains(text, []byte(`"session_info"`)) {
			name = "" // of pi's making, which we show rather than a summary, and oh-my-pi never
		}
		// Without a name, or with one that nobody sees, we have others to show.
		if !begins(first, mine.FirstPrompt) || int(count) != mine.Messages || words(name) != "" && !begins(name, mine.Title) {
			wrong = append(wrong, fmt.Errorf("treeline ls: %s\n%s: %s", spell(mine), l.peer.name, spell(r)))
		}
	}
	return errors.Join(wrong...)
}

// begins says that shown is a text, or enough of its beginning. White space is not compared: names are shown on one line, as pi
// writes them, and blocks without text leave nothing between the others.
func begins(text, shown string) bool {
	text, shown = words(text), words(shown)
	return strings.HasPrefix(text, shown) && len(shown) >= min(len(text), most)
}

func words(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' }), " ")
}
