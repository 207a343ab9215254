package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

// part is a row of the table: some tests of one package, or its fuzz targets.
type part struct {
	name string
	pkg  string
	run  string // the tests, as for go test -run; the targets of a fuzzer
	fuzz bool

	binary string
	did    soaktest.Line
	failed bool
}

var parts = []part{
	{name: "kill: files", pkg: "./backend/file", run: "^TestKill$"},
	{name: "kill: sessions", pkg: "./store", run: "^TestKill$"},
	{name: "kill: sessions of Codex", pkg: "./dialect/codex", run: "^TestKill$"},
	{name: "kill: library", pkg: "./rpc", run: "^TestKillEverything$/^library$"},
	{name: "kill: RPC", pkg: "./rpc", run: "^TestKillEverything$/^rpc$"},
	{name: "kill: commands, an agent", pkg: "./cmd/treeline", run: "^TestKillCommands$"},
	{name: "kill: rows", pkg: "./backend/rows", run: "^TestKill$"},
	{name: "kill: prompt history", pkg: "./history", run: "^TestKill$"},
	{name: "kill: index", pkg: "./index", run: "^TestKill$"},
	{name: "kill: push and pull", pkg: "./push", run: "^TestKill$"},
	{name: "beside an agent: files", pkg: "./backend/file", run: "^TestReplaceBesideAnAgent$"},
	{name: "beside an agent: sessions", pkg: "./store", run: "^TestRewriteBesideAnAgent$"},
	{name: "beside a program: rows", pkg: "./backend/rows", run: "^TestWritersBesideWriter$"},
	{name: "crashes: files", pkg: "./backend/file", run: "^TestCrash$"},
	{name: "crashes: sessions", pkg: "./store", run: "^TestCrash$"},
	{name: "faults: files", pkg: "./backend/file", run: "^TestFaults$"},
	{name: "faults: sessions", pkg: "./store", run: "^TestFaults$"},
	{name: "index and oracle: queries", pkg: "./index/query", run: "^TestFindsWhatTheOracleFinds$"},
	{name: "index and oracle: searches", pkg: "./find", run: "^TestSearchFindsWhatAScanFinds$"},
	{name: "index and oracle: lists", pkg: "./find", run: "^TestCatalogueHistories$"},
	{name: "index: interrupted updates", pkg: "./index/postgres", run: "^TestInterruptedTogether$"},
	{name: "conversions: there and back", pkg: "./convert", run: "^TestConvertRandom$"},
	{name: "conversions: continued", pkg: "./convert", run: "^TestConvertContinued$"},
	{name: "conversions: what is seen", pkg: "./convert", run: "^TestConvertPairs$"},
	{name: "conversions: what is sent", pkg: "./convert", run: "^TestConvertSendable$"},
	{name: "histories of Claude Code", pkg: "./dialect/claude", run: "^TestHistories$"},
	{name: "postgres: cut connections", pkg: "./backend/postgres", run: "^TestFaultCut$"},
	{name: "postgres: cut copies", pkg: "./backend/postgres", run: "^TestFaultMirror$"},
	{name: "postgres: restart, promotion", pkg: "./backend/postgres", run: "^TestFaultServer$"},
	{name: "fuzz: JSON", pkg: "./internal/rawjson", run: "FuzzValidAgreesWithEncodingJSON FuzzEditKeepsTheRest FuzzUnquote", fuzz: true},
	{name: "fuzz: lines", pkg: "./internal/jsonl", run: "FuzzSplitLikePlain", fuzz: true},
	{name: "fuzz: pi", pkg: "./dialect/pi", run: "FuzzDecode", fuzz: true},
	{name: "fuzz: Claude Code", pkg: "./dialect/claude", run: "FuzzDecode", fuzz: true},
	{name: "fuzz: Codex", pkg: "./dialect/codex", run: "FuzzDecode", fuzz: true},
	{name: "fuzz: Gemini CLI", pkg: "./dialect/gemini", run: "FuzzDecode", fuzz: true},
	{name: "fuzz: repairs", pkg: "./repair", run: "FuzzPlan", fuzz: true},
	{name: "fuzz: RPC", pkg: "./rpc", run: "FuzzServe", fuzz: true},
}

