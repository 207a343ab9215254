package rpc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/rpc"
)

// memoryStore keeps all logs in memory, so that a fuzzer that opens any path it likes touches no file. Only blobs are files,
// below home.
func memoryStore(t *testing.T, home string) *treeline.Store {
	t.Helper()
	s, err := treeline.New(treeline.Options{
		Backends: []backend.Driver{memory.Driver("")}, // it accepts every folder
		Home:     home, WorkDir: "/work", Getenv: func(string) string { return "" },
		NoConfig: true, Cache: home,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// FuzzServe sends arbitrary bytes: nothing panics or hangs, and each line of the output is an answer.
func FuzzServe(f *testing.F) {
	text, err := os.ReadFile(filepath.Join("testdata", "transcript.txt"))
	if err != nil {
		f.Fatal(err)
	}
	all := ""
	for line := range strings.Lines(string(text)) {
		if request, ok := strings.CutPrefix(line, "> "); ok {
			f.Add([]byte(request))
			all += request
		}
	}
	f.Add([]byte(all))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"open","params":{"path":"/x/a.jsonl"}}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"rewriteEntries","params":{"session":"s1","entries":[{"type":"message","id":1,"parentId":1,"message":null},{"type":"label","targetId":"1"}]}}` + "\n" +
		`{"jsonrpc":"2.0","id":3,"method":"getTree","params":{"session":"s1"}}` + "\n" +
		`{"jsonrpc":"2.0","id":4,"method":"fork","params":{"session":"s1"}}` + "\n" +
		`{"jsonrpc":"2.0","id":5,"method":"buildSessionContext","params":{"session":"s1"}}`))
	f.Add([]byte(`[{"jsonrpc":"2.0","id":1,"method":"migrateEntries","params":{"entries":[{"type":"session","id":"x"},{"type":"compaction","firstKeptEntryIndex":1e3},7,null]}}]`))
	f.Add([]byte("\xff\xfe{}\n[[[]]]\nnull\n"))
	home := f.TempDir()
	f.Fuzz(func(t *testing.T, in []byte) {
		watch := time.AfterFunc(20*time.Second, func() { panic(fmt.Sprintf("it hangs: %q", in)) })
		defer watch.Stop()
		var out bytes.Buffer
		if err := rpc.Serve(context.Background(), memoryStore(t, home), rpc.Options{}, bytes.NewReader(in), &out); err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(out.Bytes()) {
			if !json.Valid(line) {
				t.Fatalf("not JSON: %q", line)
			}
			if bytes.Contains(line, []byte(`"code":-32603`)) {
				t.Fatalf("a bug: %s", line)
			}
		}
	})
}
