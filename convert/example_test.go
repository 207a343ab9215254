package convert_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/treeline-dev/treeline/convert"
	"github.com/treeline-dev/treeline/dialect/codex"
	"github.com/treeline-dev/treeline/dialect/pi"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// A session of oh-my-pi becomes one of Codex. The label, which Codex does not have, is carried along in the new log.
func ExampleSession() {
	home, err := os.MkdirTemp("", "treeline-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(home)
	ctx := context.Background()
	st := world.Store(home) // see store.New
	defer st.Close()
	old, err := st.Create(ctx, store.CreateOptions{CWD: home, Dialect: pi.Omp})
	if err != nil {
		log.Fatal(err)
	}
	defer old.Close()
	question, err := old.AppendUser(ctx, "plan the beds")
	if err == nil {
		_, err = old.AppendAssistant(ctx, []session.Part{session.Text{Text: "six of them"}}, store.Answer{Provider: "acme", Model: "m1"})
	}
	if err == nil {
		_, err = old.Label(ctx, question.ID, "start")
	}
	if err != nil {
		log.Fatal(err)
	}

	copied, report, err := convert.Session(ctx, st, old, convert.Options{To: codex.Codex})
	if err != nil {
		log.Fatal(err)
	}
	defer copied.Close()
	fmt.Println(copied.Dialect().Name(), report.Mapped, "mapped,", report.Carried, "carried,", report.Dropped, "dropped")
	for _, loss := range report.Losses {
		fmt.Println(loss.Kind, loss.Became)
	}
	// Output:
	// codex 2 mapped, 1 carried, 0 dropped
	// header carried
	// label carried
	// message mapped
}
