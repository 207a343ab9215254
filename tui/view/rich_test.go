package view

import (
	"fmt"
	"strings"
	"testing"
)

const richProse = "# A heading with `code`\n\nProse with *emphasis*, **strength**, ~~deleted~~ text, a [link](https://example.org/a), https://example.org/b and " +
	"`code` in a line that is long enough to be broken at any width.\n\n- one\n- two\n  1. three\n  2. four that is long enough to be broken, so that its second line is indented\n\n" +
	"- [x] done\n- [ ] not done\n\n> A quote\n> of two lines\n>\n> - with a list\n\n---\n\n" +
	"| name | what it is and why it is here | count |\n|:--|:-:|--:|\n| one | a cell that has many words, so that it has to be broken | 1 |\n| two | short | 22 |\n\n" +
	"```go\n// Sum adds.\nfunc Sum(a, b int) string { return \"a\" + strconv.Itoa(a+b) } // and a long comment at the end\n```\n\n" +
	"世界 and 👩‍👩‍👧‍👦 are wide."

// rich returns a session with one of each thing that is drawn in a special way.
func rich() []string {
	message := func(id, up, body string) string {
		return `{"type":"message","id":"` + id + `","parentId":"` + up + `","timestamp":"2026-03-02T14:00:01.000Z","message":{` + body + `}}`
	}
	long := strings.Repeat("It thinks about this and that. ", 20)
	return []string{
		said("a", "", "user", richProse),
		`{"type":"model_change","id":"b","parentId":"a","timestamp":"2026-03-02T14:00:01.000Z","model":"p/another","role":"default"}`,
		`{"type":"thinking_level_change","id":"c","parentId":"b","timestamp":"2026-03-02T14:00:01.000Z","thinkingLevel":"high"}`,
		message("d", "c", `"role":"assistant","content":[{"type":"thinking","thinking":`+quote(long)+`},{"type":"thinking","thinking":"Short, with `+"`code`"+`."},`+
			`{"type":"thinking","thinking":"","thinkingSignature":"x"},{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"},{"type":"odd","x":[1,2]},`+
			`{"type":"toolCall","id":"t1","name":"bash","arguments":{"command":"set -e\nls -l","timeout":5}},`+
			`{"type":"toolCall","id":"t2","name":"edit","arguments":{"path":"/garden/a.go","oldText":"one\ntwo\nthree\n","newText":"one\n2\nthree\nfour\n"}},`+
			`{"type":"toolCall","id":"t3","name":"read","arguments":{"path":"/garden/b.go"}}],"provider":"p","model":"another","stopReason":"toolUse",`+
			`"usage":{"input":1200,"output":34,"cacheRead":0,"cacheWrite":0,"totalTokens":1234}`),
		message("e", "d", `"role":"toolResult","toolCallId":"t1","toolName":"bash","content":[{"type":"text","text":"one\ntwo\nthree\nfour\nfive\nsix\nseven"},`+
			`{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}],"isError":true`),
		message("f", "e", `"role":"toolResult","toolCallId":"t2","toolName":"edit","content":[{"type":"text","text":"{\"ok\":true,\"lines\":[1,2]}"}]`),
		message("g", "f", `"role":"assistant","content":[],"provider":"p","model":"another","stopReason":"error","errorMessage":"overloaded, try again later"`),
		`{"type":"compaction","id":"h","parentId":"g","timestamp":"2026-03-02T14:00:01.000Z","summary":"What was **said** before.","firstKeptEntryId":"g","tokensBefore":41000}`,
		`{"type":"branch_summary","id":"i","parentId":"h","timestamp":"2026-03-03T09:00:01.000Z","fromId":"a","summary":"Another way was tried."}`,
		`{"type":"from_the_future","id":"j","parentId":"i","timestamp":"2026-03-03T09:00:01.000Z","anything":[1,{"two":2}]}`,
		`{"type":"message","id":"k","parentId":"j","timestamp":"2026-03-03T09:00:02.000Z","message":{"role":"user","content":"The next day."}}`,
		`{"type":"label","id":"l","parentId":"k","timestamp":"2026-03-03T09:00:03.000Z","targetId":"k","label":"tomorrow"}`,
		`{"type":"mess`,
	}
}

// These are drawn narrow and wide, folded and unfolded.
func TestRich(t *testing.T) {
	s := log(t, rich()...)
	for _, c := range []struct {
		name          string
		width, height int
		keys          string
	}{{"folded", 80, 90, "g"}, {"unfolded", 80, 130, "E g"}, {"narrow", 40, 150, "g"}} {
		name := fmt.Sprintf("rich-%s-%d", c.name, c.width)
		t.Run(name, func(t *testing.T) {
			r := ride(t, openFile(t, s.Path()), Options{}, c.width, c.height)
			r.press(strings.Fields(c.keys)...)
			r.golden(name, r.text())
		})
	}
}
