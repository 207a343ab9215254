package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/export"
	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/internal/redact"
)

// redacting searches the lines of the session for secrets, as the check for secrets does. The rate on this machine counts.
func redacting(b *bench) {
	_, log := b.session()
	lines := strings.Split(string(log), "\n")
	redact.Find("") // the rules are made once
	d := b.best(func() {
		for _, line := range lines {
			redact.Find(line)
		}
	})
	b.add(row{what: "find secrets in texts", figure: ms(d), baseline: mb(int64(len(log))), ratio: 1000 * speed(len(log), d), unit: "MB/s", target: 20})
}

// exporting writes all branches of a session of 10 MB. The limit is 2 s with redaction.
func exporting(b *bench) {
	path := filepath.Join(b.dir, "export.jsonl")
	size := b.size(10_000_000)
	check(os.WriteFile(path, gen.Session(gen.Options{Seed: 1, Bytes: int64(size), Branches: 20}), 0o600))
	st, ctx := b.newStore(), context.Background()
	for _, f := range export.Formats {
		d := b.best(func() {
			s := must(st.Open(ctx, path, treeline.OpenOptions{}))
			must(export.Write(ctx, io.Discard, s, export.Options{Format: f, AllBranches: true, Redact: true}))
			check(s.Close())
		})
		b.add(row{what: "export as " + string(f), figure: ms(d), baseline: mb(int64(size)), ratio: d.Seconds() / float64(size) * 1e7, unit: "s per 10 MB", target: 2, most: true})
	}
}
