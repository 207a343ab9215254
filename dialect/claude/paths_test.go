package claude_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/claude"
	"github.com/treeline-dev/treeline/session"
)

// TestManyPaths: the paths of all branches together read each record a few times, and not each result once for each branch.
func TestManyPaths(t *testing.T) {
	const n = 200
	var w bytes.Buffer
	for i := range n {
		id := fmt.Sprint(i)
		line(&w, "user", "u"+id, "null", "", 3*i)
		var answer bytes.Buffer
		line(&answer, "assistant", "a"+id, "u"+id, "call c"+id, 3*i+1)
		w.Write(bytes.Replace(answer.Bytes(), []byte("msg_1"), []byte("msg_"+id), 1))
		line(&w, "user", "r"+id, "gone", "result c"+id, 3*i+2)
	}
	log := &counted{log: w.Bytes()}
	b := session.NewBuilder("log", log)
	if err := dialect.DecodeLog(claude.Claude.NewDecoder(b), bytes.Clone(w.Bytes())); err != nil {
		t.Fatal(err)
	}
	tree := b.Finish()
	log.reads = 0
	for i := range n {
		path, err := tree.Path(session.EntryID(fmt.Sprint("a", i)))
		if err != nil {
			t.Fatal(err)
		}
		if ids := path.Indexes(); len(ids) < 3 || ids[len(ids)-1] != int32(3*i+2) {
			t.Fatalf("path %d is %v; want the result at its end", i, ids)
		}
	}
	if log.reads > 10*n {
		t.Errorf("%d records were read %d times", 3*n, log.reads)
	}
}
