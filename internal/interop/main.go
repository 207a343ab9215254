// Command interop proves that this library and the real agents understand each other's files. It installs the agents'
// packages from npm in a temporary folder and makes three comparisons:
//
//   - trees: random trees to which pi 0.73 and this library append by turns; leaf, entries, labels, name and context.
//   - lists: random folders of sessions, whole and damaged; what pi 1.5 and oh-my-pi 13 list, call recent and would go on with,
//     beside the answers of the same methods of `treeline rpc`, and what `treeline ls` shows of them.
//   - history: one history.db that oh-my-pi 13 and this library search and write to, by turns and at once.
//
// oh-my-pi runs on bun, which comes from npm too.
//
//	make interop
//	go run ./internal/interop -trees 1000 -folders 500 -seed 7
//	go run ./internal/interop -only lists
//	go run ./internal/interop -installed DIR   # a folder for the packages, installed there once
//
// Where npm or node cannot be had it says so and fails: a comparison that was not made proves nothing.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
)

// options are the flags.
type options struct {
	trees, folders, queries int
	seed                    uint64
	installed, only         string
	work                    string // a temporary folder
}

// comparisons are what is done, in order.
var comparisons = []struct {
	name string
	run  func(context.Context, options) error
}{
	{"trees", compareTrees},
	{"lists", compareLists},
	{"history", compareHistory},
}

func main() {
	var opt options
	flag.IntVar(&opt.trees, "trees", 150, "how many random `trees` are written")
	flag.IntVar(&opt.folders, "folders", 20, "how many random `folders` are listed, for each agent")
	flag.IntVar(&opt.queries, "queries", 300, "how many random `queries` are asked of a history")
	flag.Uint64Var(&opt.seed, "seed", 1, "the `seed` of the first tree and folder")
	flag.StringVar(&opt.installed, "installed", "", "a `folder` in which the packages are kept, and installed where they are not")
	flag.StringVar(&opt.only, "only", "", "make one `comparison` only: trees, lists or history")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, opt); err != nil {
		fmt.Fprintln(os.Stderr, "interop:", err)
		os.Exit(1)
	}
}

// The packages lie in the temporary folder as well, unless -installed names another.
func run(ctx context.Context, opt options) (err error) {
	names := make([]string, len(comparisons))
	for i, c := range comparisons {
		names[i] = c.name
	}
	if opt.only != "" && !slices.Contains(names, opt.only) {
		return fmt.Errorf("-only takes one of %s, not %q", strings.Join(names, ", "), opt.only)
	}
	if opt.work, err = os.MkdirTemp("", "treeline-interop-"); err != nil {
		return err
	}
	defer os.RemoveAll(opt.work)
	for _, c := range comparisons {
		if opt.only != "" && opt.only != c.name {
			continue
		}
		if err := c.run(ctx, opt); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}
