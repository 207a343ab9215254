// Package console is how a command reads and writes: its streams, a pager, colours, tables and progress, on a terminal and in a pipe. It
// knows the text and the JSON forms of package wire, but neither commands nor sessions.
package console

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/wire"
	"golang.org/x/term"
)

// A Console has the streams of a command line, and options for writing to them.
type Console struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Clock          func() time.Time // nil means the machine's clock
	Columns        int              // width for output; 0 means that of the terminal

	JSON    bool   // --json
	Color   string // --color
	NoPager bool   // --no-pager

	// Progress is shown after ProgressAfter and then every ProgressEvery. Tests set both to zero.
	ProgressAfter, ProgressEvery time.Duration
	showing                      *Progress // on the terminal's last line; nil means none

	paging atomic.Bool // a pager has the terminal
}

// Say prints one result: as JSON with --json, otherwise as a line.
func (c *Console) Say(v any, line string) error {
	if c.JSON {
		return wire.Write(c.Stdout, v)
	}
	_, err := fmt.Fprintln(c.Stdout, screen.Clean(line))
	return err
}

// Notice prints something that does not fail the command.
func (c *Console) Notice(text string) {
	c.Report(wire.Message{Notice: &wire.Notice{Message: text}}, text)
}

// Report prints a line on stderr: JSON with --json, otherwise text.
func (c *Console) Report(m wire.Message, text string) {
	if c.showing != nil {
		c.showing.Clear() // the next step shows it again
	}
	if c.JSON {
		_ = wire.Write(c.Stderr, m) // there is no other place to report an error
		return
	}
	fmt.Fprintf(c.Stderr, "treeline: %s\n", screen.Clean(text))
}

// Now returns the time of the command.
func (c *Console) Now() time.Time {
	if c.Clock != nil {
		return c.Clock()
	}
	return time.Now()
}

// HasTerminal reports whether standard input and output are a terminal.
func (c *Console) HasTerminal() bool {
	out, ok := c.Stdout.(*os.File)
	return ok && c.Interactive() && term.IsTerminal(int(out.Fd())) && c.Getenv("TERM") != "dumb"
}

// Interactive reports whether stdin is a terminal.
func (c *Console) Interactive() bool {
	f, ok := c.Stdin.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Awaits says that a command reads what, such as "records", from standard input, if that is a terminal: without the line, the command would
// seem to hang.
func (c *Console) Awaits(what string) {
	if !c.Interactive() {
		return
	}
	end := "Ctrl-D"
	if runtime.GOOS == "windows" {
		end = "Ctrl-Z and Enter"
	}
	c.Notice("reading " + what + " from this terminal until " + end)
}

// Ask asks a question. Any answer but y and yes means no.
func (c *Console) Ask(question string) bool {
	fmt.Fprintf(c.Stderr, "%s [y/N] ", question)
	answer, err := bufio.NewReader(c.Stdin).ReadString('\n')
	if err != nil {
		return false
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}
