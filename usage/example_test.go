package usage_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/treeline-dev/treeline/dialect/pi"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/usage"
)

// The rows come from a catalogue. What a fork repeats counts once.
func ExampleLook() {
	home, err := os.MkdirTemp("", "treeline-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(home)
	ctx := context.Background()
	st := world.Store(home) // see store.New
	defer st.Close()
	now := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	clock := func() time.Time { now = now.Add(time.Second); return now }
	s, err := st.Create(ctx, store.CreateOptions{CWD: home, Dialect: pi.Omp, Write: store.WriteOptions{Clock: clock}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	answer := store.Answer{Provider: "acme", Model: "m1", Usage: &session.Usage{Input: 90, Output: 10, Total: 100}}
	if _, err = s.AppendUser(ctx, "plan the beds"); err == nil {
		_, err = s.AppendAssistant(ctx, []session.Part{session.Text{Text: "six of them"}}, answer)
	}
	if err == nil {
		err = s.Fork(ctx)
	}
	if err != nil {
		log.Fatal(err)
	}

	f := find.New(st.Machine, index.Open(index.Options{}), time.Now)
	defer f.Close()
	rows, err := f.Catalogue(ctx, find.RefreshOptions{})
	if err != nil {
		log.Fatal(err)
	}
	report := usage.Look(rows).Sum(rows, usage.Options{By: []usage.Key{usage.Model}})
	fmt.Println(len(rows), "sessions,", report.Total.Tokens.Total, "tokens")
	for _, g := range report.Groups[usage.Model] {
		fmt.Println(g.Name, g.Tokens.Total)
	}
	// Output:
	// 2 sessions, 100 tokens
	// acme/m1 100
}
