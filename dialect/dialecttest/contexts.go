package dialecttest

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// encode: an unchanged entry is encoded byte for byte as it was read, and one of an old version as a record with the same
// meaning. The entry's span has the bytes that were read.
func (f *fixture) encode(t *testing.T) {
	tree, _ := Decode(f.d, f.name, f.data)
	for e := range tree.Entries() {
		want := f.data[e.Span.Offset:e.Span.End()]
		raw, err := e.Raw()
		if err != nil || !bytes.Equal(raw, want) {
			t.Fatalf("entry %s is read as %q (%v), not %q", e.ID, raw, err, want)
		}
		record, err := f.d.Encode(e)
		switch {
		case err != nil:
			t.Fatalf("entry %s: %v", e.ID, err)
		// A record with a newline would become two lines of the log.
		case bytes.IndexByte(record, '\n') >= 0 || !rawjson.Valid(record):
			t.Fatalf("entry %s is written as %q, which is no record", e.ID, record)
		case !e.Migrated && !bytes.Equal(record, want):
			t.Fatalf("entry %s is written as %q, not %q", e.ID, record, want)
		}
	}
}

// contexts: at every entry, with every option, there is a path and a context of well-formed messages.
func (f *fixture) contexts(t *testing.T) {
	tree, err := Decode(f.d, f.name, f.data)
	if err != nil {
		t.Fatal(err)
	}
	for e := range tree.Entries() {
		if err := checkLeaf(tree, e); err != nil {
			t.Fatal(err)
		}
		if err := checkSkim(f.d, e); err != nil {
			t.Fatal(err)
		}
		if err := checkDetached(tree, e); err != nil {
			t.Error(err)
		}
	}
}

// checkDetached checks that a context has the same problems after it was detached from its tree.
func checkDetached(tree *session.Tree, e session.Entry) error {
	c, err := session.BuildContext(tree, e.ID, session.ContextOptions{})
	if err != nil {
		return err
	}
	want := c.Problems()
	c.Detach()
	if got := c.Problems(); !slices.Equal(got, want) {
		return fmt.Errorf("the detached context at %s has the problems %v, not %v", e.ID, got, want)
	}
	return nil
}

// checkSkim checks that Skim gives the same as Parts and Body.
func checkSkim(d dialect.Dialect, e session.Entry) error {
	skimmer, ok := d.Codec().EntryCodec.(session.Skimmer)
	if !ok {
		return nil
	}
	raw, err := e.Raw()
	if err != nil {
		return err
	}
	parts, err := e.Parts()
	if err != nil {
		return err
	}
	body, err := e.Body()
	if err != nil {
		return err
	}
	var want session.Message
	if m, ok := body.(session.Message); ok && e.Role == session.RoleAssistant {
		want = m
	}
	if want.Usage == nil {
		want.Usage = new(session.Usage)
	}
	var s session.Skim
	for range 2 { // the second time with reused memory
		s.Reset()
		if err := skimmer.Skim(e, raw, &s); err != nil {
			return fmt.Errorf("skim of %s: %w", e.ID, err)
		}
		if len(parts)+len(s.Parts) > 0 && !reflect.DeepEqual(parts, s.Parts) {
			return fmt.Errorf("parts of %s are %v, and skimmed %v", e.ID, parts, s.Parts)
		}
		if s.Provider != want.Provider || s.Model != want.Model || s.Usage != *want.Usage {
			return fmt.Errorf("the answer %s is skimmed as %s %s %v, not %s %s %v", e.ID, s.Provider, s.Model, s.Usage,
				want.Provider, want.Model, *want.Usage)
		}
	}
	return nil
}

// contextOptions are the options that drop and rewrite messages, where errors are most likely.
var contextOptions = []session.ContextOptions{
	{}, {LLM: true}, {DropFailed: true, StripDangling: true}, {DropFailed: true, StripDangling: true, LLM: true},
}

