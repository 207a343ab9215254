package main

import (
	"bytes"
	"fmt"
	"time"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/claude"
	"github.com/treeline-dev/treeline/dialect/codelia"
	"github.com/treeline-dev/treeline/dialect/codex"
	"github.com/treeline-dev/treeline/dialect/operator"
	"github.com/treeline-dev/treeline/dialect/pi"
	"github.com/treeline-dev/treeline/dialect/wave"
	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/session"
)

// families decodes one conversation in the format of each agent, by turns. The ratio is against the pi family, whose own
// speed the group scan measures.
func families(b *bench) {
	log := gen.Session(gen.Options{Seed: 2, Bytes: int64(b.size(20_000_000)), Branches: 5})
	list := []struct {
		what string
		d    dialect.Dialect
		log  []byte
		time time.Duration
	}{
		{what: "pi", d: pi.Omp, log: log},
		{what: "operator", d: operator.Operator, log: gen.Operator(log)},
		{what: "wave", d: wave.Wave, log: gen.Wave(log)},
		{what: "codelia, runs", d: codelia.Codelia, log: gen.Run(log)},
		{what: "codelia, states", d: codelia.State, log: gen.State(log)},
		{what: "Claude Code", d: claude.Claude, log: gen.Claude(log)},
		{what: "Codex", d: codex.Codex, log: gen.Codex(log)},
	}
	// Three times, for the best of each.
	for n := range 3 {
		for i := range list {
			f := &list[i]
			if d := b.best(func() { decode(f.d, f.log) }); n == 0 || d < f.time {
				f.time = d
			}
		}
	}
	pi := speed(len(log), list[0].time)
	for _, f := range list[1:] {
		here := speed(len(f.log), f.time)
		b.add(row{what: "scan envelopes: " + f.what, figure: fmt.Sprintf("%.2f GB/s", here),
			baseline: fmt.Sprintf("pi family %.2f GB/s", pi), ratio: here / pi, target: 0.7})
	}
}

// decode decodes lines in memory into a tree. A problem fails the row, since a decoder that gives up is fast.
func decode(d dialect.Dialect, log []byte) {
	builder := session.NewBuilder("bench", nil)
	// As the store does, which knows the size of a file.
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
