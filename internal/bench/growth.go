package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// growth measures what grows with the number of sessions, and with the length of one: many small sessions, and a single long one.
// The first rows are costs of the program above its start, beside a program that walks over the same files and stats them.
func growth(b *bench) {
	sessions, size := b.size(20_000), int64(b.size(100_000_000))
	if b.large {
		sessions, size = 100_000, 1_000_000_000
	}
	p := b.program(filepath.Join(b.dir, "home"))
	check(os.MkdirAll(p.home, 0o700))
	start := p.costs(3*b.rounds, nil, "version")
	b.manySmall(p, sessions, start)
	check(os.RemoveAll(p.home))
	b.oneLong(p, size, start)
	check(os.RemoveAll(p.home))
}

// manySmall measures sessions of 10 KB on average.
func (b *bench) manySmall(p program, sessions int, start cost) {
	agent := filepath.Join(p.home, ".omp", "agent")
	apart("tree", agent, sessions, int64(sessions)*10_000)
	source := must(diskSize(agent))
	what := fmt.Sprintf("growth: %d sessions, %s: ", sessions, mb(source))
	cold := p.costs(1, p.forget, "ls")
	b.memory(what+"cold index, memory", cold.memory, ms(cold.cpu), 150)
	kept := must(diskSize(p.cache()))
	b.add(row{what: what + "size of the index", figure: mb(kept), baseline: "of the sessions", ratio: float64(kept) / float64(source), target: 0.15, most: true})

	pass := b.statPass(agent)
	files := must(filepath.Glob(filepath.Join(agent, "sessions", "*", "*.jsonl")))
	appended := 0
	for _, c := range []struct {
		what string
		args []string
	}{
		{"ls", []string{"ls"}},
		// The first word is in no session, the second in nearly all.
		{"search for a word that does not occur", []string{"search", "--limit", "20", "kingfisher"}},
		{"search for a common word", []string{"search", "--limit", "20", "function"}},
	} {
		same := p.costs(b.rounds, nil, c.args...)
		b.slower(what+c.what, same.cpu-start.cpu, "stat pass", pass, 2)
		b.memory(what+c.what+", memory", same.memory, "", 100)
		more := p.costs(b.rounds, func() { appended++; goOn(files[appended%len(files)], writings[0].line, appended) }, c.args...)
		b.slower("  one line appended", more.cpu-start.cpu, "nothing changed", same.cpu-start.cpu, 1.2)
	}
	all := p.costs(b.rounds, nil, "ls", "--all")
	b.slower(what+"ls --all, which prints them", all.cpu-start.cpu, "stat pass", pass, 2)
	b.memory(what+"ls --all, memory", all.memory, "", 100)
	b.memory(what+"ls --all --json, memory", p.costs(1, nil, "ls", "--all", "--json").memory, "", 100)
}

// oneLong opens one session and computes its context. Its memory may depend on the number of entries only.
func (b *bench) oneLong(p program, size int64, start cost) {
	path := filepath.Join(p.home, ".omp", "agent", "sessions", "--p--", "long.jsonl")
	apart("session", path, 1, size)
	entries := lines(path) - 1
	got := p.costs(b.rounds, nil, "context", path)
	what := fmt.Sprintf("growth: context of one session, %s, %d entries", mb(size), entries)
	perEntry := float64(got.memory-start.memory) / float64(entries)
	b.add(row{what: what + ", memory of an entry", figure: mb(got.memory), baseline: "above a start", ratio: perEntry, unit: "B", target: 250, most: true})
	// Last, since it takes memory, which would count as a child's. The limit is for a machine where encoding/json reads 165 MB/s.
	scale := b.scale() * slowJSON / 0.165
	b.log = nil
	used := got.cpu - start.cpu
	b.add(row{what: what + ", CPU", figure: ms(used), baseline: fmt.Sprintf("scaled by encoding/json, %.0f MB/s", 165*scale),
		ratio: time.Duration(float64(used) * scale).Seconds(), unit: "s", target: 0.6 * float64(size) / 1e9, most: true})
}

// lines counts the lines of a file without keeping it in memory.
func lines(path string) (n int) {
	f := must(os.Open(path))
	defer f.Close()
	buf := make([]byte, 1<<20)
	for {
		size, err := f.Read(buf)
		for _, c := range buf[:size] {
			if c == '\n' {
				n++
			}
		}
		if err != nil {
			return n
		}
	}
}
