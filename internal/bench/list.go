package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/place"
)

// list lists many sessions without an index, as for a folder that is listed only once (ls --root), beside the sizes and times of the same
// files. Only the two ends of each file are read.
func list(b *bench) {
	sessions := b.size(10_000)
	root := filepath.Join(b.dir, "agent")
	check(gen.Tree(root, gen.TreeOptions{Seed: 1, Sessions: sessions, Bytes: int64(sessions) * 40_000}))
	// A list is made by a process with little else in memory, so it pays for its garbage collection.
	b.log = nil
	s := b.newStore(root)
	var paths []string
	// Errors of single rows fail the group: a file that cannot be read would cost nothing.
	listed := b.best(func() {
		paths = paths[:0]
		for _, r := range must(s.List(context.Background(), place.ListOptions{})) {
			check(r.Err)
			paths = append(paths, r.Path)
		}
	})
	// An incomplete list does not count.
	if len(paths) != sessions {
		check(fmt.Errorf("%d sessions were listed, not %d", len(paths), sessions))
	}
	walk := b.best(func() { must(diskSize(root)) })
	// The paths are known here, so this is a lower bound; the row has no target.
	stat := b.best(func() {
		for _, p := range paths {
			must(os.Stat(p))
		}
	})
	what := fmt.Sprintf("ls of %d sessions", sessions)
	b.slower(what, listed, "walk and stat", walk, 5)
	b.slower(what, listed, "stat alone, paths known,", stat, 0)
}
