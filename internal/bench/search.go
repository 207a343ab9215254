package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// search measures searches with the program, above its start, since users wait for opening the index as well. The words are
// taken from the sessions, and are the same in every run.
func search(b *bench) {
	sessions, factor := b.size(1000), 1.0
	if b.large {
		sessions, factor = 10_000, 3 // ten times the sessions may take three times as long
	}
	p := b.program(filepath.Join(b.dir, "search"))
	agent := filepath.Join(p.home, ".omp", "agent")
	check(gen.Tree(agent, gen.TreeOptions{Seed: 1, Sessions: sessions}))
	start := p.costs(3*b.rounds, nil, "version").cpu
	above := func(rounds int, before func(), args ...string) time.Duration {
		return max(p.costs(rounds, before, args...).cpu-start, 0)
	}
	scale := b.scale()
	logs, size := readLogs(agent)
	questions := choose(logs)
	what := fmt.Sprintf("%d sessions: ", sessions)

	rounds := 3
	if b.quick || b.large {
		rounds = 1
	}
	cold := above(rounds, p.forget, "ls", "--all", "--json")
	// Scaled to 142 MB, a thousand sessions, so that -quick and -large can be compared with the limit.
	b.add(row{what: what + "cold index", figure: ms(cold), baseline: "for 142 MB, as on a machine with 86 MB/s",
		ratio: cold.Seconds() * scale * 142e6 / float64(size), unit: "s", target: 3, most: true})
	kept := must(diskSize(p.cache()))
	b.add(row{what: what + "size of the index", figure: mb(kept), baseline: "the logs " + mb(size),
		ratio: float64(kept) / float64(size), target: 0.15, most: true})

	naive := naiveScan(b, agent)
	for _, q := range questions {
		rounds := b.rounds
		if q.most == 0 {
			rounds = 1 // it takes seconds, and is compared with one run
		}
		took := above(rounds, nil, append([]string{"search", "--limit", q.limit}, q.args...)...)
		r := row{what: what + q.what, figure: ms(took), baseline: fmt.Sprintf("a naive scan %s; as on a machine with 86 MB/s", ms(naive)),
			ratio: float64(took) / 1e6 * scale, unit: "ms", target: q.most * factor, most: true}
		if q.most == 0 {
			r.ratio, r.unit, r.target = times(took, naive), "", 1
		}
		b.add(r)
	}
}

// withoutLiterals is an expression without literals: signatures exclude nothing, so every record is read.
const withoutLiterals = `\d[a-z]\d[a-z]\d[a-z]`

// naiveScan decodes every entry of every session and matches an expression in its texts. One round, since it takes long.
func naiveScan(b *bench, root string) time.Duration {
	s, ctx := b.newStore(root), context.Background()
	re := regexp.MustCompile("(?i)" + withoutLiterals)
	runtime.GC()
	start := clock()
	for _, row := range must(s.List(ctx, place.ListOptions{})) {
		sess := must(s.Open(ctx, row.Path, treeline.OpenOptions{}))
		for e := range sess.Tree().Entries() {
			for _, p := range must(e.Parts()) {
				matchPart(re, p)
			}
		}
		check(sess.Close())
	}
	return max(clock()-start, 1)
}

// matchPart decodes arguments token by token, since a search does not find keys.
func matchPart(re *regexp.Regexp, p session.Part) bool {
	switch p := p.(type) {
	case session.Text:
		return re.MatchString(p.Text)
	case session.Thinking:
		return re.MatchString(p.Text)
	case session.ToolCall:
		dec := json.NewDecoder(bytes.NewReader(p.Arguments))
		for token, err := dec.Token(); err == nil; token, err = dec.Token() {
			if text, ok := token.(string); ok && re.MatchString(text) {
				return true
			}
		}
	case session.ToolResult:
		return slices.ContainsFunc(p.Parts, func(p session.Part) bool { return matchPart(re, p) })
	}
	return false
}

// readLogs reads all sessions into memory; no child is measured for memory after this.
func readLogs(root string) (logs [][]byte, size int64) {
	check(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		logs, size = append(logs, data), size+int64(len(data))
		return err
	}))
	return logs, size
}

// question is a search and its limit in milliseconds; 0 is the time of a naive scan.
type question struct {
	what  string
	args  []string
	limit string
	most  float64
}

// choose finds words of the right frequency in a session in the middle of the folder. They depend on the seed only.
func choose(logs [][]byte) []question {
	in := func(text string) (n int) {
		for _, log := range logs {
			if bytes.Contains(log, []byte(text)) {
				n++
			}
		}
		return n
	}
	// One session in twenty: rare, but not unique.
	few := max(len(logs)/20, 1)
	rare, phrase, part := "", "", ""
	middle := logs[len(logs)/2]
	for _, w := range regexp.MustCompile(`[a-z]+[A-Z][a-zA-Z]+`).FindAll(middle, -1) {
		if rare == "" && in(string(w)) <= few {
			rare = string(w)
		}
		if inner := string(w[1 : len(w)-1]); part == "" && len(inner) >= 6 && in(inner) <= few {
			part = inner
		}
	}
	for _, m := range regexp.MustCompile(` [a-z]+ [a-z]+ [a-z]+ `).FindAll(middle, -1) {
		if in(string(m)) <= few {
			phrase = strings.TrimSpace(string(m))
			break
		}
	}
	// Very common words in a rare order, where the keys of words do not help.
	common, least := "", len(logs)+1
	const everywhere = "(?:the|to|is|of|in|for|and|it|that|or|on|be|as|if|from)"
	for _, m := range regexp.MustCompile(" "+everywhere+" "+everywhere+" "+everywhere+" ").FindAll(bytes.Join(logs[:min(len(logs), 50)], nil), 40) {
		if n := in(string(m)); n < least {
			common, least = strings.TrimSpace(string(m)), n
		}
	}
	return []question{
		{"a rare word", []string{rare}, "20", 40},
		{"two common words", []string{"error", "function"}, "20", 40},
		{"a phrase", []string{`"` + phrase + `"`}, "20", 40},
		{"a rare phrase of very common words", []string{`"` + common + `"`}, "20", 40},
		{"a very common word", []string{"the"}, "20", 40},
		{"two letters that do not occur", []string{"zq"}, "20", 40},
		{"a word that does not occur", []string{"qqxzzy", "the"}, "20", 40},
		{"a substring", []string{"*" + part + "*"}, "20", 150},
		{"a regular expression", []string{"--regexp", part[:len(part)-1] + `\w+`}, "20", 150},
		{"an expression without literals", []string{"--regexp", withoutLiterals}, "0", 0},
		{"a common word, all of it", []string{"function"}, "0", 0},
		{"a very common word, ranked", []string{"the", "--rank"}, "20", 0},
		{"a common word of tools, in prompts", []string{"const", "--in", "user"}, "20", 0},
	}
}
