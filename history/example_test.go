package history_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/history"
)

// Prompts are added without waiting for the disk and found by the beginnings of words. A prompt that equals the last is not kept.
func ExampleOpen() {
	dir := must(os.MkdirTemp("", "treeline-example-"))
	defer os.RemoveAll(dir)
	ctx := context.Background()
	h := must(history.Open(ctx, history.Options{DB: filepath.Join(dir, "history.db")}))
	defer h.Close()
	for _, prompt := range []string{"plan the beds", "plan the beds", "and the paths?", "plant the beds"} {
		check(h.Add(prompt, "/work/garden"))
	}
	check(h.Flush(ctx))
	for _, p := range must(h.Search(ctx, history.Query{Text: "bed plan", Limit: 10})) {
		fmt.Println(p.Text, p.CWD)
	}
	// Output:
	// plant the beds /work/garden
	// plan the beds /work/garden
}

// The history of a machine is made of its sessions, and knows where each prompt was used.
func ExampleImport() {
	dir := must(os.MkdirTemp("", "treeline-example-"))
	defer os.RemoveAll(dir)
	ctx := context.Background()
	st := must(treeline.New(treeline.Options{Home: dir, WorkDir: "/work/garden", Getenv: func(string) string { return "" }}))
	defer st.Close()
	s := must(st.Create(ctx, treeline.CreateOptions{}))
	must(s.AppendMessage(ctx, []byte(`{"role":"user","content":"plan the beds"}`)))
	must(s.AppendMessage(ctx, []byte(`{"role":"assistant","content":"six of them"}`)))
	check(s.Close())

	opt := history.Options{State: filepath.Join(dir, "state"), Cache: filepath.Join(dir, "cache"), Sessions: st}
	report := must(history.Import(ctx, opt))
	fmt.Println(report.Added, "prompt")
	places := must(history.OpenPlaces(ctx, opt))
	defer places.Close()
	for _, p := range must(history.Search(ctx, opt, history.Query{Text: "bed", Limit: 1})) {
		used := must(places.Of(ctx, p.Text, 1))
		fmt.Println(p.Text, used[0].Session == s.ID(), used[0].CWD)
	}
	// Output:
	// 1 prompt
	// plan the beds true /work/garden
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
