package backendtest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

// kinds are the errors that a caller can tell apart. Two backends must agree on them.
var kinds = []error{backend.ErrNotExist, backend.ErrExist, backend.ErrConflict, backend.ErrChanged, backend.ErrName, backend.ErrRecord}

func kind(err error) string {
	for _, k := range kinds {
		if errors.Is(err, k) {
			return k.Error()
		}
	}
	if err != nil {
		return "another error"
	}
	return ""
}

// histories does the same random operations on the backend and on memory, and compares every answer. The seeds are fixed,
// so a failure can be repeated.
func histories(t *testing.T, p *prober) {
	rule := memory.LinesIf(func(name string) bool { return backend.Lines(p.b, name) })
	for seed := range soaktest.Size(soaktest.Part(5, 2), 100) {
		h := history{prober: p, rnd: rand.New(rand.NewPCG(uint64(seed), 0)), oracle: memory.New(rule), root: fmt.Sprintf("h%d", seed)}
		for range 150 {
			h.step()
		}
		h.compare()
	}
}

// seen is a Log of the same log at the same moment, from both sides.
type seen struct{ real, oracle backend.Log }

type history struct {
	*prober
	rnd    *rand.Rand
	oracle *memory.Backend
	root   string
	tokens []seen // all of them: old tokens are used again on purpose
	trace  []string
}

// name picks one of few, so that the same log is used often.
func (h *history) name() string {
	return h.root + []string{"/a.jsonl", "/b.jsonl", "/f/a.jsonl", "/f/g/c.jsonl", "/state.json"}[h.rnd.IntN(5)]
}

// records returns up to three records, sometimes with one that must be refused.
func (h *history) records() [][]byte {
	out := make([][]byte, h.rnd.IntN(4))
	for i := range out {
		out[i] = []byte(strings.Repeat(string(rune('a'+h.rnd.IntN(26))), h.rnd.IntN(90)))
		if h.rnd.IntN(40) == 0 {
			out[i] = append(out[i], '\n')
		}
	}
	return out
}

// token picks a Log that was seen, mostly the latest of its name.
func (h *history) token(name string) seen {
	var of []seen
	for _, s := range h.tokens {
		if s.real.Name == name {
			of = append(of, s)
		}
	}
	if len(of) == 0 {
		return seen{backend.Log{Name: name}, backend.Log{Name: name}}
	}
	if h.rnd.IntN(4) > 0 {
		return of[len(of)-1]
	}
	return of[h.rnd.IntN(len(of))]
}

// step does one operation on both.
func (h *history) step() {
	name := h.name()
	at := h.token(name)
	records := h.records()
	var now seen
	var err, oracle error
	what := "create"
	mirror, mirrors := h.b.(backend.Mirror)
	switch n := h.rnd.IntN(20); {
	case mirrors && n%5 == 2:
		what, now, err, oracle = h.mirror(mirror, at, records)
	case n < 3:
		now.real, err = h.b.Create(h.ctx, name, records...)
		now.oracle, oracle = h.oracle.Create(h.ctx, name, records...)
	case n < 12:
		what = "append"
		now.real, err = h.b.Append(h.ctx, at.real, records...)
		now.oracle, oracle = h.oracle.Append(h.ctx, at.oracle, records...)
	case n < 15:
		what = "replace"
		now.real, err = h.b.Replace(h.ctx, at.real, records...)
		now.oracle, oracle = h.oracle.Replace(h.ctx, at.oracle, records...)
	case n < 16:
		what = "remove"
		err, oracle = h.b.Remove(h.ctx, at.real), h.oracle.Remove(h.ctx, at.oracle)
	case n < 17:
		what = "reopen"
		h.again()
		h.oracle = h.oracle.Reopen()
	default:
		what = "read"
		got, e1 := readAll(h.ctx, h.b, at.real, 0)
		want, e2 := readAll(h.ctx, h.oracle, at.oracle, 0)
		if !slices.Equal(got, want) {
			h.Fatalf("%s: read %q, want %q\n%s", name, got, want, strings.Join(h.trace, "\n"))
		}
		if at.oracle.Size == 0 && e1 == nil && errors.Is(e2, backend.ErrChanged) {
			// A file system may reuse the inode of a removed file. Nothing else identifies an empty log, and nothing in
			// it could be read wrongly.
			e2 = nil
		}
		err, oracle = e1, e2
	}
	h.trace = append(h.trace, fmt.Sprintf("%s %s at %d: %v", what, name, at.oracle.Size, oracle))
	// Generations cannot be compared: each backend has its own.
	if kind(err) != kind(oracle) || now.real.Size != now.oracle.Size {
		h.Fatalf("%s %s: %v and size %d, want %v and size %d\n%s",
			what, name, err, now.real.Size, oracle, now.oracle.Size, strings.Join(h.trace, "\n"))
	}
	if err == nil && now.real.Name != "" {
		h.tokens = append(h.tokens, now)
	}
}

// mirror does an operation of backend.Mirror on both. The bytes are whole lines: an Append after an unterminated one would make names that
// depend on the clock.
func (h *history) mirror(m backend.Mirror, at seen, records [][]byte) (what string, now seen, err, oracle error) {
	content, mark := string(bytes.Join(append(records, nil), []byte{'\n'})), strconv.Itoa(len(h.trace))
	if h.rnd.IntN(3) > 0 {
		now.real, err = m.Extend(h.ctx, at.real, mark, strings.NewReader(content))
		now.oracle, oracle = h.oracle.Extend(h.ctx, at.oracle, mark, strings.NewReader(content))
		return "extend", now, err, oracle
	}
	now.real, err = m.Overwrite(h.ctx, at.real, mark, strings.NewReader(content))
	now.oracle, oracle = h.oracle.Overwrite(h.ctx, at.oracle, mark, strings.NewReader(content))
	return "overwrite", now, err, oracle
}

// compare compares all logs and their marks.
func (h *history) compare() {
	var got, want []string
	for _, at := range h.list(h.root + "/") {
		got = append(append(got, at.Name), h.read(at, 0)...)
	}
	oracle := &prober{T: h.T, b: h.oracle, ctx: h.ctx}
	for _, at := range oracle.list(h.root + "/") {
		want = append(append(want, at.Name), oracle.read(at, 0)...)
	}
	if m, ok := h.b.(backend.Mirror); ok && h.keepsMarks(m) {
		got, want = append(got, h.marks(m, h.root+"/")...), append(want, h.marks(h.oracle, h.root+"/")...)
	}
	if !slices.Equal(got, want) {
		h.Fatalf("at the end %q, want %q\n%s", got, want, strings.Join(h.trace, "\n"))
	}
}
