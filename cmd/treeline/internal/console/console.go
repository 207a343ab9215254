// Package console is how a command reads and writes: its streams, a pager, colours, tables and progress, on a terminal and in a
// pipe. It knows the texts and the JSON of package wire, and neither commands nor sessions.
package console

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/wire"
	"golang.org/x/term"
)

// A Console is the streams of a command line, and how it writes to them.
type Console struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Clock          func() time.Time // nil is that of the machine
	Columns        int              // that output fits into; 0 is those of the terminal

	JSON    bool   // --json
	Color   string // --color
	NoPager bool   // --no-pager

	// Progress is shown after ProgressAfter and then every ProgressEvery. Tests set both to zero.
	ProgressAfter, ProgressEvery time.Duration
	showing                      *Progress // on the terminal's last line, nil for none

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

// Report prints a line on stderr: as JSON with --json, otherwise as text.
func (c *Console) Report(m wire.Message, text string) {
	if c.showing != nil {
		c.showing.Clear() // it comes back with the next step
	}
	if c.JSON {
		_ = wire.Write(c.Stderr, m) // there is nowhere else to say that it fails
		return
	}
	fmt.Fprintf(c.Stderr, "treeline: %s\n", screen.Clean(text))
}

// Now is the time of the command.
func (c *Console) Now() time.Time {
	if c.Clock != nil {
		return c.Clock()
	}
	return time.Now()
}

// HasTerminal reports whether a person sits at standard input and output.
func (c *Console) HasTerminal() bool {
	out, ok := c.Stdout.(*os.File)
	return ok && c.Interactive() && term.IsTerminal(int(out.Fd())) && c.Getenv("TERM") != "dumb"
}

// Interactive reports whether stdin is a terminal.
func (c *Console) Interactive() bool {
	f, ok := c.Stdin.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Ask takes anything but y and yes for a no.
func (c *Console) Ask(question string) bool {
	fmt.Fprintf(c.Stderr, "%s [y/N] ", question)
	answer, err := bufio.NewReader(c.Stdin).ReadString('\n')
	if err != nil {
		return false
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}
