package wave

import (
	"testing"

	"github.com/treeline-dev/treeline/dialect"
)

// TestSent: what the program sends of a message, block by block.
func TestSent(t *testing.T) {
	for _, c := range []struct{ message, want string }{
		// unchanged
		{`{"role":"user","blocks":[{"type":"text","content":"a"},{"type":"image","imageUrls":["x"]}],"isMeta":true}`, "same"},
		{`{"role":"assistant","blocks":[{"type":"reasoning","content":"hm"},{"type":"tool","id":"c","stage":"end","result":""}]}`, "same"},
		// nothing
		{`{"role":"user","blocks":[{"type":"bang","command":"ls","output":"a","exitCode":0}]}`, ""},
		{`{"role":"user","blocks":[{"type":"text","content":" \n"},{"type":"file_history","snapshots":[]}]}`, ""},
		{`{"role":"assistant","blocks":[{"type":"error","content":"broken"},{"type":"reasoning","content":"hm"}]}`, ""},
		{`{"role":"assistant","blocks":[{"type":"tool","id":"c","stage":"running"},{"type":"tool","stage":"end","result":"x"}]}`, ""},
		// with another text
		{`{"role":"user","blocks":[{"type":"text","content":"/fix","customCommandContent":"Fix it."}]}`, `{"role":"user","blocks":[{"type":"text","content":"Fix it."}]}`},
		{`{"role":"user","blocks":[{"type":"tool","stage":"end","result":"out"}]}`, `{"role":"user","blocks":[{"type":"text","content":"<local-command-stdout>\nout\n</local-command-stdout>"}]}`},
		{`{"role":"assistant","blocks":[{"type":"text","content":"kept"},{"type":"compact","content":"sum"}]}`, `{"role":"user","blocks":[{"type":"text","content":"sum"}]}`},
		{`{"role":"user","blocks":[{"type":"task_notification","taskId":"t","taskType":"shell","status":"failed","summary":"s","outputFile":"/o"}]}`,
			`{"role":"user","blocks":[{"type":"text","content":"<task-notification>\n<task-id>t</task-id>\n<task-type>shell</task-type>\n<output-file>/o</output-file>\n<status>failed</status>\n<summary>s</summary>\n</task-notification>"}]}`},
	} {
		want := c.want
		if want == "same" {
			want = c.message
		}
		if got, err := (&codec{}).LLM([]byte(c.message)); string(got) != want || err != nil {
			t.Errorf("%s\nis sent as %s\nwant       %s (%v)", c.message, got, want, err)
		}
	}
}

// A command of the user is parsed and composed again.
func TestCommand(t *testing.T) {
	const block = `{"type":"bang","command":"ls","output":"a","stage":"end","exitCode":2}`
	c, ok := Wave.Command([]byte(`{"role":"user","blocks":[` + block + `]}`))
	if !ok || c.Code != "ls" || c.Output != "a" || string(c.Exit) != "2" || !c.Hidden || c.Tool != "bash" {
		t.Fatalf(`%+v, %v; want ok, c.Code == "ls", c.Output == "a", string(c.Exit) == "2", c.Hidden, c.Tool == "bash"`, c, ok)
	}
	made, err := Wave.Compose(dialect.NewMessage{Role: roleOf([]byte("user")), Command: &c})
	if want := `{"role":"user","blocks":[` + block + `]}`; err != nil || len(made) != 1 || string(made[0]) != want {
		t.Errorf("%s (%v), want %s", made, err, want)
	}
	if _, ok := Wave.Command([]byte(`{"role":"user","blocks":[` + block + `,{"type":"text","content":"a"}]}`)); ok {
		t.Error("a message with a text is taken for a command")
	}
}
