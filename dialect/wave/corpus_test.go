package wave_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/all"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/dialect/wave"
)

// TestCorpus reads files that the program wrote: every line is an entry or the header, there are no Problems, and what
// would be written equals what was read.
func TestCorpus(t *testing.T) {
	corpus := dialecttest.Corpus(t, "wave")
	files, err := filepath.Glob(filepath.Join(corpus, "projects", "*", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", corpus, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range all.Dialects() {
			if got := d.Detect([]dialect.Record{{Data: bytes.SplitN(data, []byte("\n"), 2)[0], Line: 1}}); got != (d.Family() == "wave") {
				t.Errorf("%s: %s says %v", file, d.Name(), got)
			}
		}
		tree, err := dialecttest.Decode(wave.Wave, file, data)
		if err != nil || len(tree.Problems()) != 0 {
			t.Errorf("%s: %v %v; want no error, len(tree.Problems()) == 0", file, err, tree.Problems())
			continue
		}
		h := tree.Header()
		written := []byte{}
		if !h.InEntry {
			header, _, err := wave.Wave.EditHeader(h, nil, dialect.HeaderEdit{})
			if err != nil {
				t.Fatal(err)
			}
			written = append(append(written, header...), '\n')
		}
		for e := range tree.Entries() {
			record, err := wave.Wave.Encode(e)
			if err != nil {
				t.Fatal(err)
			}
			written = append(append(written, record...), '\n')
		}
		if !bytes.Equal(written, data) {
			t.Errorf("%s is not written as it was read", file)
		}
	}
}
