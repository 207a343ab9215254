package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/place"
)

// list lists many sessions without an index, as for a folder that is looked at once (ls --root), beside the sizes and times
// of the same files. Only the two ends of each file are read.
func list(b *bench) error {
	sessions := 10_000
	if b.quick {
		sessions /= 10
	}
	root := filepath.Join(b.dir, "agent")
	if err := gen.Tree(root, gen.TreeOptions{Seed: 1, Sessions: sessions, Bytes: int64(sessions) * 40_000}); err != nil {
		return err
	}
	// A list is made by a process with little else in memory, so it pays for its garbage collection.
	b.log = nil
	s, err := b.newStore(root)
	if err != nil {
		return err
	}
	var paths []string
	// Errors of single rows fail the group: a file that is not read costs nothing.
	listed, err := b.best(func() error {
		rows, err := s.List(context.Background(), place.ListOptions{})
		if err != nil {
			return err
		}
		paths = paths[:0]
		for _, r := range rows {
			if r.Err != nil {
				return fmt.Errorf("%s: %w", r.Path, r.Err)
			}
			paths = append(paths, r.Path)
		}
		return nil
	})
	if err != nil {
		return err
	}
	// An incomplete list does not count.
	if len(paths) != sessions {
		return fmt.Errorf("%d sessions were listed, not %d", len(paths), sessions)
	}
	walk, err := b.best(func() error {
		return filepath.WalkDir(root, func(_ string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				_, err = d.Info()
			}
			return err
		})
	})
	if err != nil {
		return err
	}
	// The paths are known here, so this is a lower bound; the row has no target.
	stat, err := b.best(func() error {
		for _, p := range paths {
			if _, err := os.Stat(p); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	what := fmt.Sprintf("ls of %d sessions", sessions)
	ratio := func(base time.Duration) float64 { return float64(listed) / float64(base) }
	b.add(row{what: what, figure: ms(listed), baseline: "walk and stat " + ms(walk), ratio: ratio(walk), target: 5, most: true})
	b.add(row{what: what, figure: ms(listed), baseline: "stat alone, paths known, " + ms(stat), ratio: ratio(stat)})
	return nil
}
