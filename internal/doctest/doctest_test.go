package doctest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBlocks(t *testing.T) {
	t.Parallel()
	text := "# Title\n\n```sh noexec needs a server\ntreeline serve &\n```\n\n* item\n\n  ```console test server/TestX\n  $ ls\n  a\n  ```\n```json\n{}\n```\n"
	got, errs := Blocks("a.md", text)
	if errs != nil {
		t.Fatal(errs)
	}
	want := []Block{
		{File: "a.md", Line: 4, Lang: "sh", Mark: NoExec, Why: "needs a server", Text: "treeline serve &\n"},
		{File: "a.md", Line: 10, Lang: "console", Mark: Tested, Why: "server/TestX", Text: "$ ls\na\n"},
		{File: "a.md", Line: 14, Lang: "json", Text: "{}\n"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestBlocksRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"```\nx\n```\n":            "needs a language",
		"```cobol\nx\n```\n":       `language "cobol"`,
		"```sh noexec\nx\n```\n":   "needs a reason",
		"```sh skipped x\nx\n```":  `marked "skipped"`,
		"```json output\nx\n```\n": `an output is "text"`,
		"```sh\nx\n":               "has no end",
	} {
		if _, errs := Blocks("a.md", text); len(errs) != 1 || !strings.Contains(errs[0].Error(), want) {
			t.Errorf("Blocks(%q) = %v, want %s", text, errs, want)
		}
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	b := Block{File: "a.md", Line: 7, Text: "$ one \\\n  two\nprinted\n$ three\n"}
	got, err := b.Commands()
	want := []Command{{Line: 7, Text: "one \\\n  two\n", Output: "printed\n"}, {Line: 10, Text: "three\n"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	if _, err := (Block{File: "a.md", Line: 7, Text: "printed\n"}).Commands(); err == nil || err.Error() != `a.md:7: a console block begins with "$ " and a command` {
		t.Errorf("output without a command: %v", err)
	}
}

func TestTreeline(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][][]string{
		"treeline ls --all   # everything":        {{"ls", "--all"}},
		"cd x && treeline search 'a # b' | head":  {{"search", "a # b"}},
		"go run ./cmd/treeline demo":              {{"demo"}},
		"claude mcp add treeline -- treeline mcp": {{"mcp"}},
		"TOKEN=x treeline push URL & treeline ls": {{"push", "URL"}, {"ls"}},
		`omp --resume "$(treeline pick --path)"`:  {{"pick", "--path"}},
		"source <(treeline completion bash)":      {{"completion", "bash"}},
		"echo treeline":                           nil,
	} {
		if diff := cmp.Diff(want, Treeline(line)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", line, diff)
		}
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		shown, printed string
		differ         bool
	}{
		{shown: "a  b\n", printed: "a     b\n"},
		{shown: "a\n", printed: "a"},
		{shown: "", printed: ""},
		{shown: "", printed: "a\n", differ: true},
		{shown: "a\n", printed: "", differ: true},
		{shown: "a.b\n", printed: "axb\n", differ: true},
		{shown: "2026-11-16 12:57  x\n", printed: "2027-01-01 00:00  x\n"},
		{shown: "2026-11-16T12:57:01.123Z\n", printed: "2027-01-01T00:00:59.001Z\n"},
		{shown: "3 d  x\n", printed: "11 min  x\n"},
		{shown: "1.3 KB  x\n", printed: "12 MB  x\n"},
		{shown: "3 dogs\n", printed: "4 dogs\n", differ: true},
		{shown: "a…c\n", printed: "abbbc\n"},
		{shown: "a…c\n", printed: "a\nc\n", differ: true},
		{shown: "a\n…\nc\n", printed: "a\nb\nb\nc\n"},
		{shown: "a\n…\n", printed: "a\n"},
		{shown: "01a1e456#6b547a4d\n", printed: "0badcafe#12345678\n"},
		{shown: "/2026-11-11T17-30-00-000Z_01a1cba8.jsonl\n", printed: "/2027-01-01T00-00-59-001Z_0badcafe.jsonl\n"},
		{shown: "/2026/11/12/rollout-2026-11-12T09-15-00-01a1cf09.jsonl\n", printed: "/2027/01/01/rollout-2027-01-01T00-00-59-0badcafe.jsonl\n"},
		{shown: "opencode  ses_e35b\n", printed: "opencode  ses_e308\n"},
		{shown: "ses_e35b\n", printed: "ses_e3089\n", differ: true},
		{shown: "01a1e456 01a1e456\n", printed: "0badcafe 0badcaff\n", differ: true},
		{shown: "01a1e456\n", printed: "0badcafe-0000-4000-8000-000000000000\n", differ: true},
	} {
		if err := new(Names).Match(tt.shown, tt.printed); (err != nil) != tt.differ {
			t.Errorf("Match(%q, %q) = %v, want a difference: %v", tt.shown, tt.printed, err, tt.differ)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	var n Names
	if err := n.Match("at 01a1e456-0000-7000-8000-000000000001\n", "at 0badcafe-1111-7111-8111-111111111111\n"); err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		"show 01a1e456-0000-7000-8000-000000000001": "show 0badcafe-1111-7111-8111-111111111111",
		"show 01a1e456#3": "show 0badcafe#3",
	} {
		if got, err := n.Real(command); got != want || err != nil {
			t.Errorf("Real(%q) = %q, %v; want %q", command, got, err, want)
		}
	}
	if _, err := n.Real("show 77777777"); err == nil {
		t.Error("an id that no output has was accepted")
	}
	if err := n.Match("01a1e456-0000-7000-8000-000000000001\n", "0badcafe-1111-7111-8111-111111111112\n"); err == nil {
		t.Error("one id stands for two")
	}
	if got, want := n.Shown("x 0badcafe-1111-7111-8111-111111111111"), "x 01a1e456-0000-7000-8000-000000000001"; got != want {
		t.Errorf("Shown = %q, want %q", got, want)
	}
}
