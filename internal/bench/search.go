package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
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
func search(b *bench) error {
	sessions := 1000
	switch {
	case b.large:
		sessions = 10_000
	case b.quick:
		sessions = 100
	}
	home := filepath.Join(b.dir, "search")
	if err := gen.Tree(filepath.Join(home, ".omp/agent"), gen.TreeOptions{Seed: 1, Sessions: sessions}); err != nil {
		return err
	}
	p, err := b.newProgram(home)
	if err != nil {
		return err
	}
	scale, err := b.scale()
	if err != nil {
		return err
	}
	// Ten times the sessions may take three times as long.
	times := 1.0
	if b.large {
		times = 3
	}
	logs, size, err := readLogs(home)
	if err != nil {
		return err
	}
	questions := choose(logs)
	what := fmt.Sprintf("%d sessions: ", sessions)
	if err := coldIndex(b, p, what, size, scale); err != nil {
		return err
	}
	naive, err := naiveScan(b, filepath.Join(home, ".omp/agent"))
	if err != nil {
		return err
	}
	for _, q := range questions {
		rounds := b.rounds
		if q.most == 0 {
			rounds = 1 // it takes seconds, and is compared with one run
		}
		took, err := p.above(rounds, append([]string{"search", "--limit", q.limit}, q.args...)...)
		if err != nil {
			return err
		}
		r := row{what: what + q.what, figure: ms(took), baseline: fmt.Sprintf("a naive scan %s; as on a machine with 86 MB/s", ms(naive)),
			ratio: float64(took) / 1e6 * scale, unit: "ms", target: q.most * times, most: true}
		if q.most == 0 {
			r.ratio, r.unit, r.target = float64(took)/float64(naive), "", 1
		}
		b.add(r)
	}
	return nil
}

// program is the program with a home and a cache of its own.
type program struct {
	path  string
	env   []string
	start time.Duration // cost of a start
}

func (b *bench) newProgram(home string) (*program, error) {
	p := &program{path: filepath.Join(b.dir, "treeline"), env: append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+filepath.Join(home, "cache"))}
	if runtime.GOOS == "windows" {
		p.path += ".exe"
	}
	build := exec.Command("go", "build", "-o", p.path, "github.com/treeline-dev/treeline/cmd/treeline")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, out)
	}
	var err error
	p.start, err = p.best(3*b.rounds, "version")
	return p, err
}

// best returns the least CPU time of a command. Exit code 1 means that nothing was found, which is intended for some
// questions.
func (p *program) best(rounds int, args ...string) (time.Duration, error) {
	least := time.Duration(1<<63 - 1)
	for range rounds {
		cmd := exec.Command(p.path, args...)
		cmd.Env = p.env
		var problem bytes.Buffer
		cmd.Stderr = &problem
		err := cmd.Run()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == 1 && bytes.Contains(problem.Bytes(), []byte("nothing found")) {
			err = nil
		}
		if err != nil {
			return 0, fmt.Errorf("treeline %s: %w: %s", strings.Join(args, " "), err, problem.Bytes())
		}
		least = min(least, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	}
	return least, nil
}

// above is best without the start.
func (p *program) above(rounds int, args ...string) (time.Duration, error) {
	d, err := p.best(rounds, args...)
	return max(d-p.start, 0), err
}

// coldIndex measures the first index of all sessions, and its size. The time is scaled to 142 MB, a thousand sessions, so
// that -quick and -large can be compared with the limit.
func coldIndex(b *bench, p *program, what string, size int64, scale float64) error {
	cache := ""
	for _, e := range p.env {
		if dir, ok := strings.CutPrefix(e, "XDG_CACHE_HOME="); ok {
			cache = dir
		}
	}
	least := time.Duration(1<<63 - 1)
	rounds := 3
	if b.quick || b.large {
		rounds = 1
	}
	for range rounds {
		if err := os.RemoveAll(cache); err != nil {
			return err
		}
		took, err := p.above(1, "ls", "--all", "--json")
		if err != nil {
			return err
		}
		least = min(least, took)
	}
	r := row{what: what + "cold index", figure: ms(least), baseline: "for 142 MB, as on a machine with 86 MB/s", unit: "s", target: 3, most: true}
	r.ratio = least.Seconds() * scale * 142e6 / float64(size)
	b.add(r)
	var kept int64
	err := filepath.WalkDir(cache, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		kept += info.Size()
		return err
	})
	b.add(row{what: what + "size of the index", figure: mb(kept), baseline: "the logs " + mb(size), ratio: float64(kept) / float64(size), target: 0.15, most: true})
	return err
}

// withoutLiterals is an expression without literals: signatures exclude nothing, so every record is read.
const withoutLiterals = `\d[a-z]\d[a-z]\d[a-z]`

// naiveScan decodes every entry of every session and matches an expression in its texts. One round, since it takes long.
func naiveScan(b *bench, root string) (time.Duration, error) {
	s, err := b.newStore(root)
	if err != nil {
		return 0, err
	}
	re := regexp.MustCompile("(?i)" + withoutLiterals)
	rounds := b.rounds
	b.rounds = 1
	defer func() { b.rounds = rounds }()
	return b.best(func() error {
		rows, err := s.List(context.Background(), place.ListOptions{})
		if err != nil {
			return err
		}
		for i := range rows {
			sess, err := s.Open(context.Background(), rows[i].Path, treeline.OpenOptions{})
			if err != nil {
				return err
			}
			for e := range sess.Tree().Entries() {
				parts, err := e.Parts()
				if err != nil {
					return err
				}
				for _, p := range parts {
					matchPart(re, p)
				}
			}
			if err := sess.Close(); err != nil {
				return err
			}
		}
		return nil
	})
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
func readLogs(home string) (logs [][]byte, size int64, err error) {
	err = filepath.WalkDir(filepath.Join(home, ".omp/agent"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		logs, size = append(logs, data), size+int64(len(data))
		return err
	})
	return logs, size, err
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
	words := regexp.MustCompile(`[a-z]+[A-Z][a-zA-Z]+`).FindAll(logs[len(logs)/2], -1)
	for _, w := range words {
		if rare == "" && in(string(w)) <= few {
			rare = string(w)
		}
		if inner := string(w[1 : len(w)-1]); part == "" && len(inner) >= 6 && in(inner) <= few {
			part = inner
		}
	}
	for _, m := range regexp.MustCompile(` [a-z]+ [a-z]+ [a-z]+ `).FindAll(logs[len(logs)/2], -1) {
		if n := in(string(m)); n <= few {
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
