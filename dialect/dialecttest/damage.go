package dialecttest

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/session"
)

// shape is what damage elsewhere in the log must not change about an entry. The texts of problems are in golden files.
type shape struct {
	id, parent, native session.EntryID
	kind               session.Kind
	role               session.Role
	typ                string
	span               session.Span
	line               int
}

func shapes(tree *session.Tree) []shape {
	var list []shape
	for e := range tree.Entries() {
		list = append(list, shape{e.ID, e.Parent, e.NativeID, e.Kind, e.Role, e.Type, e.Span, e.Line})
	}
	return list
}

// cut: of a log that is cut at any byte, all whole entries are read, and a cut record is reported. .ci/run and the soak cut at every
// byte. Otherwise only every 31st byte is tried, with another start for each fixture, and all bytes around the ends of lines, because
// each cut decodes the log again.
func (f *fixture) cut(t *testing.T) {
	whole, _ := Decode(f.d, f.name, f.data)
	entries := shapes(whole)
	every := soaktest.Every()
	for n := range f.data {
		if !every && (n+len(f.data))%31 != 0 && !bytes.ContainsRune(f.data[max(0, n-2):min(len(f.data), n+2)], '\n') {
			continue
		}
		data := f.data[:n]
		tree, err := Decode(f.d, f.name, data)
		// A log that is now refused must have lost its header.
		if err == nil {
			cutEntries(t, n, shapes(tree), entries)
		}
		// The line at which the log now ends is blank, a whole record, or reported.
		tail := data[bytes.LastIndexByte(data, '\n')+1:]
		if len(bytes.TrimSpace(tail)) == 0 || rawjson.Valid(tail) || err != nil {
			continue
		}
		line := bytes.Count(data, []byte("\n")) + 1
		if !reported(tree, line) {
			t.Fatalf("cut at byte %d: nothing is said about line %d, %q", n, line, tail)
		}
	}
}

