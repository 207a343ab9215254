// Command bench prints a table of measurements, each beside a named baseline that was measured in the same run: a figure
// alone says more about the machine than about the program.
//
//	go run ./internal/bench            all rows, on a session of 100 MB
//	go run ./internal/bench -quick     the same rows on a tenth of it: the ratios are rougher
//	go run ./internal/bench -run open  the groups whose name matches
//	go run ./internal/bench -run search -large  on 10,000 sessions, 1.4 GB
//	go run ./internal/bench -run growth -large  on 100,000 small sessions, and on one of 1 GB
//	go run ./internal/bench -against main       the working tree beside a revision, by turns
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
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := error(nil)
	switch {
	case *walk != "":
		_, err = diskSize(*walk)
	case *data:
		err = group{"make", func(*bench) { makeData(flag.Args()) }}.attempt(nil)
	case *rev != "":
		err = against(ctx, *rev, *rounds, []string{fmt.Sprint("-quick=", *quick), fmt.Sprint("-large=", *large), "-run=" + *only})
	default:
		err = run(ctx, *quick, *large, *only)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run removes its data also when it is interrupted: they can be gigabytes.
func run(ctx context.Context, quick, large bool, only string) error {
	matches, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "treeline-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	defer context.AfterFunc(ctx, func() { // no group looks at ctx
		os.RemoveAll(dir)
		os.Exit(130)
	})()

	b := &bench{dir: dir, quick: quick, large: large, rounds: 7}
	if quick {
		b.rounds = 3
	}
	for _, g := range groups {
		if !matches.MatchString(g.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s…\n", g.name)
		if err := g.attempt(b); err != nil {
			return err
		}
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
	return nil
}
