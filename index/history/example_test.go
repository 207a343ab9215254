package history_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/treeline-dev/treeline/index/history"
)

// Prompts are added without waiting, written when Flush or Close return, and found by the beginnings of their words.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "treeline-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	ctx := context.Background()
	h, err := history.Open(ctx, filepath.Join(dir, "history.db"), history.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, prompt := range []string{"plan the beds", "plan the beds", "and the paths?"} { // one that equals the last is not kept
		if err := h.Add(prompt, "/work/garden"); err != nil {
			log.Fatal(err)
		}
	}
	if err := h.Flush(ctx); err != nil {
		log.Fatal(err)
	}
	for _, text := range []string{"bed", ""} {
		found, err := h.Search(ctx, history.Query{Text: text, Limit: 10})
		if err != nil {
			log.Fatal(err)
		}
		for _, p := range found {
			fmt.Printf("%q: %s (%s)\n", text, p.Text, p.CWD)
		}
	}
	if err := h.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// "bed": plan the beds (/work/garden)
	// "": and the paths? (/work/garden)
	// "": plan the beds (/work/garden)
}
