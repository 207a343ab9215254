// Command soak runs the tests that kill, disturb and compare, again and again with other seeds, until its time is over. It prints the
// counts of each part, and at the end a table.
//
//	go run ./internal/soak                      ten minutes
//	go run ./internal/soak -time 1h             an hour
//	go run ./internal/soak -run postgres        the parts whose name matches
//	go run ./internal/soak -seed 1763300000     the random choices of another soak
//
// The counts come from the tests (package soaktest) and from the fuzzer. A part that fails, does nothing, loses an entry or finds a file that
// cannot be read makes the exit code 1; what it printed is shown.
//
// A new part is a line in parts.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

func main() {
	length := flag.Duration("time", 10*time.Minute, "how long")
	only := flag.String("run", ".", "the parts whose name matches")
	seed := flag.Uint64("seed", uint64(time.Now().Unix()), "makes the random choices")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ok, err := soak(ctx, *length, *only, *seed)
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// runner has the compiled tests.
type runner struct {
	work     string            // a temporary folder
	binaries map[string]string // by package
	until    time.Time
	seed     uint64
}

func soak(ctx context.Context, length time.Duration, only string, seed uint64) (ok bool, err error) {
	which, err := regexp.Compile(only)
	if err != nil {
		return false, err
	}
	work, err := os.MkdirTemp("", "treeline-soak-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	r := &runner{work: work, binaries: map[string]string{}, seed: seed}
	var list []*part
	for i := range parts {
		if which.MatchString(parts[i].name) {
			list = append(list, &parts[i])
		}
	}
	if len(list) == 0 {
		return false, fmt.Errorf("no part matches %s", only)
	}
	for _, p := range list {
		if err := r.build(ctx, p); err != nil {
			return false, err
		}
	}
	began := time.Now()
	r.until = began.Add(length)
	fmt.Printf("soak: %d parts, %v, seed %d\n", len(list), length, seed)
	failures := r.passes(ctx, list)
	table := tableOf(list, time.Since(began))
	fmt.Print("\n", table.text)
	for _, f := range failures {
		fmt.Printf("\n%s\n", f)
	}
	return len(failures) == 0 && table.ok && ctx.Err() == nil, nil
}

// slice is the longest time of one part in a pass. A longer soak has more passes, each with another seed.
const slice = 30 * time.Second

// passes runs all parts in turn until the time is over. Every part runs once. A part that has failed does not run again.
func (r *runner) passes(ctx context.Context, list []*part) (failures []string) {
	for pass := 0; pass == 0 || time.Until(r.until) > slice; pass++ {
		for i, p := range list {
			if ctx.Err() != nil || p.failed {
				continue
			}
			left := time.Until(r.until) / time.Duration(len(list)-i)
			length := max(min(left, slice), time.Second)
			before := p.did
			began := time.Now()
			out, err := r.run(ctx, p, length, r.seed+uint64(pass))
			if err == nil && p.did.Rounds == before.Rounds {
				err = errors.New("it did nothing")
			}
			fmt.Printf("%s  pass %d  %-28s %7d rounds  %7d acknowledged  %4.0f s\n", time.Now().UTC().Format("15:04:05"), pass+1, p.name,
				p.did.Rounds-before.Rounds, p.did.Acknowledged-before.Acknowledged, time.Since(began).Seconds())
			if err != nil && ctx.Err() == nil {
				p.failed = true
				fmt.Printf("          %s FAILED: %v\n", p.name, err)
				failures = append(failures, fmt.Sprintf("%s, TREELINE_SOAK_SEED=%d: %v\n%s", p.name, r.seed+uint64(pass), err, out))
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	return failures
}

// build compiles the tests of a part.
func (r *runner) build(ctx context.Context, p *part) error {
	key := p.pkg
	if p.fuzz {
		key += " fuzz" // instrumented
	}
	if p.binary = r.binaries[key]; p.binary != "" {
		return nil
	}
	p.binary = filepath.Join(r.work, fmt.Sprintf("%d.test", len(r.binaries)))
	args := []string{"test", "-c", "-o", p.binary}
	if p.fuzz {
		args = append(args, "-fuzz", ".")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, p.pkg)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", p.pkg, err, out)
	}
	r.binaries[key] = p.binary
	return nil
}

// tail returns the end of an output: enough to see what failed.
func tail(out []byte) string {
	const most = 8000
	if len(out) > most {
		out = append([]byte("…"), out[len(out)-most:]...)
	}
	return strings.TrimSpace(string(bytes.ToValidUTF8(out, nil)))
}
