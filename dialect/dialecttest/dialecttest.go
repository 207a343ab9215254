// Package dialecttest tests that a dialect keeps the contract of package dialect, on logs that the dialect's author provides. The test of
// a new dialect is a call of Run and one of Fuzz; see the tests of package pi.
//
// # Fixtures
//
// A fixture is a log, testdata/<value>/<name>.jsonl. The folder is named after the value that reads the log, or "refused" for
// logs that no dialect reads. Beside it, <name>.golden has what the log decodes to: a line for the header, each entry, each
// label, the leaf and each Problem. "go test -update" writes the golden files; read the difference.
//
// Each fixture is then damaged in many ways: cut at each byte, garbage between its lines, unknown members in its records. So the
// best fixture is small and has one oddity.
package dialecttest

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/all"
	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/session"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Updating reports whether golden files are to be written, for tests that have golden files of their own.
func Updating() bool { return *update }

// refused is the folder of logs that no dialect reads.
const refused = "refused"

// Run tests the values of one dialect's package on the fixtures of a folder. Every value needs a fixture, and every folder
// must be named after a value.
func Run(t *testing.T, dir string, values ...dialect.Dialect) {
	fixtures := load(t, dir)
	if len(fixtures) == 0 {
		t.Fatalf("no fixture %s/<value>/<name>.jsonl", dir)
	}
	used := map[string]bool{}
	for _, f := range fixtures {
		d := find(values, f.value)
		if d == nil {
			t.Errorf("%s: no value is called %q", f.path, f.value)
			continue
		}
		used[f.value] = true
		t.Run(f.value+"/"+f.name, func(t *testing.T) {
			t.Parallel()
			f.T = t
			f.d = d
			f.run()
		})
	}
	for _, d := range values {
		if !used[d.Name()] {
			t.Errorf("no fixture is for %s", d.Name())
		}
	}
}

// find returns the value with the given name; the first value reads refused logs.
func find(values []dialect.Dialect, name string) dialect.Dialect {
	if name == refused {
		return values[0]
	}
	for _, d := range values {
		if d.Name() == name {
			return d
		}
	}
	return nil
}

// fixture is one log and its tests. Each method is a subtest; its comment is the sentence of the contract that it tests.
type fixture struct {
	*testing.T
	d           dialect.Dialect
	path        string
	value, name string
	data        []byte
}

