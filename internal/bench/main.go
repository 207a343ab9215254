// Command bench prints a table of measurements, each beside a named baseline that was measured in the same run: a figure
// alone says more about the machine than about the program.
//
//	go run ./internal/bench            all rows, on a session of 100 MB
//	go run ./internal/bench -quick     the same rows on a tenth of it: the ratios are rougher
//	go run ./internal/bench -run open  the groups whose name matches
//	go run ./internal/bench -run search -large  on 10,000 sessions, 1.4 GB
//	go run ./internal/bench -run growth -large  on 100,000 small sessions, and on one of 1 GB
//	go run ./internal/bench -against main       the working tree beside a revision, by turns
//	go run ./internal/bench -report docs/benchmarks.md  all rows as a document, with the machine and what is not measured
//
// It measures the CPU time of the process and its children, the best of several runs: other work on the machine makes runs
// slower and never faster. Sessions are generated, with a fixed seed, in a temporary folder.
//
// A new group is one function and one line in groups. -against compares rows by their names.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"syscall"
	"time"
)

// group is a function that adds rows. -run selects groups by name.
type group struct {
	name string
	run  func(*bench)
}

// A group is a script in which every step can fail: check and must end it, and attempt returns the error.
type failure struct{ error }

func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

func (g group) attempt(b *bench) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = fmt.Errorf("%s: %w", g.name, r.error)
		default:
			panic(r)
		}
	}()
	g.run(b)
	return nil
}

// groups in the order of the table. Those that start the program come first: the memory of a child includes that of its
// parent before exec, so the parent must still be small.
var groups = []group{
	{"command", command},
	{"pi", besidePi},
	{"listed", listed},
	{"growth", growth},
	{"terminal", terminal},
	{"index", indexing},
	{"grown", grown},
	{"limits", limits},
	{"doubling", doubling},
	{"convert", conversion},
	{"scan", scan},
	{"families", families},
	{"open", open},
	{"rows", ofRows},
	{"forked", forked},
	{"heap", heap},
	{"context", contexts},
	{"list", list},
	{"search", search},
	{"ripgrep", besideRipgrep},
	{"append", appends},
	{"history", prompts},
	{"postgres", database},
	{"postgres push", pushing},
	{"postgres https", pushingSecurely},
	{"archive", archived},
	{"postgres scale", scale},
	{"watch", watching},
	{"view", viewing},
	{"redact", redacting},
	{"export", exporting},
}

// bench is one run of this program, with the data that several groups use.
type bench struct {
	table
	dir    string // of the data, removed at the end
	quick  bool
	large  bool // ten times as many sessions to search
	rounds int  // of which the best counts
	pi     string
	within time.Duration // see -within

	parts   []part   // the groups that were run
	missing []string // what was left out, and why

	log      []byte // see session
	jsonTime time.Duration
}

// size is n, or a tenth of it with -quick.
func (b *bench) size(n int) int {
	if b.quick {
		return n / 10
	}
	return n
}

func main() {
	quick := flag.Bool("quick", false, "a tenth of the data and fewer rounds")
	large := flag.Bool("large", false, "search 10,000 sessions: 1.4 GB, and some minutes; list 100,000 small ones, open one of 1 GB; list an archive of a million")
	only := flag.String("run", "", "only the groups whose name matches the `expression`")
	rev := flag.String("against", "", "compare the working tree with the `revision`; exit 1 if a row is worse by more than 10 %")
	rounds := flag.Int("rounds", 5, "rounds of -against, of which the best counts")
	data := flag.Bool("make", false, "internal: make data and exit (what, where, how many sessions, how many bytes)")
	walk := flag.String("walk", "", "internal: walk over a `folder` and exit")
	one := flag.Bool("do", false, "internal: do one operation and exit (which, path, rounds, number)")
	report := flag.String("report", "", "write the table as a document to the `file`")
	within := flag.Duration("within", 24*time.Hour, "with -report: start no group after this time")
	pi := flag.String("pi", "", "the `folder` with pi's packages from npm; they are installed there if they are missing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := error(nil)
	switch {
	case *walk != "":
		_, err = diskSize(*walk)
	case *data:
		err = group{"make", func(*bench) { makeData(flag.Args()) }}.attempt(nil)
	case *one:
		err = group{"do", func(*bench) { do(flag.Args()) }}.attempt(nil)
	case *rev != "":
		err = against(ctx, *rev, *rounds, []string{fmt.Sprint("-quick=", *quick), fmt.Sprint("-large=", *large), "-run=" + *only})
	default:
		err = run(ctx, &bench{quick: *quick, large: *large, pi: *pi, within: *within}, *only, *report)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run runs the groups and prints the table. It removes its data even if it is interrupted: they can be gigabytes.
func run(ctx context.Context, b *bench, only, report string) error {
	matches, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "treeline-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	defer context.AfterFunc(ctx, func() { // groups do not check ctx
		_ = os.RemoveAll(b.dir)
		os.Exit(130)
	})()

	b.rounds = 7
	if b.quick {
		b.rounds = 3
	}
	about := here(ctx)
	for _, g := range groups {
		if !matches.MatchString(g.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s…\n", g.name)
		first, began := len(b.rows), time.Now()
		err := errors.New("there was no time left")
		if report == "" || time.Since(about.began) < b.within {
			err = g.attempt(b)
		}
		if err != nil && report == "" {
			return err
		} else if err != nil {
			b.leaveOut(g.name, err) // the others still make a report
		}
		b.parts = append(b.parts, part{g.name, b.rows[first:len(b.rows):len(b.rows)], time.Since(began)})
		// A group does not pay for the garbage of the one before.
		runtime.GC()
	}
	// A misspelled -run must not look like a success.
	if len(b.rows) == 0 {
		return errors.New("no group has such a name")
	}
	fmt.Printf("%s %s/%s, GOMAXPROCS %d; %s, best of %d or more\n\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), clockName, b.rounds)
	b.print(os.Stdout)
	if report == "" {
		return nil
	}
	return os.WriteFile(report, b.document(about), 0o644)
}

// leaveOut records that a group needs something that is not available.
func (b *bench) leaveOut(group string, why error) {
	fmt.Fprintf(os.Stderr, "%s: left out: %v\n", group, why)
	b.missing = append(b.missing, fmt.Sprintf("%s: %v", group, why))
}
