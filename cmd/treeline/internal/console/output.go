package console

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/wire"
	"golang.org/x/term"
)

// size returns the columns and lines of a terminal; ok is false if w is not one.
func size(w io.Writer) (columns, lines int, ok bool) {
	f, isFile := w.(interface{ Fd() uintptr })
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return 0, 0, false
	}
	columns, lines, err := term.GetSize(int(f.Fd()))
	if err != nil || columns <= 0 || lines <= 0 {
		columns, lines = 80, 24
	}
	return columns, lines, true
}

// Width returns the columns of a terminal; ok is false if w is not one.
func Width(w io.Writer) (columns int, ok bool) {
	columns, _, ok = size(w)
	return columns, ok
}

// An Output is the destination of a command's output: stdout or, on a terminal, a pager.
type Output struct {
	*bufio.Writer
	Style Style
	// Width is the width of the terminal, or 0 if the output is not one.
	Width int
	now   time.Time
}

// Page returns the output for the text forms of package wire.
func (o *Output) Page() wire.Page {
	return wire.Page{Writer: o.Writer, Paint: o.Style.paint, Width: o.Width}
}

// JSON returns the output for JSON that contains bytes of a session. On a terminal, they are escaped.
func (o *Output) JSON() io.Writer {
	if o.Width > 0 {
		return wire.Escaped(o)
	}
	return o
}

// When formats a time relative to now on a terminal. In a pipe it is absolute and can be sorted.
func (o *Output) When(t time.Time) string {
	if o.Width > 0 {
		return wire.Ago(t.Local(), o.now)
	}
	// RFC3339 is formatted four times as fast as another layout.
	if text := t.Local().AppendFormat(make([]byte, 0, len(time.RFC3339)), time.RFC3339); text[4] == '-' {
		text[10] = ' '
		return string(text[:16])
	}
	return t.Local().Format("2006-01-02 15:04") // a year of five digits
}

// Summary writes the last line of a list on a terminal: how many rows are shown of how many, and sums over all of them. more means that
// there are more than total. What does not fit on the line is omitted.
func (o *Output) Summary(shown, total int, more bool, one, many string, sums ...string) {
	if o.Width == 0 || total == 0 {
		return
	}
	number := wire.Number(int64(shown))
	words := []string{wire.Count(total, one, many)}
	switch {
	case more:
		words = []string{number + " of more than " + words[0], "-n 0 shows all"}
	case shown < total:
		words = []string{number + " of " + words[0], "-n 0 shows all"}
	}
	if len(words) > 1 && len(sums) > 0 {
		sums[0] = "in all " + sums[0]
	}
	text := words[0]
	for _, word := range append(words[1:], sums...) {
		if next := text + " · " + word; screen.Width(next, false) <= o.Width {
			text = next
		}
	}
	fmt.Fprintln(o, o.Style.Dim(text))
}

// Page calls write with stdout or, on a terminal, with the user's pager. A closed pipe is not an error, as in 'treeline show | head'.
func (c *Console) Page(ctx context.Context, write func(out *Output) error) error {
	cmd := c.pager()
	if cmd == nil {
		return c.Print(write)
	}
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil { // without a pager, print the text itself
		return c.Print(write)
	}
	c.paging.Store(true)
	defer c.paging.Store(false)
	err = c.printTo(pipe, write)
	_ = pipe.Close()
	_ = cmd.Wait() // leaving a pager early is not an error
	if ctx.Err() != nil {
		return nil // Ctrl-C was meant for the pager
	}
	return err
}

// PageLong calls write with stdout. With ask, output that is longer than the terminal goes to the pager.
func (c *Console) PageLong(ctx context.Context, ask bool, write func(out *Output) error) error {
	_, lines, isTerminal := size(c.Stdout)
	if !ask || !isTerminal || c.NoPager {
		return c.Print(write)
	}
	var text bytes.Buffer
	err := c.printTo(&text, write)
	again := func(out *Output) error {
		if _, writeErr := out.Write(text.Bytes()); writeErr != nil {
			return writeErr
		}
		return err
	}
	if bytes.Count(text.Bytes(), []byte{'\n'}) < lines { // the prompt needs a line, too
		return c.Print(again)
	}
	return c.Page(ctx, again)
}

// IsPaging reports whether a pager has the terminal.
func (c *Console) IsPaging() bool { return c.paging.Load() }

// Print calls write with stdout.
func (c *Console) Print(write func(out *Output) error) error { return c.printTo(c.Stdout, write) }

// printTo calls write with a buffer for w, which is stdout or leads there, and flushes it.
func (c *Console) printTo(w io.Writer, write func(out *Output) error) error {
	width, _ := Width(c.Stdout)
	out := &Output{Writer: bufio.NewWriterSize(w, 64<<10), Style: c.style(), Width: cmp.Or(c.Columns, width), now: c.Now()}
	err := write(out)
	if flushErr := out.Flush(); err == nil {
		err = flushErr
	}
	if ClosedPipe(err) {
		return nil
	}
	return err
}

// pager returns the pager. It is nil if the user wants none, or stdout is not a terminal.
func (c *Console) pager() *exec.Cmd {
	if _, isTerminal := Width(c.Stdout); !isTerminal || c.NoPager {
		return nil
	}
	var cmd *exec.Cmd
	name, set := os.LookupEnv("PAGER")
	switch name = strings.TrimSpace(name); {
	case name == "cat" || set && name == "" || c.Getenv("TERM") == "dumb":
		return nil
	case name != "" && runtime.GOOS != "windows":
		cmd = exec.Command("sh", "-c", name) // name may have arguments
	case name != "":
		fields := strings.Fields(name)
		cmd = exec.Command(fields[0], fields[1:]...)
	default:
		path, err := exec.LookPath("less")
		if err != nil {
			return nil
		}
		cmd = exec.Command(path, "-FRX")
	}
	cmd.Stdout, cmd.Stderr = c.Stdout, c.Stderr
	cmd.Env = os.Environ()
	if c.Getenv("LESS") == "" { // for PAGER=less: colours, and no paging of output that fits
		cmd.Env = append(cmd.Env, "LESS=FRX")
	}
	return cmd
}

// ClosedPipe reports whether the reader of the output has gone away. On Unix, SIGPIPE ends the program before that, unless the output is a
// pager.
func ClosedPipe(err error) bool {
	const errorBrokenPipe, errorNoData = syscall.Errno(109), syscall.Errno(232) // of Windows
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return true
	}
	return runtime.GOOS == "windows" && (errors.Is(err, errorBrokenPipe) || errors.Is(err, errorNoData))
}
