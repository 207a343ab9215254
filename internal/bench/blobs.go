package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/treeline-dev/treeline/blob"
)

// blobs measures blobs of several sizes beside files that are synced, as an object store writes them.
func blobs(d *databaseBench, number func(sql string) float64, written string) {
	ctx := context.Background()
	be := d.open(1)
	defer be.Close()
	must(be.Create(ctx, "blobs.jsonl")) // makes the tables
	store, r := be.Blobs(""), rand.NewChaCha8([32]byte{1})
	dir := must(os.MkdirTemp(d.b.dir, "blobs"))
	for _, size := range []int{100_000, 1_000_000, 10_000_000} {
		all := make([][]byte, max(d.b.size(50_000_000)/size, 1))
		for i := range all {
			all[i] = make([]byte, size)
			must(r.Read(all[i]))
		}
		refs := make([]blob.Ref, len(all))
		must(d.first.Exec(ctx, "checkpoint"))
		wal, start := number(written), time.Now()
		for i := range all {
			refs[i] = must(store.Put(ctx, all[i]))
		}
		put := time.Since(start)
		wal = number(written) - wal
		start = time.Now()
		for _, ref := range refs {
			f := must(store.Open(ctx, ref))
			must(io.Copy(io.Discard, f))
			check(f.Close())
		}
		read := time.Since(start)
		start = time.Now()
		for i := range all {
			f := must(os.CreateTemp(dir, ""))
			must(f.Write(all[i]))
			check(errors.Join(f.Sync(), f.Close()))
		}
		file := time.Since(start)
		total := float64(size * len(all))
		rate := func(t time.Duration) float64 { return total / 1e6 / t.Seconds() }
		d.b.add(row{what: fmt.Sprintf("postgres (elapsed): blobs of %s, written", mb(int64(size))), ratio: times(file, put),
			figure: fmt.Sprintf("%.3g MB/s, read %.3g MB/s, %.3g B of write-ahead log for each byte", rate(put), rate(read), wal/total), baseline: fmt.Sprintf("synced files %.3g MB/s", rate(file))})
	}
}
