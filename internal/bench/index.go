package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// indexing makes the catalogue of many sessions from nothing, and updates it, with the program. The costs are above a start
// of the program.
func indexing(b *bench) {
	sessions := b.size(1000)
	p := b.program(filepath.Join(b.dir, "home"))
	agent := filepath.Join(p.home, ".omp", "agent")
	// The size of gen.Tree's sessions by default.
	apart("tree", agent, sessions, int64(sessions)*142_000)
	bytes := must(diskSize(agent))
	start := p.costs(3*b.rounds, nil, "version")
	cold := p.costs(b.rounds, p.forget, "ls", "--all")
	what := fmt.Sprintf("index of %d sessions, %s", sessions, mb(bytes))
	b.memory(what+", memory", cold.memory, "", 100)
	kept := must(diskSize(p.cache()))
	// Signatures may take 15 % of the logs on disk.
	b.add(row{what: what + ", on disk", figure: mb(kept), baseline: "of the sessions",
		ratio: float64(kept) / float64(bytes), target: 0.15, most: true})
	b.upToDate(p, agent, start)
	check(os.RemoveAll(p.home))
	b.oneLarge(p)
	others := b.otherCold(p)
	// Scaled to the machine of the limits by the speed of encoding/json. Last, since it takes memory, which would count as
	// that of a child.
	scale := b.scale()
	b.log = nil
	for _, c := range append([]coldIndex{{what, cold.cpu, bytes}}, others...) {
		// Three seconds for a thousand sessions of 142 kB, on the slow machine.
		b.add(row{what: c.what + ", CPU", figure: ms(c.cpu), baseline: fmt.Sprintf("scaled by encoding/json, %.0f MB/s", scale*slowJSON*1e3),
			ratio: (c.cpu - start.cpu).Seconds() * scale, unit: "s", target: 3 * float64(c.bytes) / 142e6, most: true})
	}
}

// coldIndex is the cost of an index from nothing.
type coldIndex struct {
	what  string
	cpu   time.Duration
	bytes int64
}

// otherCold indexes sessions of Claude Code and Codex, and adds the rows of memory.
func (b *bench) otherCold(p program) (list []coldIndex) {
	sessions := b.size(200)
	for _, a := range []struct{ what, data, path string }{
		{"Claude Code", "claude", ".claude/projects/-p/0f8fad5b-d9cb-469f-a165-%012x.jsonl"},
		{"Codex", "codex", ".codex/sessions/2026/04/01/rollout-2026-04-01T10-00-00-0f8fad5b-d9cb-469f-a165-%012x.jsonl"},
	} {
		apart(a.data, filepath.Join(p.home, filepath.FromSlash(a.path)), sessions, int64(sessions)*142_000)
		c := coldIndex{bytes: must(diskSize(p.home))}
		cold := p.costs(b.rounds, p.forget, "ls", "--all")
		c.what, c.cpu = fmt.Sprintf("index of %d sessions of %s, %s", sessions, a.what, mb(c.bytes)), cold.cpu
		b.memory(c.what+", memory", cold.memory, "", 100)
		list = append(list, c)
		check(os.RemoveAll(p.home))
	}
	return list
}

// upToDate measures an update when nothing changed, which every command pays, and when a session grew.
func (b *bench) upToDate(p program, agent string, start cost) {
	same := p.costs(5*b.rounds, nil, "ls")
	stat := b.statPass(agent)
	// Twice a walk: nothing changed only if every file is checked.
	b.slower("nothing changed", same.cpu-start.cpu, "stat pass", stat, 2)
	files := must(filepath.Glob(filepath.Join(agent, "sessions", "*", "*.jsonl")))
	n := 0
	// Another file each time.
	grown := p.costs(5*b.rounds, func() { n++; goOn(files[n%len(files)], writings[0].line, n) }, "ls")
	b.add(row{what: "one line appended", figure: ms(grown.cpu - start.cpu), baseline: "beyond nothing changed",
		ratio: max(float64(grown.cpu-same.cpu)/1e6, 0.1), unit: "ms", target: 10, most: true})
}

// oneLarge indexes one large session. The limit is that of many small ones: memory must not depend on the largest session.
func (b *bench) oneLarge(p program) {
	size := int64(b.size(200_000_000))
	apart("session", filepath.Join(p.home, ".omp", "agent", "sessions", "-p", "large.jsonl"), 1, size)
	large := p.costs(3, p.forget, "ls", "--all")
	b.memory("one session of "+mb(size)+", memory", large.memory, ms(large.cpu), 100)
	check(os.RemoveAll(p.home))
}

// listed lists many sessions with a warm catalogue: it measures reading and printing it.
func listed(b *bench) {
	sessions := b.size(10_000)
	p := b.program(filepath.Join(b.dir, "home"))
	agent := filepath.Join(p.home, ".omp", "agent")
	apart("tree", agent, sessions, int64(sessions)*10_000)
	start := p.costs(5*b.rounds, nil, "version")
	p.costs(1, nil, "ls", "--all")
	got := p.costs(5*b.rounds, nil, "ls", "--all")
	stat := b.statPass(agent)
	what := fmt.Sprintf("ls of %d sessions that are known", sessions)
	b.slower(what, got.cpu-start.cpu, "stat pass", stat, 2)
	b.add(row{what: what + ", memory", figure: mb(got.memory), baseline: "above a start", ratio: float64(got.memory-start.memory) / 1e6,
		unit: "MB", target: 30, most: true})
	stats := p.costs(5*b.rounds, nil, "stats")
	b.slower(fmt.Sprintf("stats of %d sessions that are known", sessions), stats.cpu-start.cpu, "ls", got.cpu-start.cpu, 1.5)
	check(os.RemoveAll(p.home))
}
