package main

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	"github.com/treeline-dev/treeline/watch"
	"github.com/treeline-dev/treeline/wire"
)

// On a terminal the session and the speaker are coloured, long lines are cut, and control characters are escaped.
func TestLiveOnTerminal(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	path := filepath.Join(home, "a.jsonl")
	content := `{"type":"session","version":3,"id":"aaaa1111-5e1f","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/garden","title":"A title \u001b[31m that is longer than the line"}
{"type":"message","id":"m1","parentId":null,"timestamp":"2026-03-02T14:01:00.000Z","message":{"role":"user","content":"one \u001b[2J two"}}
`
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	a := cli.New()
	a.Getenv = func(name string) string { return map[string]string{"HOME": home}[name] }
	s, err := a.Store()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	out := &console.Output{Writer: bufio.NewWriter(&text), Style: console.Style{On: true}, Width: 40}
	l := wire.NewLive(out.Page(), home)
	for c, err := range s.Watch(t.Context(), watch.Options{Path: path, Last: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Tell(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if c.Kind == watch.KindEntry {
			break
		}
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	first, rest, _ := bytes.Cut(text.Bytes(), []byte("\n"))
	const name = "━━ \x1b[33maaaa1111\x1b[0m \x1b[1mA title \\x1b[31m that is"
	if !bytes.HasPrefix(first, []byte(name)) {
		t.Errorf("the session is named %q", first)
	}
	if !bytes.Contains(rest, []byte("\x1b[1;36m❯ user\x1b[0m")) || !bytes.Contains(rest, []byte(`one \x1b[2J two`)) {
		t.Errorf("the entry is %q", rest)
	}
}
