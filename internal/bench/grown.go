package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/internal/gen"
)

// writings are the families, each with a large log: the kind of its data, its path in the home folder, the command that
// updates its index, and a record that its agent could append. %[1]d is the number of the record, %[2]s the id of the last
// entry.
var writings = []struct {
	what, data, path string
	update           []string
	line             string
}{
	{"a session of pi", "session", ".pi/agent/sessions/--p--/large.jsonl", []string{"ls", "--all"},
		`{"type":"message","id":"grown%03[1]d","parentId":"%[2]s","timestamp":"2026-07-01T00:00:00.000Z","message":{"role":"user","content":"one more"}}`},
	{"a session of Operator", "operator", ".operator/sessions/large.jsonl", []string{"ls", "--all"},
		`{"id":"grown%03[1]d","timestamp":1782864000.5,"parent_id":"%[2]s","type":"message","message":{"contents":[{"type":"text","content":"one more"}],` +
			`"id":"m%[1]d","timestamp":1782864000.5,"role":"user"}}`},
	{"a session of Wave", "wave", ".wave/projects/p/0f8fad5b-d9cb-469f-a165-70867728950e.jsonl", []string{"ls", "--all"},
		`{"timestamp":"2026-07-01T00:00:00.000Z","id":"msg-grown%03[1]d","role":"user","blocks":[{"type":"text","content":"one more","stage":"end"}]}`},
	{"a session of Claude Code", "claude", ".claude/projects/-p/0f8fad5b-d9cb-469f-a165-70867728950f.jsonl", []string{"ls", "--all"},
		`{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"one more"},"uuid":"grown%03[1]d","timestamp":"2026-07-01T00:00:00.000Z",` +
			`"cwd":"/p","sessionId":"s","version":"2.1.325"}`},
	{"a rollout of Codex", "codex", ".codex/sessions/2026/04/01/rollout-2026-04-01T10-00-00-0f8fad5b-d9cb-469f-a165-708677289510.jsonl", []string{"ls", "--all"},
		`{"timestamp":"2026-07-01T00:00:00.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"one more %[1]d"}]}}`},
	{"a run of codelia", "run", ".codelia/sessions/2026/04/01/a0a0a014-0000-4000-8000-000000000014.jsonl", []string{"search", "kingfisher"},
		`{"type":"run.status","run_id":"a0a0a014-0000-4000-8000-000000000014","ts":"2026-07-01T00:00:00.000Z","status":"running","message":"kingfisher %[1]d"}`},
}

// conversions are the kinds of data that are made from a session.
var conversions = map[string]func(session []byte) []byte{"operator": gen.Operator, "wave": gen.Wave, "run": gen.Run, "claude": gen.Claude, "codex": gen.Codex}

// grown appends one line to a large log of each family, and compares the update with reading the log from the start. The
// start of the program and an unchanged catalogue are subtracted.
func grown(b *bench) {
	size := int64(b.size(100_000_000))
	for _, w := range writings {
		p := b.program(filepath.Join(b.dir, "home"))
		path := filepath.Join(p.home, filepath.FromSlash(w.path))
		apart(w.data, path, 1, size)
		// Before the first reading, so that a search finds it both with and without an index.
		goOn(path, w.line, 0)
		start := p.costs(b.rounds, nil, "version")
		anew := p.costs(b.rounds, p.forget, w.update...)
		same := p.costs(3*b.rounds, nil, w.update...)
		n := 0
		more := p.costs(3*b.rounds, func() { n++; goOn(path, w.line, n) }, w.update...)
		// The difference of two runs may be negative on a busy machine.
		cost, whole := max(more.cpu-same.cpu, time.Millisecond/10), anew.cpu-start.cpu
		b.add(row{what: "one line appended to " + w.what + ", " + mb(size), figure: ms(cost) + " beyond nothing changed",
			baseline: "read anew " + ms(whole), ratio: times(cost, whole), target: 0.1, most: true})
		if w.data == "session" {
			said := strings.Replace(w.line, "one more", "a kingfisher", 1)
			hit := p.costs(3*b.rounds, func() { n++; goOn(path, said, n) }, "search", "--limit", "1", "kingfisher")
			b.add(row{what: "a search that finds the line just appended, " + mb(size), figure: ms(hit.cpu), baseline: "above a start",
				ratio: float64(hit.cpu-start.cpu) / 1e6, unit: "ms", target: 40, most: true})
		}
		check(os.RemoveAll(p.home))
	}
}

// goOn appends a record to a log, which is opened and closed for each line, as most agents do.
func goOn(path, line string, n int) {
	f := must(os.OpenFile(path, os.O_APPEND|os.O_RDWR, 0))
	defer f.Close()
	must(fmt.Fprintf(f, line+"%[3]s", n, lastID(f), "\n"))
}

// lastID returns the id of the last entry of a log, "" if it has none. The last record of a generated log is in the last
// megabyte.
func lastID(f *os.File) string {
	info := must(f.Stat())
	tail := make([]byte, min(1<<20, info.Size()))
	must(f.ReadAt(tail, info.Size()-int64(len(tail))))
	tail = bytes.TrimSuffix(tail, []byte("\n"))
	line := tail[bytes.LastIndexByte(tail, '\n')+1:]
	_, after, _ := bytes.Cut(line, []byte(`"id":"`))
	id, _, _ := bytes.Cut(after, []byte(`"`))
	return string(id)
}
