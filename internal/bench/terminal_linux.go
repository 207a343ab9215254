package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// terminal measures the program on a terminal: opening it on many indexed sessions beside ls, and its cost while nothing happens.
func terminal(b *bench) {
	sessions, idle := b.size(10_000), 20*time.Second
	if b.quick {
		idle = 3 * time.Second
	}
	p := b.program(filepath.Join(b.dir, "terminal"))
	apart("tree", filepath.Join(p.home, ".omp", "agent"), sessions, int64(sessions)*20_000)
	p.costs(1, nil, "ls", "--all")                                // so that the index knows them
	ls := p.costs(3*b.rounds, nil, "ls", "--all", "-n", "30").cpu // as many rows as on a terminal
	opened := time.Duration(1<<63 - 1)
	for range 3 * b.rounds {
		cost, _ := p.onTerminal(0)
		opened = min(opened, cost)
	}
	what := fmt.Sprintf("%d known sessions on a terminal: ", sessions)
	b.add(row{what: what + "opened, CPU", figure: ms(opened), baseline: "ls --all -n 30 " + ms(ls), ratio: times(opened, ls), target: 1.5, most: true})
	_, rest := p.onTerminal(idle)
	b.add(row{what: what + "idle", figure: ms(rest), baseline: fmt.Sprintf("in %v", idle), ratio: 100 * times(rest, idle), unit: "% of a core", target: 0.1, most: true})
}

// onTerminal shows the sessions, waits, and quits. It returns the CPU time until the program has settled, and that of the wait.
func (p program) onTerminal(idle time.Duration) (opened, rest time.Duration) {
	master := must(os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0))
	defer master.Close()
	check(unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n := must(unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN))
	slave := must(os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0))
	check(unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120}))
	cmd := exec.Command(p.path)
	cmd.Env, cmd.Dir = []string{"HOME=" + p.home, "TERM=xterm"}, p.home
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	check(cmd.Start())
	check(slave.Close())
	shown := make(chan struct{})
	go func() {
		var seen []byte
		buf := make([]byte, 1<<16)
		for told := false; ; {
			n, err := master.Read(buf)
			if err != nil {
				return // the program has ended
			}
			if seen = append(seen, buf[:n]...); !told && bytes.Contains(seen, []byte("sessions · ")) {
				told = true
				close(shown)
			}
		}
	}()
	select {
	case <-shown:
	case <-time.After(time.Minute):
		_ = cmd.Process.Kill()
		check(fmt.Errorf("%s shows no sessions", p.path))
	}
	const settle = 500 * time.Millisecond // work after the first frame counts, too
	time.Sleep(settle)
	opened = running(cmd.Process.Pid)
	time.Sleep(idle)
	rest = running(cmd.Process.Pid) - opened
	must(master.WriteString("q"))
	check(cmd.Wait())
	return opened, rest
}

// running returns the CPU time of a process so far, which the kernel measures in nanoseconds for each thread.
func running(pid int) (sum time.Duration) {
	for _, path := range must(filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))) {
		var cpu int64
		text, err := os.ReadFile(path)
		if err == nil { // otherwise the thread has ended
			must(fmt.Sscan(string(text), &cpu))
		}
		sum += time.Duration(cpu)
	}
	return sum
}
