package treeline_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/session"
)

// Every kind of entry has a method.
func ExampleSession_append() {
	ctx := context.Background()
	s := must(treeline.InMemory(ctx, treeline.CreateOptions{}))
	defer s.Close()
	first := say(s, "user", "plan the beds")
	must(s.AppendThinkingLevelChange(ctx, "high"))
	must(s.AppendModelChange(ctx, "", "anthropic", "opus"))
	must(s.AppendCustom(ctx, "weather", []byte(`{"rain":true}`)))
	must(s.AppendCustomMessage(ctx, session.CustomMessage{Type: "weather", Content: session.Raw(`"it rains"`), Display: true}))
	must(s.AppendModeChange(ctx, "plan", nil))
	must(s.AppendTTSRInjection(ctx, []string{"no chemicals"}))
	must(s.AppendSessionInit(ctx, session.SessionInit{SystemPrompt: "You are a gardener.", Task: "beds", Tools: []string{"spade"}}))
	must(s.AppendSessionInfo(ctx, "Beds"))
	must(s.Label(ctx, first, "start"))
	must(s.Compact(ctx, session.Compaction{Summary: "Six beds were planned.", FirstKept: first}))
	var types []string
	for e := range s.Tree().Entries() {
		types = append(types, e.Type)
	}
	fmt.Println(strings.Join(types, " "))
	c := must(s.Context(ctx, s.Leaf(), treeline.ContextOptions{}))
	fmt.Println(c.ThinkingLevel, c.Mode, c.TTSRRules, c.Models[0].Name)
	// Output:
	// message thinking_level_change model_change custom custom_message mode_change ttsr_injection session_init session_info label compaction
	// high plan [no chemicals] anthropic/opus
}

// An append reports what became of it. A second writer's entry is kept, and so is ours.
func ExampleAppended() {
	st, done := home()
	defer done()
	ctx := context.Background()
	a := must(st.Create(ctx, treeline.CreateOptions{}))
	defer a.Close()
	say(a, "assistant", "here we were")
	b := must(st.OpenWrite(ctx, a.Path(), treeline.CreateOptions{}))
	defer b.Close()
	say(b, "user", "from another window")

	got := must(a.AppendMessage(ctx, []byte(`{"role":"user","content":"from this one"}`)))
	fmt.Println(got.Durable, got.Foreign, got.Outcome)
	show(a)
	// Output:
	// true 1 branch
	// {"role":"assistant","content":"here we were"}
	// {"role":"user","content":"from this one"}
}

// A branch continues from an earlier entry. The entries after it stay.
func ExampleSession_Branch() {
	ctx := context.Background()
	s := must(treeline.InMemory(ctx, treeline.CreateOptions{}))
	defer s.Close()
	question := say(s, "user", "plan the beds")
	say(s, "assistant", "six of them")
	must(s.Branch(ctx, question, treeline.BranchOptions{Durable: true}))
	say(s, "assistant", "seven, and a pond")
	show(s)
	fmt.Println(len(s.Tree().Children(question)), "branches")
	// Output:
	// {"role":"user","content":"plan the beds"}
	// {"role":"assistant","content":"seven, and a pond"}
	// 2 branches
}

func ExampleSession_ResetLeaf() {
	ctx := context.Background()
	s := must(treeline.InMemory(ctx, treeline.CreateOptions{}))
	defer s.Close()
	say(s, "user", "plan the beds")
	check(s.ResetLeaf(ctx, treeline.BranchOptions{}))
	say(s, "user", "from the beginning, please")
	fmt.Println(len(s.Tree().Roots()), "roots")
	// Output: 2 roots
}

// The model on the new branch is told what happened on the one that was left.
func ExampleSession_BranchWithSummary() {
	ctx := context.Background()
	s := must(treeline.InMemory(ctx, treeline.CreateOptions{}))
	defer s.Close()
	question := say(s, "user", "plan the beds")
	say(s, "assistant", "six of them")
	must(s.BranchWithSummary(ctx, question, session.BranchSummary{Summary: "Six beds were too many."}))
	c := must(s.Context(ctx, s.Leaf(), treeline.ContextOptions{}))
	for m, err := range c.Messages() {
		check(err)
		fmt.Println(m.Entry.Type, strings.Contains(string(m.JSON), "too many"))
	}
	// Output:
	// message false
	// branch_summary true
}

// A path becomes a separate session.
func ExampleSession_BranchedSession() {
	st, done := home()
	defer done()
	ctx := context.Background()
	s := must(st.Create(ctx, treeline.CreateOptions{}))
	defer s.Close()
	question := say(s, "user", "plan the beds")
	say(s, "assistant", "six of them")
	old := s.Path()
	check(s.BranchedSession(ctx, question))
	fmt.Println(s.Path() != old, s.Header().Parent == old, s.Tree().Len())
	// Output: true true 1
}

func ExampleSession_Fork() {
	st, done := home()
	defer done()
	ctx := context.Background()
	s := must(st.Create(ctx, treeline.CreateOptions{}))
	defer s.Close()
	say(s, "assistant", "here we were")
	id := s.ID()
	check(s.Fork(ctx)) // s now is the copy
	fmt.Println(s.ID() != id, s.Header().Parent == string(id))
	// Output: true true
}