// checkPath checks that a path contains the entry that it leads to, and no entry twice. Only a Navigator puts further entries after
// that entry: the other records of an answer.
func checkPath(tree *session.Tree, path session.Path, to session.Entry) error {
	seen := make([]bool, tree.Len())
	for _, e := range path.Entries() {
		if seen[e.Index] {
			return fmt.Errorf("the path to %s has %s twice", to.ID, e.ID)
		}
		seen[e.Index] = true
	}
	// An id means the last entry that has it.
	if last, _ := tree.Lookup(to.ID); !seen[last.Index] {
		return fmt.Errorf("the path to %s has %d entries of %d and not this one", to.ID, path.Len(), tree.Len())
	}
	return nil
}

// checkLeaf is also called by Fuzz: for any bytes, a path must end and a context must be well formed.
func checkLeaf(tree *session.Tree, e session.Entry) error {
	path, err := tree.Path(e.ID)
	if err != nil {
		return fmt.Errorf("path to %s: %w", e.ID, err)
	}
	if err := checkPath(tree, path, e); err != nil {
		return err
	}
	for _, opt := range contextOptions {
		c, err := session.BuildContext(tree, e.ID, opt)
		if err != nil {
			return fmt.Errorf("context at %s: %w", e.ID, err)
		}
		for m, err := range c.Messages() {
			if err != nil {
				return fmt.Errorf("message at %s: %w", e.ID, err)
			}
			if !rawjson.Valid(m.JSON) || bytes.IndexByte(m.JSON, '\n') >= 0 {
				return fmt.Errorf("message of %s at %s is %q", m.Entry.ID, e.ID, m.JSON)
			}
		}
		if state := c.AppendState([]byte("{")); !rawjson.Valid(append(state, '}')) {
			return fmt.Errorf("state at %s is %s", e.ID, state)
		}
	}
	if _, err := e.Body(); err != nil {
		return fmt.Errorf("body of %s: %w", e.ID, err)
	}
	if _, err := e.Parts(); err != nil {
		return fmt.Errorf("parts of %s: %w", e.ID, err)
	}
	_, err = e.Time()
	return err
}

// Fuzz decodes arbitrary bytes, starting with the fixtures of a folder. Nothing panics, every entry is a piece of the log and valid
// JSON, every path and context ends, and a second reading gives the same result.
func Fuzz(f *testing.F, dir string, d dialect.Dialect) {
	for _, fix := range load(f, dir) {
		f.Add(fix.data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 64<<10 {
			return // the work below is quadratic; long records have their own test
		}
		tree, err := Decode(d, "fuzz", data)
		again, errAgain := Decode(d, "fuzz", data)
		// A derived id must be the same each time.
		if a, b := describe(tree, err), describe(again, errAgain); a != b {
			t.Fatalf("two readings differ (-first +second):\n%s", Diff(a, b))
		}
		d.Detect(first(data))
		d.Peek(data, nil, true)
		// The two ends may overlap or cut a record anywhere.
		d.Peek(data[:len(data)/2], data[len(data)/2:], false)
		if err != nil {
			return
		}
		// Contexts of all entries would take quadratic time; the last entries have the longest paths.
		from := max(0, tree.Len()-20)
		for e := range tree.Entries() {
			raw, err := e.Raw()
			if err != nil || !rawjson.Valid(raw) || !bytes.Equal(raw, data[e.Span.Offset:e.Span.End()]) {
				t.Fatalf("entry %q is %q (%v)", e.ID, raw, err)
			}
			if record, err := d.Encode(e); err != nil || !rawjson.Valid(record) {
				t.Fatalf("entry %q is written as %q (%v)", e.ID, record, err)
			}
			if found, ok := tree.Lookup(e.ID); !ok || found.Index < e.Index {
				t.Fatalf("entry %q is not found by its id", e.ID)
			}
			if e.Index < from {
				continue
			}
			if err := checkLeaf(tree, e); err != nil {
				t.Fatal(err)
			}
			if err := checkSkim(d, e); err != nil {
				t.Fatal(err)
			}
		}
	})
}
