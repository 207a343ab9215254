package file_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/durable/crashfs"
	"github.com/treeline-dev/treeline/internal/durable/faultfs"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const (
	crashRoot = "/s"
	crashLog  = "project/log.jsonl"
)

// quiet returns options without clocks and waits, so that every run is the same.
func quiet(fsys durable.FS, level backend.Durability) file.Options {
	return file.Options{
		FS: fsys, Durability: level,
		Clock: func() time.Time { return fixed.AddDate(10, 0, 0) },
		Wait:  func(context.Context, time.Duration) error { return nil },
	}
}

func record(n int) string { return fmt.Sprintf(`{"n":%d,"text":"%s"}`, n, strings.Repeat("x", n%7*10)) }

// state is what a crash must leave: all of lasting, in order, then at most pending. During a replace it may be instead.
type state struct {
	lasting, pending, instead []string
	mayLack                   bool // not even created yet
}

// check checks a file system after a crash. It also appends to the log: a log that cannot be continued is lost.
func (s *state) check(fsys *crashfs.FS) error {
	b, err := file.New(crashRoot, quiet(fsys, backend.DurabilityFlush))
	if err != nil {
		return err
	}
	defer b.Close()
	ctx := context.Background()
	at, err := b.Stat(ctx, crashLog)
	if errors.Is(err, backend.ErrNotExist) && s.mayLack {
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.compare(ctx, b, at); err != nil {
		return err
	}
	at, err = b.Append(ctx, at, []byte(`{"probe":1}`))
	if err != nil {
		return fmt.Errorf("append after the crash: %w", err)
	}
	s = &state{lasting: s.lasting, pending: append(slices.Clone(s.pending), `{"probe":1}`), instead: s.instead}
	if err := s.compare(ctx, b, at); err != nil {
		return fmt.Errorf("after an append after the crash: %w", err)
	}
	got, err := lines(ctx, b, at)
	if err != nil || got[len(got)-1] != `{"probe":1}` {
		return fmt.Errorf("the append after the crash is not there: %q, %v", got, err)
	}
	return nil
}

func lines(ctx context.Context, b backend.Backend, at backend.Log) (got []string, err error) {
	for r, err := range b.Read(ctx, at, 0) {
		if err != nil {
			return nil, err
		}
		got = append(got, string(r.Data))
	}
	return got, nil
}

func (s *state) compare(ctx context.Context, b backend.Backend, at backend.Log) error {
	got, err := lines(ctx, b, at)
	if err != nil {
		return err
	}
	want := s.lasting
	if s.instead != nil && len(got) > 0 && got[0] == s.instead[0] {
		want = s.instead
	}
	if len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
		return fmt.Errorf("lost: found %.300q, want %.300q first", got, want)
	}
	for _, more := range got[len(want):] {
		// Half a record is not valid JSON.
		if !slices.Contains(s.pending, more) && json.Valid([]byte(more)) {
			return fmt.Errorf("a record that was never written: %q", more)
		}
	}
	return nil
}

// script runs every operation that writes, and calls step with the name of each.
func script(t *testing.T, fsys *crashfs.FS, level backend.Durability, s *state, step func(name string)) {
	t.Helper()
	ctx := t.Context()
	b, err := file.New(crashRoot, quiet(fsys, level))
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	settled := func(syncs bool) {
		if syncs {
			s.lasting, s.pending, s.mayLack = append(s.lasting, s.pending...), nil, false
		}
	}
	step("create")
	s.mayLack, s.pending = true, []string{record(1), record(2)}
	at, err := b.Create(ctx, crashLog, []byte(record(1)), []byte(record(2)))
	must(err)
	settled(level != backend.DurabilityNone)
	for n := 3; n < 6; n++ {
		step("append")
		s.pending = append(s.pending, record(n))
		at, err = b.Append(ctx, at, []byte(record(n)))
		must(err)
		settled(level == backend.DurabilityAlways)
	}
	step("append three at once")
	s.pending = append(s.pending, record(6), record(7), record(8))
	at, err = b.Append(ctx, at, []byte(record(6)), []byte(record(7)), []byte(record(8)))
	must(err)
	settled(level == backend.DurabilityAlways)
	step("sync")
	must(b.Sync(ctx, at))
	settled(true)
	step("replace")
	s.instead = []string{record(101), record(102)}
	at, err = b.Replace(ctx, at, []byte(record(101)), []byte(record(102)))
	must(err)
	s.lasting, s.pending, s.instead = s.instead, nil, nil
	step("append after replace")
	s.pending = []string{record(9)}
	at, err = b.Append(ctx, at, []byte(record(9)))
	must(err)
	settled(level == backend.DurabilityAlways)
	step("close")
	must(b.Close())
	settled(level != backend.DurabilityNone)
	step("reopen and append")
	b, err = file.New(crashRoot, quiet(fsys, level))
	must(err)
	s.pending = append(s.pending, record(10))
	at, err = b.Append(ctx, at, []byte(record(10)))
	must(err)
	settled(level == backend.DurabilityAlways)
	step("remove")
	s.mayLack = true
	must(b.Remove(ctx, at))
	must(b.Close())
}

