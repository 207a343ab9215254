package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/all"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/store"
)

// A store knows no concrete dialect and no concrete backend: both are handed in with the machine. treeline.New does that
// for this machine; a program with other places does it like this.
func ExampleNew() {
	home, err := os.MkdirTemp("", "treeline-example-")
	noError(err)
	defer os.RemoveAll(home)
	put(home, ".pi/agent/sessions/--work-garden--/1.jsonl",
		`{"type":"session","version":3,"id":"5e55aaaa","timestamp":"2026-03-01T08:00:00.000Z","cwd":"/work/garden"}
{"type":"message","id":"q","parentId":null,"timestamp":"2026-03-01T08:00:01.000Z","message":{"role":"user","content":"plan the beds"}}
`)

	m := place.New(place.Options{
		Dialects: all.Dialects(),
		Env: dialect.Env{
			Home: home, TempDir: os.TempDir(), WorkDir: "/work/garden", Zone: time.UTC,
			Getenv: func(string) string { return "" }, Realpath: filepath.EvalSymlinks,
		},
		Drivers:  []backend.Driver{file.Driver(file.Options{})},
		ReadOnly: true,
	})
	s := store.New(store.Options{Machine: m})
	defer s.Close()
	ctx := context.Background()
	rows, err := s.List(ctx, place.ListOptions{CWD: "/work/garden"})
	noError(err)
	for _, r := range rows {
		fmt.Println(r.Dialect.Name(), r.Short, r.Heading())
		open, err := s.Open(ctx, r.Path, store.OpenOptions{})
		noError(err)
		fmt.Println(open.Tree().Len(), "entry, the leaf is", open.Leaf())
		noError(open.Close())
	}
	// Output:
	// pi 5e55aaaa plan the beds
	// 1 entry, the leaf is q
}

func put(home, name, content string) {
	path := filepath.Join(home, filepath.FromSlash(name))
	noError(os.MkdirAll(filepath.Dir(path), 0o700))
	noError(os.WriteFile(path, []byte(content), 0o600))
}

func noError(err error) {
	if err != nil {
		panic(err)
	}
}
