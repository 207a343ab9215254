package main

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

	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/wire"
	"golang.org/x/term"
)

// terminalSize gives the columns and lines of a terminal; ok is false if w is not one.
func terminalSize(w io.Writer) (columns, lines int, ok bool) {
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

// terminalWidth gives the columns of a terminal; ok is false if w is not one.
func terminalWidth(w io.Writer) (columns int, ok bool) {
	columns, _, ok = terminalSize(w)
	return columns, ok
}

// style marks text on a terminal. The zero value marks nothing.
type style struct{ on bool }

// colorWords are the values of --color.
var colorWords = []string{"auto", "always", "never"}

// style gives the marks for stdout. --color decides, then NO_COLOR, then CLICOLOR_FORCE; otherwise a terminal has colours
// unless it is dumb or CLICOLOR is 0.
func (a *app) style() style {
	_, isTerminal := terminalWidth(a.stdout)
	force := a.getenv("CLICOLOR_FORCE")
	switch {
	case a.color == "always":
		return style{on: true}
	case a.color == "never" || a.getenv("NO_COLOR") != "":
		return style{}
	case force != "" && force != "0":
		return style{on: true}
	}
	return style{on: isTerminal && a.getenv("TERM") != "dumb" && a.getenv("CLICOLOR") != "0"}
}

func (s style) mark(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// codes are the SGR parameters of styles.
var codes = map[wire.Style]string{
	wire.StyleStrong: "1", wire.StyleFaint: "2", wire.StyleThinking: "2;3", wire.StyleError: "31", wire.StyleLabel: "33",
	wire.StyleTool: "36", wire.StyleUser: "1;36", wire.StyleAssistant: "1;32", wire.StyleSummary: "1;35", wire.StyleAlert: "1;31",
}

func (s style) paint(style wire.Style, text string) string { return s.mark(codes[style], text) }

func (s style) bold(t string) string   { return s.mark("1", t) }
func (s style) dim(t string) string    { return s.mark("2", t) }
func (s style) red(t string) string    { return s.mark("31", t) }
func (s style) yellow(t string) string { return s.mark("33", t) }
func (s style) cyan(t string) string   { return s.mark("36", t) }

// output is where a command writes: stdout or, on a terminal, a pager.
type output struct {
	*bufio.Writer
	style style
	// width is the columns of the terminal, 0 if the output is not one.
	width int
	now   time.Time
}

// page gives the output to the text forms of package wire.
func (o *output) page() wire.Page {
	return wire.Page{Writer: o.Writer, Paint: o.style.paint, Width: o.width}
}

// json gives the output to JSON that passes bytes of a session on. On a terminal they are escaped.
func (o *output) json() io.Writer {
	if o.width > 0 {
		return wire.Escaped(o)
	}
	return o
}

func same(s string) string { return s }

// page runs write with stdout, on a terminal through the user's pager. A closed pipe is not an error: it is what
// 'treeline show | head' does.
func (a *app) page(ctx context.Context, write func(out *output) error) error {
	cmd := a.pager()
	if cmd == nil {
		return a.print(write)
	}
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil { // without a pager, the text itself
		return a.print(write)
	}
	a.paging.Store(true)
	defer a.paging.Store(false)
	err = a.printTo(pipe, write)
	_ = pipe.Close()
	_ = cmd.Wait() // leaving a pager early is not an error
	if ctx.Err() != nil {
		return nil // Ctrl-C was meant for the pager
	}
	return err
}

// print runs write with stdout.
func (a *app) print(write func(out *output) error) error { return a.printTo(a.stdout, write) }

// printTo runs write with a buffer around w, which is stdout or leads there, and flushes it.
func (a *app) printTo(w io.Writer, write func(out *output) error) error {
	width, _ := terminalWidth(a.stdout)
	out := &output{Writer: bufio.NewWriterSize(w, 64<<10), style: a.style(), width: cmp.Or(a.columns, width), now: a.now()}
	err := write(out)
	if flushErr := out.Flush(); err == nil {
		err = flushErr
	}
	if closedPipe(err) {
		return nil
	}
	return err
}

// pager gives the pager. It is nil if the user wants none, or stdout is not a terminal.
func (a *app) pager() *exec.Cmd {
	if _, isTerminal := terminalWidth(a.stdout); !isTerminal || a.noPager {
		return nil
	}
	var cmd *exec.Cmd
	name, set := os.LookupEnv("PAGER")
	switch name = strings.TrimSpace(name); {
	case name == "cat" || set && name == "" || a.getenv("TERM") == "dumb":
		return nil
	case name != "" && runtime.GOOS != "windows":
		cmd = exec.Command("sh", "-c", name) // it may have arguments
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
	cmd.Stdout, cmd.Stderr = a.stdout, a.stderr
	cmd.Env = os.Environ()
	if a.getenv("LESS") == "" { // for PAGER=less: colours, and no paging of what fits
		cmd.Env = append(cmd.Env, "LESS=FRX")
	}
	return cmd
}

// closedPipe reports whether the reader of the output has gone away. On Unix, SIGPIPE ends the program first unless the
// output is a pager.
func closedPipe(err error) bool {
	const errorBrokenPipe, errorNoData = syscall.Errno(109), syscall.Errno(232) // of Windows
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return true
	}
	return runtime.GOOS == "windows" && (errors.Is(err, errorBrokenPipe) || errors.Is(err, errorNoData))
}

// checkedWriter remembers the first error of w.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	if c.err == nil {
		c.err = err
	}
	return n, err
}