// The machine crashes after every file operation, in many ways. No acknowledged record is lost.
func TestCrash(t *testing.T) {
	t.Parallel()
	for _, level := range []backend.Durability{backend.DurabilityNone, backend.DurabilityFlush, backend.DurabilityAlways} {
		t.Run(string(level), func(t *testing.T) {
			live, c := crashfs.New(crashRoot), soaktest.Begin(t)
			s := &state{mayLack: true}
			where, crashes := "", 0
			live.OnOp(func(op string) {
				if t.Failed() {
					return
				}
				fates := []crashfs.Fate{crashfs.Lost, crashfs.Kept}
				for seed := range uint64(12) {
					fates = append(fates, crashfs.Mixed(c.Seed(seed+uint64(crashes))))
				}
				for i, fate := range fates {
					crashes++
					c.Did(1)
					c.Acknowledged(len(s.lasting))
					if err := s.check(live.Crash(fate)); err != nil {
						c.Lost("%s, crash %d after %q: %v", where, i, op, err)
						return
					}
				}
			})
			script(t, live, level, s, func(name string) { where = name })
			t.Logf("%d crashes", crashes)
		})
	}
}

// The file operations are compared with a golden file, so that a missing sync is a difference.
func TestOperations(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	for _, level := range []backend.Durability{backend.DurabilityNone, backend.DurabilityFlush, backend.DurabilityAlways} {
		live := crashfs.New(crashRoot)
		flush := func() {
			for _, op := range live.Ops() {
				fmt.Fprintf(&out, "\t%s\n", strings.ReplaceAll(op, crashRoot+"/", ""))
			}
		}
		script(t, live, level, new(state), func(name string) {
			flush()
			fmt.Fprintf(&out, "%v: %s\n", level, name)
		})
		flush()
	}
	golden := filepath.Join("testdata", "operations.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("the operations are not those of %s; if that is meant, run with -update and review. Now:\n%s", golden, out.String())
	}
}

// Every file operation fails, in every way. No acknowledged record is lost, the log can be read and continued, and no record
// is there twice or in part.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, level := range []backend.Durability{backend.DurabilityFlush, backend.DurabilityAlways} {
		for _, fault := range faultfs.Faults {
			t.Run(string(level)+"/"+fault.Name, func(t *testing.T) {
				c := soaktest.Begin(t)
				for n := 1; ; n++ {
					inner := crashfs.New(crashRoot)
					fsys := faultfs.New(inner, n, fault)
					s, errs := faultyRun(t, fsys, level)
					if fsys.Count() < n {
						if errs > 0 {
							t.Errorf("%d errors without a fault", errs)
						}
						return
					}
					c.Did(1)
					c.Acknowledged(len(s.lasting))
					if err := s.check(inner); err != nil {
						c.Lost("operation %d: %v", n, err)
						return
					}
				}
			})
		}
	}
}

// faultyRun creates, appends and replaces. After an error it calls Stat and goes on.
func faultyRun(t *testing.T, fsys durable.FS, level backend.Durability) (s *state, errs int) {
	ctx := t.Context()
	s = &state{mayLack: true}
	b, err := file.New(crashRoot, quiet(fsys, level))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	at, err := b.Create(ctx, crashLog, []byte(record(0)))
	if err != nil {
		errs++
		s.pending = append(s.pending, record(0))
		if at, err = b.Stat(ctx, crashLog); err != nil {
			if at, err = b.Create(ctx, crashLog, []byte(record(0))); err != nil {
				return s, errs + 1
			}
		}
	}
	s.mayLack, s.lasting, s.pending = false, []string{record(0)}, nil
	for n := 1; n < 6; n++ {
		next, err := b.Append(ctx, at, []byte(record(n)), []byte(record(10+n)))
		if err == nil {
			at = next
			s.lasting = append(s.lasting, record(n), record(10+n))
			continue
		}
		errs++
		// It is unknown whether they were written. Stat and Read tell.
		if at, err = b.Stat(ctx, crashLog); err != nil {
			errs++
			if at, err = b.Stat(ctx, crashLog); err != nil {
				t.Fatalf("the second look: %v", err)
			}
		}
		got, err := lines(ctx, b, at)
		if err != nil {
			errs++
			if got, err = lines(ctx, b, at); err != nil {
				t.Fatalf("the second reading: %v", err)
			}
		}
		if !slices.Equal(got[:min(len(got), len(s.lasting))], s.lasting) {
			t.Fatalf("append %d failed and %q became %q", n, s.lasting, got)
		}
		if whole := got[len(s.lasting):]; slices.Contains(whole, record(n)) {
			s.lasting = append(s.lasting, whole...)
		} else {
			s.pending = append(s.pending, record(n), record(10+n))
		}
	}
	instead := []string{record(101), record(102)}
	if _, err := b.Replace(ctx, at, []byte(instead[0]), []byte(instead[1])); err != nil {
		errs++
		s.instead = instead
	} else {
		s.lasting, s.pending = instead, nil
	}
	return s, errs
}
