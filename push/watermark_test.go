package push

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/difftest"
)

// A line of the file yields the same for a settled log whether it is decoded completely or not. A line that is not a watermark is ignored:
// the line before it counts.
func TestWatermarkBrief(t *testing.T) {
	t.Parallel()
	dir, cwd := t.TempDir(), "/work"
	full := watermark{Name: "m/omp/é\"\\\u2028<.jsonl", Seen: stamp{"g-1", 1 << 40, -5}, Open: "o", Size: 9, Nanos: 7, Head: "h", State: []byte{1, 2}, Taken: 1,
		Skip: []span{{1, 2}}, ForkedAt: 3, ForkedGen: "f", CWD: &cwd,
		mark: mark{V: markVersion, Of: 12, Gen: "g", Sum: "s", At: 34, CGen: "2", Redacted: 3, Loose: true, Elsewhere: []span{{3, 4}}, Fork: "x", Time: "t"}}
	gone := watermark{Name: "gone", Gone: true, mark: mark{V: markVersion, At: 1}}
	s, err := openWatermarks(dir, "id")
	if err != nil {
		t.Fatal(err)
	}
	s.put(&full)
	s.put(&gone)
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(s.path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{`{"name":"gone","v":1,"at":2`, `{"name":"gone","v":2,"at":2}`, `{"name":"gone","v":1,"at":"2"}`, `[]`, ``, `{"name":7,"v":1}`, `{"name":"gone","v":1,"at":9}, {}`} {
		if _, err := f.WriteString(bad + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.WriteString(`{"name":"gone","v":1,"at":2}`); err != nil { // a line that is not complete
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = openWatermarks(dir, "id"); err != nil || filepath.Dir(s.path) != filepath.Join(dir, "push") {
		t.Fatal(s.path, err)
	}
	for _, want := range []watermark{full, gone} {
		b := s.brief(want.Name)
		if b == nil || b.Seen != want.Seen || b.At != want.At || b.CGen != want.CGen || b.Redacted != want.Redacted || b.Gone != want.Gone || b.V != want.V {
			t.Errorf("%q briefly is %+v, not %+v", want.Name, b, want)
			continue
		}
		there := backend.Log{Size: want.At, Generation: want.CGen}
		if b.settled(want.Seen, there) == want.Gone {
			t.Errorf("%q: settled is %v", want.Name, !want.Gone)
		}
		if d := difftest.Diff(&want, s.get(want.Name)); d != "" {
			t.Errorf("%q (-want +got):\n%s", want.Name, d)
		}
	}
	if s.brief("other") != nil || s.get("other") != nil {
		t.Error("there is a watermark that was never put")
	}
}
