package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A server that is started from a plain terminal, with a pipe as its standard input, leaves a breadcrumb for that terminal.
// A client may name another.
func TestRPCBreadcrumbs(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("treeline") // TestMain puts it there
	if err != nil {
		t.Fatal(err)
	}
	master, slave, err := newTerminal()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	own := strings.ReplaceAll(strings.TrimPrefix(slave.Name(), "/dev/"), "/", "-")
	home := t.TempDir()
	for terminal, want := range map[string]string{"": own, `,"terminal":"/dev/pts/98"`: "pts-98"} {
		cmd := exec.Command(program, "rpc")
		cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
		cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"create","params":{"cwd":"/w","force":true,"dialect":"omp","deferUntil":"never"` + terminal + `}}` + "\n")
		cmd.Stderr = slave
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 2}
		out, err := cmd.Output()
		if err != nil || !strings.Contains(string(out), `"result"`) {
			t.Fatalf("%s, %v; want no error, strings.Contains(string(out), `\"result\"`)", out, err)
		}
		crumb, err := os.ReadFile(filepath.Join(home, ".omp/agent/terminal-sessions", want))
		if err != nil || !strings.HasPrefix(string(crumb), "/w\n"+home) {
			t.Errorf(`%s: %q, %v; want no error, strings.HasPrefix(string(crumb), "/w\n"+home)`, want, crumb, err)
		}
	}
}
