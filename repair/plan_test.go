package repair

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/pi"
	"github.com/treeline-dev/treeline/session"
)

// text is a log in memory.
type text string

func (t text) Bytes(s session.Span) ([]byte, error) { return []byte(t[s.Offset:s.End()]), nil }

func treeOfText(log string) (*session.Tree, error) {
	b := session.NewBuilder("log", text(log))
	dec := pi.Omp.NewDecoder(b)
	offset := 0
	for i, line := range bytes.SplitAfter([]byte(log), []byte("\n")) {
		data, whole := bytes.CutSuffix(line, []byte("\n"))
		if len(line) > 0 {
			dec.Decode(dialect.Record{Data: bytes.TrimSuffix(data, []byte("\r")), Offset: int64(offset), Line: i + 1, Torn: !whole})
		}
		offset += len(line)
	}
	if err := dec.Finish(); err != nil {
		return nil, err
	}
	return b.Finish(), nil
}

// FuzzPlan: a repair of any log keeps every entry and every byte that is not white space, and a second repair changes
// nothing.
func FuzzPlan(f *testing.F) {
	const header = `{"type":"session","version":3,"id":"s1","timestamp":"t","cwd":"/"}`
	f.Add(header + "\n" + `{"type":"message","id":"a","parentId":null}{"type":"x","id":"a","parentId":"b"}` + "\nx\n" + `{"type":"y","id":"b","parentId":"a"}`)
	f.Add("\xef\xbb\xbf" + header + "\x00\n\x00\n" + `{"type":"message","id":"a","parentId":"a"}` + "\n" + header + `{"type":"mess` + "\n")
	f.Add(header + " \r\n [1] {\"type\":\"x\"} null\n{\"id\":1}{\"id\":\"1\",\"parentId\":1}")
	f.Add(`{"type":"session","id":"s1"}` + "\n[]\n" + `{"type":"message"}{"type":"compaction","firstKeptEntryIndex":1}` + "\n")
	f.Fuzz(func(t *testing.T, log string) {
		tree, err := treeOfText(log)
		if err != nil || tree.Header().Newer {
			return
		}
		n := 0
		fresh := func() (session.EntryID, error) {
			n++
			return session.EntryID(fmt.Sprintf("new%d", n)), nil
		}
		p := planner{d: pi.Omp, w: pi.Omp, t: tree, all: []byte(log), reattach: true, newID: fresh}
		lines, aside, err := p.plan()
		if err != nil {
			t.Fatal(err)
		}
		if lines == nil {
			return
		}
		after := string(bytes.Join(lines, []byte("\n"))) + "\n"
		again, err := treeOfText(after)
		if err != nil {
			t.Fatalf("%v after %+v", err, p.repairs)
		}
		if again.Len() != tree.Len() {
			t.Fatalf("%d entries became %d", tree.Len(), again.Len())
		}
		if len(p.ids)+len(p.parents) == 0 && tree.Header().Version == 3 {
			if a, b := count(log), count(after+string(aside)); a != b {
				t.Errorf("bytes got lost or were made up:\n%q\n%q %q", log, after, aside)
			}
		}
		q := planner{d: pi.Omp, w: pi.Omp, t: again, all: []byte(after), reattach: true, newID: fresh}
		if more, _, err := q.plan(); more != nil || err != nil {
			t.Errorf("a second repair changes %+v after %+v: %v", q.repairs, p.repairs, err)
		}
	})
}

// count counts the bytes that are not white space.
func count(s string) (n [256]int) {
	for _, c := range []byte(s) {
		n[c]++
	}
	n[' '], n['\n'], n['\r'], n['\t'], n['\v'], n['\f'] = 0, 0, 0, 0, 0, 0
	n[0x85], n[0xa0] = 0, 0
	return n
}
