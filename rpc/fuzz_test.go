package rpc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/all"
	"github.com/treeline-dev/treeline/rpc"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// folders keeps logs in memory, so that a fuzzer that opens any path it likes touches no file.
type folders struct {
	mu   sync.Mutex
	dirs map[string]backend.Backend
}

// kept is a folder that stays when it is closed.
type kept struct{ backend.Backend }

func (kept) Close() error { return nil }

func (f *folders) open(dir string) (backend.Backend, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dirs[dir] == nil {
		f.dirs[dir] = kept{memory.New()}
	}
	return f.dirs[dir], nil
}

func memoryStore() *treeline.Store {
	f := &folders{dirs: map[string]backend.Backend{}}
	return store.New(store.Options{
		Dialects: all.Dialects(),
		Env: dialect.Env{Home: "/home", TempDir: "/tmp", WorkDir: "/work", Zone: time.UTC,
			Getenv: func(string) string { return "" }, Realpath: func(p string) (string, error) { return p, nil }},
		OpenDir: f.open,
		WriteDir: func(dir string, _ store.Durability, _ func(session.Problem)) (backend.Backend, error) {
			return f.open(dir)
		},
	})
}

// FuzzServe sends any bytes: nothing panics or hangs, and each line that comes back is an answer.
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
	f.Fuzz(func(t *testing.T, in []byte) {
		watch := time.AfterFunc(20*time.Second, func() { panic(fmt.Sprintf("it hangs: %q", in)) })
		defer watch.Stop()
		var out bytes.Buffer
		if err := rpc.Serve(context.Background(), memoryStore(), rpc.Options{}, bytes.NewReader(in), &out); err != nil {
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
