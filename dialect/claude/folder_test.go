package claude

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// TestWholeAsksForPlainNames: the path in the text may be anything. Whole asks only for a plain name below tool-results, and
// does not use an output whose beginning differs from the one in the message.
func TestWholeAsksForPlainNames(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/home/u/.claude/projects/-p/s/tool-results/b1.txt":    "tool-results/b1.txt",
		`C:\Users\u\.claude\projects\-p\s\tool-results\b1.txt`: "tool-results/b1.txt",
		"/s/tool-results/../../../etc/passwd":                  "",
		"/s/tool-results/..":                                   "",
		"/s/tool-results/.hidden":                              "",
		"/etc/passwd":                                          "",
		"tool-results":                                         "",
		"/s/tool-results/a\x00b":                               "",
		"":                                                     "",
	} {
		text := "<persisted-output>\nOutput too large (9KB). Full output saved to: " + path + "\n\nPreview (first 2KB):\none\ntwo\n...\n</persisted-output>"
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, content := range []string{string(quoted), `[{"type":"text","text":` + string(quoted) + `}]`} {
			record := `{"type":"user","message":{"role":"user","content":[{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"t","content":` + content + `}]}}`
			// The program writes these characters without escapes.
			record = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(record)
			asked := ""
			get := func(output string, err error) string {
				return string(Claude.Whole([]byte(record), func(name string) ([]byte, error) { asked = name; return []byte(output), err }))
			}
			whole := get("one\ntwo\nthree", nil)
			if asked != want || strings.Contains(whole, `one\ntwo\nthree"`) != (want != "") || strings.Contains(whole, "persisted") != (want == "") {
				t.Errorf("%q: asked for %q: %s", path, asked, whole)
			}
			if Claude.IsCut([]byte(record)) != (want != "") {
				t.Errorf("%q: IsCut is wrong", path)
			}
			if get("another", nil) != record || get("", errors.New("missing")) != record {
				t.Errorf("%q: changed without its output", path)
			}
		}
	}
}
