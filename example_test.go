package treeline_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/session"
)

// home returns a store of a separate machine, so that the examples leave your sessions alone. Agents use treeline.Create,
// treeline.Open and so on, which work on this machine.
func home() (st *treeline.Store, done func()) {
	dir, err := os.MkdirTemp("", "treeline-example-")
	if err != nil {
		log.Fatal(err)
	}
	// A session belongs to a directory that exists.
	for _, project := range []string{"garden", "kitchen"} {
		if err := os.Mkdir(filepath.Join(dir, project), 0o700); err != nil {
			log.Fatal(err)
		}
	}
	st, err = treeline.New(treeline.Options{Home: dir, WorkDir: dir, Getenv: func(string) string { return "" }})
	if err != nil {
		log.Fatal(err)
	}
	return st, func() { os.RemoveAll(dir) }
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// say appends a message and gives the entry's id.
func say(s *treeline.Session, role, text string) session.EntryID {
	return must(s.AppendMessage(context.Background(), fmt.Appendf(nil, `{"role":%q,"content":%q}`, role, text))).ID
}

// show prints what the model would see.
func show(s *treeline.Session) {
	c := must(s.Context(context.Background(), s.Leaf(), treeline.ContextOptions{}))
	for m, err := range c.Messages() {
		check(err)
		fmt.Println(string(m.JSON))
	}
}

func Example() {
	ctx := context.Background()
	s, err := treeline.InMemory(ctx, treeline.CreateOptions{CWD: "garden"})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if _, err := s.AppendMessage(ctx, []byte(`{"role":"user","content":"plan the beds"}`)); err != nil {
		log.Fatal(err)
	}
	c, err := s.Context(ctx, s.Leaf(), treeline.ContextOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for m, err := range c.Messages() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(string(m.JSON))
	}
	// Output: {"role":"user","content":"plan the beds"}
}

// A session gets a file when there is something worth keeping: here, as in omp, with the first answer.
func ExampleCreate() {
	st, done := home()
	defer done()
	ctx := context.Background()
	s := must(st.Create(ctx, treeline.CreateOptions{CWD: "garden", Title: "Beds"})) // treeline.Create on this machine
	defer s.Close()
	exists := func() bool { _, err := os.Stat(s.Path()); return err == nil }
	fmt.Println("after Create:", exists())
	say(s, "user", "plan the beds")
	fmt.Println("after the question:", exists())
	fmt.Println(filepath.Base(filepath.Dir(s.Path())), s.Header().Title)
	// Output:
	// after Create: false
	// after the question: true
	// -garden Beds
}

func ExampleOpen() {
	st, done := home()
	defer done()
	ctx := context.Background()
	first := must(st.Create(ctx, treeline.CreateOptions{}))
	say(first, "user", "plan the beds")
	say(first, "assistant", "six of them")
	check(first.Close())

	s := must(st.OpenWrite(ctx, first.Path(), treeline.CreateOptions{})) // treeline.Open on this machine
	defer s.Close()
	say(s, "user", "and the paths?")
	show(s)
	// Output:
	// {"role":"user","content":"plan the beds"}
	// {"role":"assistant","content":"six of them"}
	// {"role":"user","content":"and the paths?"}
}

func ExampleContinueRecent() {
	st, done := home()
	defer done()
	ctx := context.Background()
	before := must(st.Create(ctx, treeline.CreateOptions{CWD: "garden"}))
	say(before, "assistant", "here we were")
	check(before.Close())

	s := must(st.ContinueRecent(ctx, treeline.CreateOptions{CWD: "garden"}))
	defer s.Close()
	fmt.Println(s.ID() == before.ID())
	other := must(st.ContinueRecent(ctx, treeline.CreateOptions{CWD: "kitchen"}))
	defer other.Close()
	fmt.Println(other.Tree().Len(), "entries: a new one")
	// Output:
	// true
	// 0 entries: a new one
}

func ExampleInMemory() {
	s := must(treeline.InMemory(context.Background(), treeline.CreateOptions{}))
	defer s.Close()
	say(s, "user", "nobody will know")
	fmt.Printf("path %q, %d entry\n", s.Path(), s.Tree().Len())
	// Output: path "", 1 entry
}

func ExampleForkFrom() {
	st, done := home()
	defer done()
	ctx := context.Background()
	source := must(st.Create(ctx, treeline.CreateOptions{CWD: "garden"}))
	defer source.Close()
	say(source, "user", "plan the beds")
	say(source, "assistant", "six of them")

	copied := must(st.ForkFrom(ctx, source.Path(), treeline.CreateOptions{CWD: "kitchen"}))
	defer copied.Close()
	fmt.Println(filepath.Base(copied.Header().CWD), copied.Header().Parent == string(source.ID()), copied.Tree().Len())
	// Output: kitchen true 2
}

// What sessions used comes from the catalogue: only logs that changed are read.
func ExampleStore_Stats() {
	st, done := home()
	defer done()
	ctx := context.Background()
	for _, dir := range []string{"garden", "kitchen", "garden"} {
		s := must(st.Create(ctx, treeline.CreateOptions{CWD: dir}))
		say(s, "user", "plan it")
		must(s.AppendMessage(ctx, []byte(`{"role":"assistant","provider":"p","model":"m","content":[],"usage":{"input":90,"output":10,"cost":{"total":0.25}}}`)))
		check(s.Close())
	}
	stats := must(st.Stats(ctx, treeline.StatsOptions{By: []treeline.StatsKey{treeline.StatsByProject}}))
	for _, g := range stats.Groups[treeline.StatsByProject] {
		fmt.Println(filepath.Base(g.Name), g.Sessions, g.Messages, g.Tokens.Total, g.Cost)
	}
	fmt.Println(stats.Total.Cost)
	// Output:
	// garden 2 4 200 0.5
	// kitchen 1 2 100 0.25
	// 0.75
}

// A program that follows a session sees what other programs write to it, as soon as it is written.
func ExampleStore_Watch() {
	st, done := home()
	defer done()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	s := must(st.Create(ctx, treeline.CreateOptions{CWD: "garden"}))
	defer s.Close()
	say(s, "user", "hello")
	say(s, "assistant", "good morning")
	for c, err := range st.Watch(ctx, treeline.WatchOptions{Path: s.Path()}) {
		check(err)
		switch c.Kind {
		case treeline.ChangeStart: // nothing is missed from here on
			say(s, "user", "who are you?")
		case treeline.ChangeEntry:
			fmt.Println(c.Entry.Role, string(c.Raw) != "")
			stop() // or break
		}
	}
	// Output: user true
}

func ExampleNewRequest() {
	ctx := context.Background()
	s := must(treeline.InMemory(ctx, treeline.CreateOptions{CWD: "garden"}))
	defer s.Close()
	say(s, "user", "plan the beds")
	r := must(treeline.NewRequest(ctx, s, s.Leaf(), treeline.RequestOptions{
		Provider: "openai", Model: "gpt-4", System: "Be brief.", Tools: []treeline.Tool{{Name: "sow", Description: "Sows a bed."}},
	}))
	fmt.Println(string(r.Body))
	// Output: {"model":"gpt-4","tools":[{"type":"function","function":{"name":"sow","description":"Sows a bed.","parameters":{"type":"object","properties":{}}}}],"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"plan the beds"}]}
}

// What the model would see has the same form for every agent.
func ExampleMessages() {
	ctx := context.Background()
	s := must(treeline.InMemory(ctx, treeline.CreateOptions{}))
	defer s.Close()
	must(s.AppendUser(ctx, "water the beds"))
	must(s.AppendAssistant(ctx, []session.Part{session.ToolCall{ID: "c1", Name: "hose", Arguments: session.Raw(`{"litres":6}`)}}, treeline.Answer{}))
	for m, err := range treeline.Messages(ctx, s, s.Leaf(), treeline.ContextOptions{}) {
		if err != nil {
			panic(err)
		}
		for _, part := range m.Parts {
			switch p := part.(type) {
			case session.Text:
				fmt.Println(m.Role, p.Text)
			case session.ToolCall:
				fmt.Println(m.Role, p.Name, string(p.Arguments))
			}
		}
	}
	// Output:
	// user water the beds
	// assistant hose {"litres":6}
}

// A session is continued in its own agent, or in another one.
func ExampleStore_ResumeCommand() {
	st, done := home()
	defer done()
	ctx := context.Background()
	s := must(st.Create(ctx, treeline.CreateOptions{}))
	defer s.Close()
	say(s, "assistant", "here we were")
	own := must(st.ResumeCommand(ctx, s, treeline.ResumeOptions{}))
	fmt.Println(own.Args[:2], own.Path == s.Path())
	other := must(st.ResumeCommand(ctx, s, treeline.ResumeOptions{In: must(st.Dialect("codex"))}))
	fmt.Println(other.Args[:2], other.From == s.Path())
	// Output:
	// [omp --resume] true
	// [codex resume] true
}