func ExampleSession_Rename() {
	st, done := home()
	defer done()
	ctx := context.Background()
	s := must(st.Create(ctx, treeline.CreateOptions{}))
	defer s.Close()
	say(s, "assistant", "here we were")
	check(s.Rename(ctx, "Beds and paths"))
	fmt.Println(must(s.Name()))
	// Output: Beds and paths
}

func ExampleSession_Move() {
	st, done := home()
	defer done()
	ctx := context.Background()
	s := must(st.Create(ctx, treeline.CreateOptions{CWD: "garden"}))
	defer s.Close()
	say(s, "assistant", "here we were")
	check(s.Move(ctx, "kitchen"))
	fmt.Println(filepath.Base(s.Header().CWD), filepath.Base(filepath.Dir(s.Path())))
	// Output: kitchen -kitchen
}

func ExampleSession_RewriteToolCallArguments() {
	ctx := context.Background()
	s := must(treeline.InMemory(ctx, treeline.CreateOptions{}))
	defer s.Close()
	must(s.AppendMessage(ctx, []byte(`{"role":"assistant","content":[{"type":"toolCall","id":"1","name":"dig","arguments":{"depth":9}}]}`)))
	found := must(s.RewriteToolCallArguments(ctx, "1", []byte(`{"depth":1}`)))
	fmt.Println(found)
	show(s)
	// Output:
	// true
	// {"role":"assistant","content":[{"type":"toolCall","id":"1","name":"dig","arguments":{"depth":1}}]}
}

func ExampleSession_RewriteEntries() {
	ctx := context.Background()
	s := must(treeline.InMemory(ctx, treeline.CreateOptions{}))
	defer s.Close()
	say(s, "user", "forget this")
	check(s.RewriteEntries(ctx, [][]byte{[]byte(`{"type":"message","id":"a1b2c3d4","parentId":null,"message":{"role":"user","content":"this instead"}}`)}))
	show(s)
	// Output: {"role":"user","content":"this instead"}
}

// At DurabilityFlush, the default, what was flushed survives a crash of the machine.
func ExampleSession_Flush() {
	st, done := home()
	defer done()
	ctx := context.Background()
	s := must(st.Create(ctx, treeline.CreateOptions{Write: treeline.WriteOptions{Durability: treeline.DurabilityFlush}}))
	defer s.Close()
	say(s, "assistant", "write this down")
	check(s.Flush(ctx))
	fmt.Println("it is on the disk")
	// Output: it is on the disk
}

func ExampleSession_Delete() {
	st, done := home()
	defer done()
	ctx := context.Background()
	s := must(st.Create(ctx, treeline.CreateOptions{}))
	say(s, "assistant", "soon forgotten")
	check(s.Delete(ctx))
	_, err := os.Stat(s.Path())
	fmt.Println(os.IsNotExist(err))
	// Output: true
}

// The context is what the model would see: after a compaction, its summary and the entries that it keeps.
func ExampleSession_Context() {
	ctx := context.Background()
	s := must(treeline.InMemory(ctx, treeline.CreateOptions{}))
	defer s.Close()
	say(s, "user", "plan the beds")
	kept := say(s, "assistant", "six of them")
	must(s.Compact(ctx, session.Compaction{Summary: "Beds.", FirstKept: kept}))
	say(s, "user", "and the paths?")
	c := must(s.Context(ctx, s.Leaf(), treeline.ContextOptions{}))
	for m, err := range c.Messages() {
		check(err)
		fmt.Println(m.Entry.Type)
	}
	// Output:
	// compaction
	// message
	// message
}

// An observer is told what happened, and asked before important steps.
func ExampleObserver() {
	ctx := context.Background()
	opt := treeline.CreateOptions{}
	opt.Write.Observer = func(e treeline.Event) { fmt.Println(e.Kind) }
	s := must(treeline.InMemory(ctx, opt))
	defer s.Close()
	first := say(s, "user", "plan the beds")
	must(s.Compact(ctx, session.Compaction{Summary: "Beds.", FirstKept: first}))
	must(s.Branch(ctx, first, treeline.BranchOptions{}))
	// Output:
	// session_before_compact
	// session_compact
	// session_tree
}

// An observer may refuse what is about to happen.
func ExampleEvent() {
	ctx := context.Background()
	opt := treeline.CreateOptions{}
	opt.Write.Observer = func(e treeline.Event) {
		if e.Refuse != nil {
			e.Refuse(errors.New("the user is still typing"))
		}
	}
	s := must(treeline.InMemory(ctx, opt))
	defer s.Close()
	first := say(s, "user", "plan the beds")
	_, err := s.Compact(ctx, session.Compaction{Summary: "Beds.", FirstKept: first})
	fmt.Println(err)
	fmt.Println(s.Leaf() == first)
	// Output:
	// refused at session_before_compact: the user is still typing
	// true
}
