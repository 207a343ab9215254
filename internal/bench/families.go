package main

import (
	"bytes"
	"fmt"
	"math"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/claude"
	"github.com/treeline-dev/treeline/dialect/codelia"
	"github.com/treeline-dev/treeline/dialect/codex"
	"github.com/treeline-dev/treeline/dialect/gemini"
	"github.com/treeline-dev/treeline/dialect/operator"
	"github.com/treeline-dev/treeline/dialect/pi"
	"github.com/treeline-dev/treeline/dialect/qwen"
	"github.com/treeline-dev/treeline/dialect/wave"
	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/session"
)

// families decodes one conversation in the format of each agent, and by turns in that of the pi family, to which the ratio refers. The
// group scan measures the speed of the pi family itself.
func families(b *bench) {
	log := gen.Session(gen.Options{Seed: 2, Bytes: int64(b.size(100_000_000)), Branches: 25})
	for _, f := range []struct {
		what    string
		d       dialect.Dialect
		convert func(session []byte) []byte
	}{
		{"operator", operator.Operator, gen.Operator},
		{"wave", wave.Wave, gen.Wave},
		{"codelia, runs", codelia.Codelia, gen.Run},
		{"codelia, states", codelia.State, gen.State},
		{"Claude Code", claude.Claude, gen.Claude},
		{"Codex", codex.Codex, gen.Codex},
		{"Codex with ordinals", codex.Codex, paginated},
		{"Gemini CLI", gemini.Gemini, gen.Gemini},
		{"Qwen Code", qwen.Qwen, gen.Qwen},
	} {
		other := f.convert(log)
		base, here := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
		// Three times, for the best of each.
		for range 3 {
			base = min(base, b.best(func() { decode(pi.Omp, log) }))
			here = min(here, b.best(func() { decode(f.d, other) }))
		}
		pi, own := speed(len(log), base), speed(len(other), here)
		b.add(row{what: "scan envelopes: " + f.what, figure: fmt.Sprintf("%.2f GB/s", own),
			baseline: fmt.Sprintf("pi family %.2f GB/s", pi), ratio: own / pi, target: 0.7})
	}
}

// paginated is gen.Codex in the current format of the program.
func paginated(log []byte) []byte {
	out, _, _ := gen.CodexLog(log, gen.CodexOptions{Paginated: true})
	return out
}

// decode decodes lines in memory into a tree. A problem fails the row, since a decoder that gives up is fast.
func decode(d dialect.Dialect, log []byte) {
	builder := session.NewBuilder("bench", nil)
	// Like the store, which knows the size of a file.
	builder.Expect(int64(len(log)))
	dec := d.NewDecoder(builder)
	line, at := 1, 0
	for at < len(log) {
		end := at + bytes.IndexByte(log[at:], '\n')
		dec.Decode(dialect.Record{Data: log[at:end], Offset: int64(at), Line: line})
		at = end + 1
		line++
	}
	check(dec.Finish())
	if problems := builder.Finish().Problems(); len(problems) > 0 {
		check(&problems[0])
	}
}
