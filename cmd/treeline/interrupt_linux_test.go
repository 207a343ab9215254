package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/internal/gen"
)

// TestInterrupt: one signal ends a command soon, whether it computes or waits for input. If possible, CPU time is measured, since the
// machine may be busy.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	log := gen.HostileLogs[0]
	for _, h := range gen.HostileLogs {
		if h.Name == "messages" {
			log = h
		}
	}
	path := filepath.Join(home, log.Path())
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, log.Log(100_000), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   []string
		signal os.Signal
		input  string // a line that is answered with a line; stdin stays open
	}{
		{[]string{"convert", path, "--to", "operator", "-o", t.TempDir()}, os.Interrupt, ""},
		{[]string{"convert", path, "--to", "wave", "-o", t.TempDir(), "--json"}, syscall.SIGTERM, ""},
		{[]string{"append", path, "--stdin"}, os.Interrupt, `{"role":"user","content":"x"}`},
		{[]string{"rpc"}, syscall.SIGTERM, `{"jsonrpc":"2.0","id":1,"method":"nosuch"}`},
	} {
		t.Run(c.args[0]+" "+c.signal.String(), func(t *testing.T) {
			t.Parallel()
			p := startOpen(t, home, c.args...)
			if c.input != "" {
				p.ask(c.input)
			} else {
				p.awaitCPU(200 * time.Millisecond)
			}
			if err := p.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			kill := time.AfterFunc(20*time.Second, func() { _ = p.Process.Kill() })
			_ = p.Wait() // its state tells how it ended
			if !kill.Stop() {
				t.Fatalf("it does not end: %s", &p.stderr)
			}
			if cpu := p.ProcessState.UserTime() + p.ProcessState.SystemTime(); c.input == "" && cpu > 1500*time.Millisecond {
				t.Errorf("it ends after %s of CPU time", cpu)
			}
			if code := p.ProcessState.ExitCode(); c.input == "" && (code != 1 || !strings.Contains(p.stderr.String(), "interrupted")) {
				t.Errorf("exit code %d: %s", code, &p.stderr)
			}
		})
	}
}

// TestInterruptEndless: an interruption is the normal end of watch, however long it would otherwise take. Here it would never end, because
// nothing reads its output.
func TestInterruptEndless(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	path := filepath.Join(home, "s.jsonl")
	log := fmt.Sprintf(`{"type":"session","version":3,"id":"s"}`+"\n"+
		`{"type":"message","id":"m","parentId":null,"message":{"role":"user","content":%q}}`+"\n", strings.Repeat("x", 2<<20)) // more than a pipe holds
	if err := os.WriteFile(path, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startOpen(t, home, "watch", path, "--from", "start", "--json")
	for read := ""; !strings.HasSuffix(read, `"event":"entry"`); { // then it is writing the entry
		b, err := p.out.ReadByte()
		if err != nil {
			t.Fatal(err)
		}
		read += string(b)
	}
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(time.Minute, func() { _ = p.Process.Kill() })
	err := p.Wait()
	if !kill.Stop() {
		t.Fatal("it does not end")
	}
	if err != nil || p.stderr.Len() > 0 {
		t.Errorf("%v: %s; want exit code 0 and no message", err, &p.stderr)
	}
}

// opened is a command whose stdin stays open.
type opened struct {
	*exec.Cmd
	t      *testing.T
	in     io.Writer
	out    *bufio.Reader
	stderr bytes.Buffer
}

func startOpen(t *testing.T, home string, args ...string) *opened {
	t.Helper()
	p := &opened{Cmd: exec.Command("treeline", args...), t: t}
	p.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME=", "XDG_CACHE_HOME=", "XDG_CONFIG_HOME=")
	p.Stderr = &p.stderr
	in, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.in, p.out = in, bufio.NewReader(out)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// ask writes a line and reads the answer.
func (p *opened) ask(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.out.ReadString('\n'); err != nil {
		p.t.Fatalf("%v: %s", err, &p.stderr)
	}
}

// awaitCPU returns once the command has used that much CPU time.
func (p *opened) awaitCPU(least time.Duration) {
	p.t.Helper()
	const tick = 10 * time.Millisecond // of /proc
	for {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Process.Pid))
		if err != nil {
			p.t.Fatal(err)
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		user, _ := strconv.Atoi(fields[11])
		system, _ := strconv.Atoi(fields[12])
		if time.Duration(user+system)*tick >= least {
			return
		}
		if fields[0] == "Z" {
			p.t.Fatalf("it has ended: %s", &p.stderr)
		}
		runtime.Gosched()
	}
}