// run runs a part for a while, and adds its counts. out is the end of its output.
func (r *runner) run(ctx context.Context, p *part, length time.Duration, seed uint64) (out string, err error) {
	if p.fuzz {
		targets := strings.Fields(p.run)
		for _, target := range targets {
			if out, err = r.fuzz(ctx, p, target, length/time.Duration(len(targets))); err != nil {
				return out, err
			}
		}
		return out, nil
	}
	counts := filepath.Join(r.work, "counts")
	text, err := r.start(ctx, p, []string{
		soaktest.EnvTime + "=" + length.String(), soaktest.EnvSeed + "=" + strconv.FormatUint(seed, 10), soaktest.EnvCounts + "=" + counts,
	}, "-test.v", "-test.run", p.run, "-test.parallel", "8", "-test.timeout", (4*length + 5*time.Minute).String())
	return tail(text), errors.Join(err, p.add(counts))
}

// start runs the tests of a part in the folder of its package.
func (r *runner) start(ctx context.Context, p *part, env []string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, p.binary, args...)
	cmd.Dir = filepath.FromSlash(p.pkg)
	cmd.Env = append(os.Environ(), env...)
	return cmd.CombinedOutput()
}

// add adds the lines of a file of counts, and removes it.
func (p *part) add(path string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("no test counted anything")
	}
	if err != nil {
		return err
	}
	for line := range bytes.Lines(text) {
		var l soaktest.Line
		if err := json.Unmarshal(line, &l); err != nil {
			return fmt.Errorf("counts: %w", err)
		}
		p.did.Rounds += l.Rounds
		p.did.Acknowledged += l.Acknowledged
		p.did.Lost += l.Lost
		p.did.Unreadable += l.Unreadable
	}
	return os.Remove(path)
}

// tried matches the progress of a fuzzer. The fuzzer first tries its seeds, which may be all that it has time for in a short soak.
var tried = regexp.MustCompile(`(?:execs|baseline coverage): (\d+)`)

// triedIn returns how many inputs a fuzzer reports to have tried.
func triedIn(progress []byte) (n int64) {
	for _, m := range tried.FindAllSubmatch(progress, -1) {
		now, _ := strconv.ParseInt(string(m[1]), 10, 64) // digits
		n = max(n, now)
	}
	return n
}

// fuzz runs one target. Its rounds are the inputs that the fuzzer reports to have tried.
func (r *runner) fuzz(ctx context.Context, p *part, target string, length time.Duration) (string, error) {
	// Interesting inputs stay in a folder of this soak, so that later passes begin with them.
	cache := filepath.Join(r.work, "fuzz", filepath.Base(p.pkg))
	text, err := r.start(ctx, p, nil, "-test.run", "^$", "-test.fuzz", "^"+target+"$", "-test.fuzztime", max(length, time.Second).String(),
		"-test.parallel", "2", "-test.fuzzcachedir", cache, "-test.fuzzminimizetime", "200ms") // the usual minute would be most of the time
	if err != nil && bytes.Contains(text, []byte("context deadline exceeded")) && !bytes.Contains(text, []byte("Failing input written")) {
		err = nil // its time ended in the middle of an input
	}
	p.did.Rounds += triedIn(text)
	return tail(text), err
}

// table is the summary.
type table struct {
	text string
	ok   bool
}

// tableOf makes the table: a row for each part, and their sum.
func tableOf(list []*part, took time.Duration) table {
	var b strings.Builder
	var sum soaktest.Line
	failed := 0
	fmt.Fprintf(&b, "%-30s %12s %14s %8s %11s\n", "part", "rounds", "acknowledged", "losses", "unreadable")
	row := func(name string, l soaktest.Line, note string) {
		fmt.Fprintf(&b, "%-30s %12d %14d %8d %11d%s\n", name, l.Rounds, l.Acknowledged, l.Lost, l.Unreadable, note)
	}
	for _, p := range list {
		note := ""
		if p.failed {
			note = "  FAILED"
			failed++
		}
		row(p.name, p.did, note)
		sum.Rounds += p.did.Rounds
		sum.Acknowledged += p.did.Acknowledged
		sum.Lost += p.did.Lost
		sum.Unreadable += p.did.Unreadable
	}
	row("all", sum, "")
	fmt.Fprintf(&b, "%d parts in %v: %d failed\n", len(list), took.Round(time.Second), failed)
	return table{b.String(), failed == 0 && sum.Lost == 0 && sum.Unreadable == 0}
}