func load(t testing.TB, dir string) []*fixture {
	t.Helper()
	var list []*fixture
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || path.Ext(name) != ".jsonl" {
			return err
		}
		file := filepath.Join(dir, filepath.FromSlash(name))
		data, err := os.ReadFile(file)
		list = append(list, &fixture{
			path: file, value: path.Dir(name), name: strings.TrimSuffix(path.Base(name), ".jsonl"), data: data,
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// run runs the subtests. Refused logs have no entries that could be written or continued.
func (f *fixture) run() {
	f.Run("Detect", f.detect)
	f.Run("Golden", f.golden)
	f.Run("Peek", f.peek)
	f.Run("Cut", f.cut)
	if f.value == refused {
		return
	}
	f.Run("Encode", f.encode)
	f.Run("Contexts", f.contexts)
	f.Run("UnknownMembers", f.unknownMembers)
	f.Run("OddMembers", f.oddMembers)
	f.Run("Garbage", f.garbage)
	f.Run("Continue", f.continues)
}

// Decode reads a log from bytes. The error is that of the decoder. It overwrites each record after use, to find decoders that
// keep bytes that they must copy.
func Decode(d dialect.Dialect, name string, data []byte) (*session.Tree, error) {
	b := session.NewBuilder(name, source(data))
	dec := d.NewDecoder(b)
	for _, r := range records(data) {
		dec.Decode(r)
		for i := range r.Data {
			r.Data[i] = '#' // the record is valid only during the call
		}
	}
	err := dec.Finish()
	return b.Finish(), err
}

// records splits a log. Each record has its own bytes.
func records(data []byte) []dialect.Record {
	var list collector
	_ = dialect.DecodeLog(&list, bytes.Clone(data))
	return list
}

// collector is a decoder that keeps the records.
type collector []dialect.Record

func (c *collector) Decode(r dialect.Record) { *c = append(*c, r) }
func (c *collector) Finish() error           { return nil }

// source reads the spans of a log in memory.
type source []byte

var errSpan = errors.New("the span lies outside of the log")

func (s source) Bytes(span session.Span) ([]byte, error) {
	if span.Offset < 0 || span.Length < 0 || span.End() > int64(len(s)) {
		return nil, errSpan
	}
	return bytes.Clone(s[span.Offset:span.End()]), nil
}

// first returns what Detect gets: the first eight records that are not blank.
func first(data []byte) []dialect.Record {
	var list []dialect.Record
	for _, r := range records(data) {
		if len(bytes.TrimSpace(r.Data)) > 0 && len(list) < 8 {
			list = append(list, r)
		}
	}
	return list
}

// detect: exactly one family of all dialects claims a log, and none claims one that is refused or empty.
func (f *fixture) detect(t *testing.T) {
	for _, d := range all.Dialects() {
		want := f.value != refused && len(f.data) > 0 && d.Family() == f.d.Family()
		if got := d.Detect(first(f.data)); got != want {
			t.Errorf("%s: Detect of %s says %v", f.path, d.Name(), got)
		}
	}
}

// peek: the summary of a whole log agrees with the log, and no piece of a log makes Peek panic.
func (f *fixture) peek(t *testing.T) {
	tree, err := Decode(f.d, f.path, f.data)
	s := f.d.Peek(f.data, nil, true)
	if want := err == nil && len(tree.Header().Raw) > 0; s.OK != want {
		t.Fatalf("OK is %v", s.OK)
	}
	// The split is moved over the log, so that the tail begins in the middle of records, escapes and characters. For a log with a
	// header the test only looks for panics: it tries every seventh split in CI and every 31st otherwise; the soak tries all.
	step := 1
	if s.OK && os.Getenv("TREELINE_SOAK") == "" {
		step = soaktest.Part(7, 31)
	}
	for n := 0; n < len(f.data); n += step {
		if part := f.d.Peek(f.data[:n], f.data[n:], false); part.OK && !s.OK {
			t.Fatalf("the first %d bytes have a header that the log has not", n)
		}
	}
	if !s.OK {
		return
	}
	if h := tree.Header(); s.ID != h.ID || s.CWD != h.CWD || s.Version != h.Version || s.Parent != h.Parent || s.Created != h.Timestamp {
		t.Errorf("the summary %+v is not that of the header %s", s, h.Raw)
	}
	messages := 0
	for e := range tree.Entries() {
		if e.IsMessage() {
			messages++
		}
	}
	if s.Messages != messages {
		t.Errorf("%d messages instead of %d", s.Messages, messages)
	}
}

// Corpus returns a folder of real sessions and of what their programs make of them, below the folder that TREELINE_CORPUS
// names. That folder is in no repository: without it the test is skipped. .ci/run allows no other skips and recognises these tests
// by the word Corpus in their names.
func Corpus(t *testing.T, agent string) string {
	t.Helper()
	// .ci/run depends on the name
	if !strings.Contains(t.Name(), "Corpus") {
		t.Fatal("a test that needs real sessions has Corpus in its name")
	}
	corpus := os.Getenv("TREELINE_CORPUS")
	if corpus == "" {
		t.Skip("TREELINE_CORPUS names no folder of real sessions")
	}
	dir := filepath.Join(corpus, agent)
	if _, err := os.Stat(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// BenchmarkDecode measures how long it takes to decode a log in memory into a tree of the given number of entries.
func BenchmarkDecode(b *testing.B, d dialect.Dialect, log []byte, entries int) {
	b.SetBytes(int64(len(log)))
	b.ReportAllocs()
	for b.Loop() {
		builder := session.NewBuilder("", nil)
		builder.Expect(int64(len(log)))
		if err := dialect.DecodeLog(d.NewDecoder(builder), log); err != nil {
			b.Fatal(err)
		}
		// a decoder that drops entries must not look fast
		if n := builder.Finish().Len(); n != entries {
			b.Fatalf("%d entries, not %d", n, entries)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*entries), "ns/entry")
}

// BenchmarkGenerated is BenchmarkDecode for a session of internal/gen, which convert puts into the format of the dialect. All
// its lines except the headers are entries.
func BenchmarkGenerated(b *testing.B, d dialect.Dialect, convert func(session []byte) []byte, headers int) {
	log := convert(gen.Session(gen.Options{Seed: 1, Bytes: 20_000_000, Branches: 4}))
	BenchmarkDecode(b, d, log, bytes.Count(log, []byte("\n"))-headers)
}
