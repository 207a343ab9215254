// Command interop proves that sessions written by this library are read by the real pi as we read them, and the other way
// round. It installs the agent's package from npm in a temporary folder, writes random trees, and compares leaf, entries,
// labels, name and context after each of several turns in which both sides append to the same files.
//
//	make interop
//	go run ./internal/interop -trees 1000 -seed 7
//	go run ./internal/interop -installed DIR   # a folder in which the package was installed before
//
// Where npm or node cannot be had it says so and fails: a comparison that was not made proves nothing.
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const agent = "@mariozechner/pi-coding-agent@0.73.1"

//go:embed peer.mjs
var peerScript []byte

func main() {
	trees := flag.Int("trees", 150, "how many random `trees` are written")
	seed := flag.Uint64("seed", 1, "the `seed` of the first tree")
	installed := flag.String("installed", "", "a `folder` in which "+agent+" is installed already")
	flag.Parse()
	if err := run(*trees, *seed, *installed); err != nil {
		fmt.Fprintln(os.Stderr, "interop:", err)
		os.Exit(1)
	}
}

func run(trees int, seed uint64, installed string) error {
	work, err := os.MkdirTemp("", "treeline-interop-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if installed == "" {
		installed = filepath.Join(work, "npm")
		if err := install(installed); err != nil {
			return err
		}
	}
	p, err := startPeer(installed, work)
	if err != nil {
		return err
	}
	defer p.stop()
	began, entries := time.Now(), 0
	for i := range trees {
		t := newTrial(work, p, seed+uint64(i))
		if err := t.run(context.Background()); err != nil {
			return fmt.Errorf("tree %d of seed %d: %w", i, seed+uint64(i), err)
		}
		entries += t.entries
	}
	fmt.Printf("interop: %d trees with %d entries: %s and this library see the same leaf, entries, labels, name and context (%d comparisons, %.1f s)\n",
		trees, entries, agent, p.asked, time.Since(began).Seconds())
	return nil
}

// install gets the agent's package.
func install(dir string) error {
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%s is needed to run the real agent: %w", tool, err)
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"private":true}`), 0o600); err != nil {
		return err
	}
	fmt.Println("interop: installing", agent)
	cmd := exec.Command("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", agent)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s cannot be had from npm, so nothing was compared: %w\n%s", agent, err, strings.TrimSpace(string(out)))
	}
	return nil
}
