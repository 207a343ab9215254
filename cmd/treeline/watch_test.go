package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// backgroundKey is the key of the background command of a script.
type backgroundKey struct{}

// background is a command that runs beside the script.
type background struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer

	mu    sync.Mutex
	text  []byte
	read  int           // how much of text was awaited
	wrote chan struct{} // signals that there is more
}

// Write receives the command's output.
func (b *background) Write(p []byte) (int, error) {
	b.mu.Lock()
	b.text = append(b.text, p...)
	b.mu.Unlock()
	select {
	case b.wrote <- struct{}{}:
	default:
	}
	return len(p), nil
}

// found searches for a text after what was awaited before.
func (b *background) found(text string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := bytes.Index(b.text[b.read:], []byte(text))
	if i >= 0 {
		b.read += i + len(text)
	}
	return i >= 0
}

// backgroundCmd starts a command beside the script, waits for its output, and ends it as Ctrl-C does:
//
//	background start treeline watch --all
//	background await 'some text'
//	background url VARIABLE
//	background end
//
// url sets a variable to the URL of a server, which is the first line that it prints.
func backgroundCmd(ts *testscript.TestScript, _ bool, args []string) {
	running := ts.Value(backgroundKey{}).(map[string]*background)
	if args[0] == "start" {
		b := &background{wrote: make(chan struct{}, 1)}
		b.cmd = scriptProcess(ts, args[1:])
		b.cmd.Stdout, b.cmd.Stderr = b, &b.stderr
		ts.Check(b.cmd.Start())
		ts.Defer(func() { _ = b.cmd.Process.Kill() })
		running[""] = b
		return
	}
	b := running[""]
	switch args[0] {
	case "await":
		late := time.After(time.Minute) // a limit, not a measurement
		for !b.found(args[1]) {
			select {
			case <-b.wrote:
			case <-late:
				_ = b.cmd.Process.Kill()
				_ = b.cmd.Wait()
				ts.Fatalf("%q was never printed\nstdout: %s\nstderr: %s", args[1], b.text, b.stderr.String())
			}
		}
	case "url":
		b.mu.Lock()
		url, _, _ := strings.Cut(string(b.text), "\n")
		b.mu.Unlock()
		ts.Setenv(args[1], strings.TrimSuffix(url, "/"))
	case "end":
		ts.Check(b.cmd.Process.Signal(os.Interrupt))
		err := b.cmd.Wait()
		_, _ = ts.Stdout().Write(b.text)
		_, _ = ts.Stderr().Write(b.stderr.Bytes())
		ts.Check(err)
	default:
		ts.Fatalf("background: start, await, url or end, not %s", args[0])
	}
}
