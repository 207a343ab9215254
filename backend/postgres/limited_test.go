package postgres

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/internal/pgtest"
)

// Once a limited writer has written a log in any way, only these blobs are read through it: those that it named before, and those that were
// put for it.
func TestLimitedWriter(t *testing.T) {
	t.Parallel()
	url, ctx := pgtest.Shared(t).URL(""), t.Context()
	const below = "limited/omp"
	all := opened(t, url, below)
	limited, err := Open(url, Options{}, backend.OpenOptions{Below: below, Writer: backend.Writer{Name: "limited", Limited: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = limited.Close() })
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	known, secret, large := []byte("known"), []byte("secret"), []byte(strings.Repeat("large", inline/5+1))
	line := func(content []byte) []byte { return []byte(`{"x":"` + blob.Sum(content).String() + `"}`) }
	reads := func(log string, content []byte, want bool) {
		t.Helper()
		for _, b := range []*Backend{all, limited} {
			_, err := blob.Get(ctx, b.Blobs(log), blob.Sum(content))
			has, hasErr := b.Blobs(log).Has(ctx, blob.Sum(content))
			if (err == nil) != want || has != want || hasErr != nil || !want && !errors.Is(err, blob.ErrNotExist) {
				t.Errorf("%s %.10s: %v, %v, %v; want it to be read: %t", log, content, err, has, hasErr, want)
			}
		}
	}
	misses := func(b *Backend, log string, want ...[]byte) {
		t.Helper()
		var refs []blob.Ref
		for _, c := range want {
			refs = append(refs, blob.Sum(c))
		}
		got, err := blob.Missing(ctx, b.Blobs(log), []blob.Ref{blob.Sum(known), blob.Sum(secret)})
		if err != nil || !slices.Equal(got, refs) {
			t.Errorf("missing for %s: %v, %v; want %v", log, got, err, refs)
		}
	}
	must(all.Blobs("other.jsonl").Put(ctx, known))
	must(all.Blobs("other.jsonl").Put(ctx, secret))
	written := map[string]func(at backend.Log) (backend.Log, error){
		"append.jsonl":  func(at backend.Log) (backend.Log, error) { return limited.Append(ctx, at, line(secret)) },
		"replace.jsonl": func(at backend.Log) (backend.Log, error) { return limited.Replace(ctx, at, line(known), line(secret)) },
		"extend.jsonl": func(at backend.Log) (backend.Log, error) {
			return limited.Extend(ctx, at, "", strings.NewReader(string(line(secret))))
		},
		"overwrite.jsonl": func(at backend.Log) (backend.Log, error) {
			return limited.Overwrite(ctx, at, "", strings.NewReader(string(line(secret))))
		},
	}
	for log, write := range written {
		at, err := all.Create(ctx, log, line(known))
		must(at, err)
		reads(log, secret, true) // a program with access to the database reads everything
		misses(all, log)
		misses(limited, log, known, secret)
		at, err = write(at)
		must(at, err)
		reads(log, known, true)
		reads(log, secret, false)
		misses(all, log, secret)
		must(all.Blobs(log).Put(ctx, secret))
		must(limited.Blobs(log).Put(ctx, large))
		reads(log, secret, true)
		reads(log, large, true)
		misses(all, log)
		if err := all.Remove(ctx, at); err != nil {
			t.Fatal(err)
		}
		must(limited.Create(ctx, log, line(secret)))
		reads(log, secret, false)
	}
	// A mutation that fails limits nothing.
	old, err := all.Create(ctx, "refused.jsonl", line(known))
	must(old, err)
	must(all.Append(ctx, old, line(secret)))
	for how, write := range map[string]func() (backend.Log, error){
		"create":    func() (backend.Log, error) { return limited.Create(ctx, old.Name, line(known)) },
		"restore":   func() (backend.Log, error) { return limited.Restore(ctx, old.Name, line(known)) },
		"append":    func() (backend.Log, error) { return limited.Append(ctx, old, line(known)) },
		"large":     func() (backend.Log, error) { return limited.Append(ctx, old, line(known), large) },
		"replace":   func() (backend.Log, error) { return limited.Replace(ctx, old, line(known)) },
		"extend":    func() (backend.Log, error) { return limited.Extend(ctx, old, "", strings.NewReader("x\n")) },
		"overwrite": func() (backend.Log, error) { return limited.Overwrite(ctx, old, "", strings.NewReader("x\n")) },
	} {
		if _, err := write(); !errors.Is(err, backend.ErrExist) && !errors.Is(err, backend.ErrConflict) {
			t.Errorf("%s: %v, want that the log is another one", how, err)
		}
		reads(old.Name, large, true)
		misses(all, old.Name)
	}
	// A torn line that is moved to a log of its own makes no other blobs readable there.
	for _, name := range []string{"torn-own.jsonl", "torn-other.jsonl"} {
		writer := map[bool]*Backend{true: limited, false: all}[name == "torn-own.jsonl"]
		at, err := writer.Restore(ctx, name, []byte(`{"x":"`+blob.Sum(known).String()+" "+blob.Sum(secret).String()))
		must(at, err)
		if writer == limited {
			must(limited.Blobs(name).Put(ctx, known))
		}
		must(limited.Append(ctx, at, line(known)))
		moved := 0
		for l, err := range all.List(ctx, name+".") {
			must(l, err)
			moved++
			reads(l.Name, known, true)
			reads(l.Name, secret, writer == all)
			reads(l.Name, large, false)
		}
		if moved != 1 {
			t.Errorf("%s: %d logs with a torn line, want 1", name, moved)
		}
	}
	must(limited.Blobs("put.jsonl").Put(ctx, known)) // before its log is written
	must(limited.Create(ctx, "put.jsonl", line(known), line(secret)))
	must(backend.CreateFrom(ctx, limited, "from.jsonl", func(yield func([]byte, error) bool) { yield(line(secret), nil) }))
	must(backend.Restore(ctx, limited, "restored.jsonl", line(secret)))
	reads("put.jsonl", known, true)
	for _, log := range []string{"put.jsonl", "from.jsonl", "restored.jsonl"} {
		reads(log, secret, false)
	}
}