// cutEntries checks that the entries of the whole log that end before the cut are there. A child whose parent is gone still
// names it.
func cutEntries(t *testing.T, n int, got, whole []shape) {
	t.Helper()
	var want []shape
	for _, s := range whole {
		if s.span.End() <= int64(n) {
			want = append(want, s)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("cut at byte %d: %d entries instead of %d", n, len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("cut at byte %d: entry %+v became %+v", n, want[i], got[i])
		}
	}
}

func reported(tree *session.Tree, line int) bool {
	for _, p := range tree.Problems() {
		if p.Line == line {
			return true
		}
	}
	return false
}

// garbage: a line of garbage between two lines adds one Problem and changes nothing else.
func (f *fixture) garbage(t *testing.T) {
	whole, _ := Decode(f.d, f.name, f.data)
	line := 0
	for at := 0; at < len(f.data); at += bytes.IndexByte(f.data[at:], '\n') + 1 {
		if at == 0 && bytes.HasPrefix(f.data, []byte("\xef\xbb\xbf")) {
			line++ // elsewhere a byte order mark is damage
			continue
		}
		// text, half a record, NULs, values that are not objects, and brackets that do not match
		for _, junk := range []string{"not a record", `{"type":"message","id":"00000000`, "\x00\x00\x00", "null", "17", `"text"`, "}{"} {
			data := append(append(append([]byte{}, f.data[:at]...), junk+"\n"...), f.data[at:]...)
			f.oneMore(t, whole, data, int64(at), line, junk)
		}
		line++
		if bytes.IndexByte(f.data[at:], '\n') < 0 {
			break
		}
	}
}

// oneMore compares a log with what it was before a line of junk was inserted at an offset, after the given number of lines. Offsets and
// lines after the junk move by its length; nothing else may change.
func (f *fixture) oneMore(t *testing.T, whole *session.Tree, data []byte, at int64, lines int, junk string) {
	t.Helper()
	tree, err := Decode(f.d, f.name, data)
	if err != nil {
		t.Fatalf("%q at byte %d: %v", junk, at, err)
	}
	moved := func(offset int64) bool { return offset >= at }
	got := shapes(tree)
	for i, want := range shapes(whole) {
		if moved(want.span.Offset) {
			want.span.Offset += int64(len(junk)) + 1
			want.line++
		}
		if i >= len(got) || got[i] != want {
			t.Fatalf("%q at byte %d: entry %d is not %+v any more", junk, at, i, want)
		}
	}
	if len(got) != whole.Len() || tree.LeafID() != whole.LeafID() {
		t.Fatalf("%q at byte %d: %d entries with the leaf %q instead of %d with %q",
			junk, at, len(got), tree.LeafID(), whole.Len(), whole.LeafID())
	}
	was := map[string]int{}
	for _, p := range whole.Problems() {
		if moved(p.Offset) && p.Line > 0 {
			p.Offset += int64(len(junk)) + 1
			p.Line++
		}
		// The message may contain an offset, so only kind and place are compared.
		was[fmt.Sprint(p.Kind, p.Line, p.Offset)]++
	}
	more := 0
	for _, p := range tree.Problems() {
		key := fmt.Sprint(p.Kind, p.Line, p.Offset)
		if was[key]--; was[key] < 0 {
			more++
			if p.Line != lines+1 {
				t.Fatalf("%q at byte %d: a new problem in line %d: %s", junk, at, p.Line, p)
			}
		}
	}
	if more != 1 || len(tree.Problems()) != len(whole.Problems())+1 {
		t.Fatalf("%q at byte %d: %d new problems, %d instead of %d in all", junk, at, more, len(tree.Problems()), len(whole.Problems()))
	}
}

// unknownMembers: unknown members change nothing, and survive when another member is changed.
func (f *fixture) unknownMembers(t *testing.T) {
	// spellings that decoding and encoding would change
	const key, value = "treeline test", `{"spelled":[1.0,1e3,-0,"\u00e4",{"a":1,"a":2}],"": null}`
	tree, _ := Decode(f.d, f.name, f.data)
	// From the end backwards, so that earlier spans stay valid.
	data := bytes.Clone(f.data)
	for i := tree.Len() - 1; i >= 0; i-- {
		span := tree.At(i).Span
		record := rawjson.Set(bytes.Clone(data[span.Offset:span.End()]), key, []byte(value))
		if got := rawjson.Get(record, key); string(got) != value {
			t.Fatalf("the member was set to %s", got)
		}
		if edited := rawjson.Set(record, "timestamp", []byte(`"never"`)); !sameMembers(record, edited, "timestamp") {
			t.Fatalf("to change the time of %s gives %s", record, edited)
		}
		if back := rawjson.Delete(record, key); !bytes.Equal(back, f.data[span.Offset:span.End()]) {
			t.Fatalf("the member does not go away without a trace: %s", back)
		}
		data = append(append(bytes.Clone(data[:span.Offset]), record...), data[span.End():]...)
	}
	again, err := Decode(f.d, f.name, data)
	if err != nil {
		t.Fatal(err)
	}
	got := shapes(again)
	for i, want := range shapes(tree) {
		if want.native == "" { // the id was derived from the record
			want.id = got[i].id
		}
		// Derived parents follow derived ids, so only these are copied.
		want.span, want.parent = got[i].span, got[i].parent
		if got[i] != want {
			t.Fatalf("with a member more, entry %+v is %+v", want, got[i])
		}
		record, err := again.At(i).Raw()
		if err != nil || string(rawjson.Get(record, key)) != value {
			t.Fatalf("the member did not survive: %s, %v", record, err)
		}
	}
}

// sameMembers reports whether two objects have the same members in the same order, except for one.
func sameMembers(a, b []byte, except string) bool {
	list := func(object []byte) (members [][]byte) {
		for key, value := range rawjson.Fields(object) {
			if key != except {
				members = append(members, append(rawjson.Quote(key), value...))
			}
		}
		return members
	}
	return bytes.Equal(bytes.Join(list(a), []byte{0}), bytes.Join(list(b), []byte{0}))
}
