package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/term"
)

// terminalWidth gives the columns of the terminal that w is; ok is false where it is none.
func terminalWidth(w io.Writer) (columns int, ok bool) {
	f, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil || columns <= 0 {
		columns = 80
	}
	return columns, true
}

// style marks text on a terminal. The zero value marks nothing.
type style struct{ on bool }

// style gives the marks for stdout: none where it is no terminal, or where someone wants none.
func (a *app) style() style {
	_, isTerminal := terminalWidth(a.stdout)
	return style{on: isTerminal && a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb"}
}

func (s style) mark(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) bold(t string) string    { return s.mark("1", t) }
func (s style) dim(t string) string     { return s.mark("2", t) }
func (s style) thought(t string) string { return s.mark("2;3", t) }
func (s style) red(t string) string     { return s.mark("31", t) }
func (s style) yellow(t string) string  { return s.mark("33", t) }
func (s style) cyan(t string) string    { return s.mark("36", t) }

// output is where a command writes: stdout or, on a terminal, a pager.
type output struct {
	*bufio.Writer
	style style
	// width is the columns of the terminal, 0 where the output is for a program.
	width int
}

// page runs write with stdout, on a terminal through the user's pager. A reader that goes away ends the writing and is no
// error: 'treeline show | head' is a usual thing to do.
func (a *app) page(ctx context.Context, write func(ctx context.Context, out *output) error) error {
	width, isTerminal := terminalWidth(a.stdout)
	if !isTerminal {
		return a.print(ctx, a.stdout, 0, write)
	}
	cmd := a.pager()
	if cmd == nil {
		return a.print(ctx, a.stdout, width, write)
	}
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil { // a pager that does not start must not hide the text
		return a.print(ctx, a.stdout, width, write)
	}
	err = a.print(ctx, pipe, width, write)
	_ = pipe.Close()
	// A pager that was left with an error or by a signal has shown what its user wanted to see.
	_ = cmd.Wait()
	if ctx.Err() != nil {
		return nil // Ctrl-C was meant for the pager
	}
	return err
}

// print runs write with a buffer around w, which it flushes. A closed pipe is no error here either.
func (a *app) print(ctx context.Context, w io.Writer, width int, write func(context.Context, *output) error) error {
	out := &output{Writer: bufio.NewWriterSize(w, 64<<10), style: a.style(), width: width}
	err := write(ctx, out)
	if flushErr := out.Flush(); err == nil {
		err = flushErr
	}
	if closedPipe(err) {
		return nil
	}
	return err
}

// pager gives the command that shows long output page by page, nil for none.
func (a *app) pager() *exec.Cmd {
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

// closedPipe says that nobody reads our output any more. On Unix the signal that comes with it ends the program before
// anyone asks, unless the output is a pager's.
func closedPipe(err error) bool {
	const errorBrokenPipe, errorNoData = syscall.Errno(109), syscall.Errno(232) // of Windows
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return true
	}
	return runtime.GOOS == "windows" && (errors.Is(err, errorBrokenPipe) || errors.Is(err, errorNoData))
}
