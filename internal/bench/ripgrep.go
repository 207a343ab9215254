package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// besideRipgrep searches the indexed sessions with the program, and their files with rg, which people use without an index. rg sees the
// lines of JSON: it finds names of members and misses escaped text. It prints how many lines of each file match.
func besideRipgrep(b *bench) {
	rg, err := exec.LookPath("rg")
	if err != nil {
		b.leaveOut("ripgrep", err)
		return
	}
	sessions := b.size(1000)
	p := b.program(filepath.Join(b.dir, "ripgrep"))
	agent := filepath.Join(p.home, ".omp", "agent")
	apart("tree", agent, sessions, int64(sessions)*142_000)
	p.costs(1, nil, "ls", "--all") // so that the index knows them
	scan := program{rg, p.home}
	logs, size := readLogs(agent)
	for _, q := range choose(logs) {
		how, pattern := "--fixed-strings", strings.Trim(q.args[0], `"*`)
		switch {
		case q.args[0] == "--regexp":
			how, pattern = "--no-fixed-strings", q.args[1]
		case len(q.args) > 1:
			continue // rg has one pattern
		}
		took := p.costs(b.rounds, nil, append([]string{"search", "--limit", q.limit}, q.args...)...).cpu
		base := scan.costs(min(b.rounds, 3), nil, "--ignore-case", "--count", how, "--regexp", pattern, agent).cpu
		b.faster(fmt.Sprintf("%d sessions, %s: %s, start included", sessions, mb(size), q.what), took, "rg", base, 0)
	}
	check(os.RemoveAll(p.home))
}
