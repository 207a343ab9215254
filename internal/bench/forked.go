package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/treeline-dev/treeline/internal/gen"
)

// forked opens a rollout of Codex that continues an early record of a large one. Only the part before that record may be read.
func forked(b *bench) {
	const base, fork = "019cac0f-0000-7000-8000-000000000001", "019cac0f-0000-7000-8000-000000000002"
	dir := filepath.Join(b.dir, "codex", "sessions", "2026", "04", "01")
	check(os.MkdirAll(dir, 0o700))
	name := func(id string) string { return filepath.Join(dir, "rollout-2026-04-01T10-00-00-"+id+".jsonl") }
	log := gen.Session(gen.Options{Seed: 4, Bytes: int64(b.size(100_000_000))})
	whole, used, _ := gen.CodexLog(log, gen.CodexOptions{ID: base, Paginated: true})
	check(os.WriteFile(name(base), whole, 0o600))
	const kept = 100 // records
	end := 0
	for range kept {
		end += bytes.IndexByte(whole[end:], '\n') + 1
	}
	suffix, _, _ := gen.CodexLog(gen.Session(gen.Options{Seed: 5, Entries: 20}), gen.CodexOptions{
		ID: fork, Paginated: true, From: kept, Used: used,
		Meta: fmt.Sprintf(`,"forked_from_id":%q,"history_base":{"thread_id":%q,"end_ordinal_exclusive":%d,"end_byte_offset":%d}`, base, base, kept, end),
	})
	check(os.WriteFile(name(fork), suffix, 0o600))
	s := b.newStore(filepath.Join(b.dir, "codex"))
	all := b.best(func() { openContext(s, name(base), false) })
	some := b.best(func() { openContext(s, name(fork), false) })
	b.slower(fmt.Sprintf("open a fork of Codex, %d records of a base of %s", kept, mb(int64(len(whole)))), some, "open the base", all, 0.1)
	check(os.RemoveAll(filepath.Join(b.dir, "codex")))
}
