package index_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/treeline-dev/treeline/index"
)

// An index keeps what is derived from logs between two runs of a program.
func ExampleIndex() {
	dir, err := os.MkdirTemp("", "treeline-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	x := index.Open(index.Options{Dir: dir})
	x.Put(index.Update{Source: "/sessions", Put: []index.Log{{
		Name:    "garden/1.jsonl",
		Stamp:   index.Stamp{Generation: "g1", Size: 4711},
		Summary: index.Summary{Session: true, ID: "5e55aaaa", Title: "Beds", Messages: 12},
	}}})
	if err := x.Commit(context.Background()); err != nil {
		log.Fatal(err)
	}

	// Another process, later: a log with the same stamp need not be read again.
	l, ok := index.Open(index.Options{Dir: dir}).Catalogue().Log("/sessions", "garden/1.jsonl")
	fmt.Println(ok, l.Stamp.Size, l.Summary.Title, l.Summary.Messages)
	// Output: true 4711 Beds 12
}
