package treeline_test

import (
	"context"
	"fmt"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/session"
)

// The same calls write a turn in the format of any agent: a question, an answer that calls a tool, and the result.
func ExampleSession_AppendAssistant() {
	st, done := home()
	defer done()
	ctx := context.Background()
	call := session.ToolCall{ID: "call-1", Name: "read", Arguments: session.Raw(`{"path":"beds.txt"}`)}
	result := []session.Part{session.Text{Text: "six"}}
	for _, name := range []string{"omp", "pi", "operator", "wave"} {
		d := must(st.Dialect(name))
		s := must(st.Create(ctx, treeline.CreateOptions{CWD: "garden", Dialect: d}))
		must(s.AppendUser(ctx, "how many beds?"))
		model := treeline.Answer{Provider: "acme", Model: "m1", Usage: &session.Usage{Input: 12, Output: 3, Total: 15}}
		if name == "wave" { // the result is in the same message as its call
			must(s.AppendAssistant(ctx, []session.Part{call, session.ToolResult{CallID: "call-1", Parts: result}}, model))
		} else {
			must(s.AppendAssistant(ctx, []session.Part{call}, model))
			must(s.AppendToolResult(ctx, "call-1", result, false))
		}
		must(s.AppendAssistant(ctx, []session.Part{session.Text{Text: "There are six."}}, model))

		fmt.Println(name)
		c := must(s.Context(ctx, s.Leaf(), treeline.ContextOptions{}))
		for m, err := range c.Messages() {
			check(err)
			for _, part := range s.MessageParts(m.JSON) {
				switch p := part.(type) {
				case session.Text:
					fmt.Println("  text:", p.Text)
				case session.ToolCall:
					fmt.Println("  call:", p.Name, string(p.Arguments))
				case session.ToolResult:
					fmt.Println("  result:", p.CallID, p.Parts)
				}
			}
		}
		check(s.Close())
	}
	// Output:
	// omp
	//   text: how many beds?
	//   call: read {"path":"beds.txt"}
	//   result: call-1 [{six}]
	//   text: There are six.
	// pi
	//   text: how many beds?
	//   call: read {"path":"beds.txt"}
	//   result: call-1 [{six}]
	//   text: There are six.
	// operator
	//   text: how many beds?
	//   call: read {"path":"beds.txt"}
	//   result: call-1 [{six}]
	//   text: There are six.
	// wave
	//   text: how many beds?
	//   call: read {"path":"beds.txt"}
	//   result: call-1 [{six}]
	//   text: There are six.
}

// An answer together with the results of its calls can be written in every format.
func ExampleSession_AppendAssistant_results() {
	st, done := home()
	defer done()
	ctx := context.Background()
	for _, name := range []string{"omp", "pi", "operator", "wave", "claude", "codex", "gemini", "qwen", "copilot"} {
		s := must(st.Create(ctx, treeline.CreateOptions{CWD: "garden", Dialect: must(st.Dialect(name))}))
		must(s.AppendUser(ctx, "how many beds?"))
		must(s.AppendAssistant(ctx, []session.Part{
			session.ToolCall{ID: "call-1", Name: "read", Arguments: session.Raw(`{"path":"beds.txt"}`)},
			session.ToolResult{CallID: "call-1", Parts: []session.Part{session.Text{Text: "six"}}},
		}, treeline.Answer{Provider: "acme", Model: "m1"}))
		must(s.AppendAssistant(ctx, []session.Part{session.Text{Text: "There are six."}}, treeline.Answer{}))
		fmt.Print(name, ":")
		for m, err := range treeline.Messages(ctx, s, s.Leaf(), treeline.ContextOptions{}) {
			check(err)
			for _, part := range m.Parts {
				fmt.Printf(" %T", part)
			}
		}
		fmt.Println()
		check(s.Close())
	}
	// Output:
	// omp: session.Text session.ToolCall session.ToolResult session.Text
	// pi: session.Text session.ToolCall session.ToolResult session.Text
	// operator: session.Text session.ToolCall session.ToolResult session.Text
	// wave: session.Text session.ToolCall session.ToolResult session.Text
	// claude: session.Text session.ToolCall session.ToolResult session.Text
	// codex: session.Text session.ToolCall session.ToolResult session.Text
	// gemini: session.Text session.ToolCall session.ToolResult session.Text
	// qwen: session.Text session.ToolCall session.ToolResult session.Text
	// copilot: session.Text session.ToolCall session.ToolResult session.Text
}
