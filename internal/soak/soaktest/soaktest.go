// Package soaktest lets a test repeat its rounds for as long as `make soak` has time, and counts what it did. In plain
// `go test` a test does its usual rounds with its usual seeds, and the counts go nowhere.
//
//	c := soaktest.Begin(t)
//	rnd := rand.New(rand.NewPCG(c.Seed(1), 0))
//	for range c.Rounds(20, 5) {
//		…
//		c.Acknowledged(len(ids))
//		if missing {
//			c.Lost("entry %s was acknowledged and is lost", id)
//		}
//	}
//
// TREELINE_CI is set in CI. TREELINE_SOAK is how long the rounds of each test take, such as 30s. TREELINE_SOAK_SEED makes other random choices;
// the program internal/soak sets it and prints it. TREELINE_SOAK_COUNTS is a file to which each test appends a line of counts.
package soaktest

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"iter"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

// The variables of the environment.
const (
	EnvCI     = "TREELINE_CI"
	EnvTime   = "TREELINE_SOAK"
	EnvSeed   = "TREELINE_SOAK_SEED"
	EnvCounts = "TREELINE_SOAK_COUNTS"
)

// atOnce is how many tests run at once per core. Most of the long ones wait for a clock, a process or a server.
const atOnce = 3

// Main is for TestMain. It runs the tests with less garbage collection unless GOGC is set: their heaps are small, and a tenth of their time
// goes into it. Unless every case runs, several parallel tests run on each core, and temporary folders are in memory where the system can do that;
// the flag -parallel and TMPDIR take precedence.
func Main(m interface{ Run() int }) int {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given && !Every() {
		if err := flag.Set("test.parallel", strconv.Itoa(atOnce*runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if os.Getenv("TMPDIR") == "" && !Every() {
		if dir := MemoryFolder(); dir != "" {
			defer os.RemoveAll(dir) // tests remove their own files
			if err := os.Setenv("TMPDIR", dir); err != nil {
				panic(err)
			}
		}
	}
	return m.Run()
}

// Every reports whether a long test runs all of its cases, as in CI and in a soak. In plain `go test` it runs a part of them.
func Every() bool { return os.Getenv(EnvCI) != "" || os.Getenv(EnvTime) != "" }

// Part returns the number of cases or rounds: all if every case runs, otherwise a part of them.
func Part(all, part int) int {
	if Every() {
		return all
	}
	return part
}

// Share returns the cases of a list that a test runs: all if every case runs, otherwise every nth. The name of the test decides which, so that
// tests of one list share it.
func Share[T any](t testing.TB, list []T, nth int) []T {
	if Every() {
		return list
	}
	name := fnv.New32a()
	_, _ = name.Write([]byte(t.Name())) // it does not fail
	var some []T
	for i := int(name.Sum32() % uint32(nth)); i < len(list); i += nth {
		some = append(some, list[i])
	}
	return some
}

// Line describes what one test did. It is a line of JSON in the file that TREELINE_SOAK_COUNTS names.
type Line struct {
	Test         string `json:"test"`
	Rounds       int64  `json:"rounds"`
	Acknowledged int64  `json:"acknowledged"` // entries whose write was acknowledged and that were looked for
	Lost         int64  `json:"lost"`         // acknowledged entries that were not found, or found twice
	Unreadable   int64  `json:"unreadable"`   // logs that could not be read or continued
	Failed       bool   `json:"failed"`
}

// Counts are the counts of one test. Its methods may be called from several goroutines at once.
type Counts struct {
	t       testing.TB
	limit   time.Duration // 0 in plain go test
	seed    uint64
	rounds  atomic.Int64
	acks    atomic.Int64
	lost    atomic.Int64
	unread  atomic.Int64
	started time.Time
}

// Begin starts the time of a test. When the test ends, its counts are written.
func Begin(t testing.TB) *Counts {
	t.Helper()
	c := &Counts{t: t, started: time.Now()}
	if text := os.Getenv(EnvTime); text != "" {
		var err error
		if c.limit, err = time.ParseDuration(text); err != nil || c.limit <= 0 {
			t.Fatalf("%s=%s: want a time such as 30s", EnvTime, text)
		}
	}
	if text := os.Getenv(EnvSeed); text != "" {
		var err error
		if c.seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", EnvSeed, err)
		}
	}
	if path := os.Getenv(EnvCounts); path != "" {
		t.Cleanup(func() {
			if err := c.write(path); err != nil {
				t.Error(err)
			}
		})
	}
	return c
}

// write appends the line. The file is opened for appending, so that several processes can write to it.
func (c *Counts) write(path string) error {
	text, err := json.Marshal(Line{
		Test: c.t.Name(), Rounds: c.rounds.Load(), Acknowledged: c.acks.Load(), Lost: c.lost.Load(), Unreadable: c.unread.Load(), Failed: c.t.Failed(),
	})
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	return errors.Join(err, f.Close())
}

// Size returns the size of something that a test makes: the usual one, or in a soak a larger one.
func Size(usual, soak int) int {
	if os.Getenv(EnvTime) != "" {
		return soak
	}
	return usual
}

// Soaking reports whether the test has time for more than its usual rounds.
func (c *Counts) Soaking() bool { return c.limit > 0 }

// Seed returns n in plain go test, and another number in each pass of a soak.
func (c *Counts) Seed(n uint64) uint64 { return n + c.seed<<20 }

// Rounds returns the numbers of the rounds: the usual ones, few in short mode, and in a soak as many as the time allows, but at least one.
// It ends when the test has failed, and logs the round.
func (c *Counts) Rounds(usual, few int) iter.Seq[int] {
	most := usual
	if testing.Short() {
		most = few
	}
	return func(yield func(int) bool) {
		n := 0
		defer func() {
			if c.t.Failed() {
				c.t.Logf("round %d, %s=%d", n, EnvSeed, c.seed)
			}
		}()
		for ; c.goOn(n, most); n++ {
			if !yield(n) || c.t.Failed() {
				return
			}
			c.rounds.Add(1)
		}
	}
}

func (c *Counts) goOn(n, most int) bool {
	if c.limit > 0 {
		return n == 0 || time.Since(c.started) < c.limit
	}
	return n < most
}

// Did counts rounds of a test that has a loop of its own.
func (c *Counts) Did(rounds int) { c.rounds.Add(int64(rounds)) }

// Acknowledged counts entries whose write was acknowledged.
func (c *Counts) Acknowledged(n int) { c.acks.Add(int64(n)) }

// Lost counts an acknowledged entry that is missing or duplicated, and fails the test. The test continues.
func (c *Counts) Lost(format string, args ...any) {
	c.t.Helper()
	c.lost.Add(1)
	c.t.Errorf(format, args...)
}

// Unreadable counts a log that cannot be read or continued if err is not nil, and ends the test.
func (c *Counts) Unreadable(path string, err error) {
	c.t.Helper()
	if err == nil {
		return
	}
	c.unread.Add(1)
	c.t.Fatal(fmt.Errorf("%s: %w", path, err))
}