// indenter puts spaces before each line that is not blank.
type indenter struct {
	w         io.Writer
	lineStart bool
}

func (i *indenter) Write(p []byte) (int, error) {
	var b bytes.Buffer
	for _, c := range p {
		if i.lineStart && c != '\n' {
			b.WriteString("   ")
		}
		i.lineStart = c == '\n'
		b.WriteByte(c)
	}
	if _, err := i.w.Write(b.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// progress shows on one line of stderr how far a long operation is, and erases the line at the end. It is not safe for
// concurrent use.
type progress struct {
	a     *app
	what  string
	width int
	// bytes were read of ofBytes; 0 if only files are counted.
	bytes, ofBytes int64
	on             bool
	next           time.Time
}

// newProgress starts an operation over files. Nothing is shown if it ends soon, or if stderr is not a terminal
// that can erase a line.
func (a *app) newProgress(what string) *progress {
	width, isTerminal := terminalWidth(a.stderr)
	return &progress{
		a: a, what: what, width: width,
		on: isTerminal && a.getenv("TERM") != "dumb", next: time.Now().Add(a.progressAfter),
	}
}

// at reports that n files of so many are done.
func (p *progress) at(n, total int) {
	p.show(func() string {
		line := fmt.Sprintf("%s %s of %s", p.what, wire.Number(int64(n)), wire.Count(total, "file", "files"))
		if p.ofBytes > 0 {
			line += fmt.Sprintf(", %d %%", p.bytes*100/p.ofBytes)
		}
		return line
	})
}

// show shows a line if it is time to.
func (p *progress) show(text func() string) {
	if !p.on {
		return
	}
	if now := time.Now(); now.After(p.next) {
		p.next, p.a.showing = now.Add(p.a.progressEvery), p
		line := text()
		// A wrapped line could not be erased, and some terminals wrap after the last column.
		fmt.Fprintf(p.a.stderr, "\r\x1b[K%s", screen.Cut(line, max(1, p.width-1)))
	}
}

// read counts bytes as well, since one log may be larger than all others together.
func (p *progress) read(r find.Progress) {
	p.bytes, p.ofBytes = r.Bytes, r.OfBytes
	p.at(r.Logs, r.OfLogs)
}

func (p *progress) clear() {
	if p.a.showing == p {
		fmt.Fprint(p.a.stderr, "\r\x1b[K")
		p.a.showing = nil
	}
}
