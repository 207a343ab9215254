package main

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/internal/jsonschema"
)

// documented is a row of the table of commands in docs/json.md.
type documented struct {
	prints string
	shapes []string
}

var shapeLink = regexp.MustCompile(`\[([A-Za-z]+)\]\(#([a-z]+)\)`)

// documentedCommands reads the table.
func documentedCommands(t *testing.T) (rows map[string]documented, text string) {
	t.Helper()
	all, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	text = string(all)
	_, table, _ := strings.Cut(text, "\n## Commands\n")
	table, _, _ = strings.Cut(table, "\n## ")
	rows = map[string]documented{}
	for line := range strings.Lines(table) {
		cells := strings.SplitN(line, "|", 5)
		if len(cells) < 5 || !strings.Contains(cells[1], "`") {
			continue
		}
		d := documented{prints: strings.TrimSpace(cells[2])}
		for _, link := range shapeLink.FindAllStringSubmatch(cells[3], -1) {
			if d.shapes = append(d.shapes, link[1]); strings.ToLower(link[1]) != link[2] {
				t.Errorf("%s is linked to %s", link[1], link[2])
			}
		}
		for _, name := range strings.Split(cells[1], ",") {
			rows[strings.Trim(strings.TrimSpace(name), "`")] = d
		}
	}
	return rows, text
}

// TestJSONDocs: docs/json.md has every command with --json and no other, and every shape that it names.
func TestJSONDocs(t *testing.T) {
	t.Parallel()
	rows, text := documentedCommands(t)
	var found []string
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.Flags().Lookup("json") != nil {
			found = append(found, strings.TrimPrefix(cmd.CommandPath(), "treeline "))
		}
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	keepOrder()
	visit(newRoot(cli.New(), ""))
	for _, name := range found {
		if _, ok := rows[name]; !ok {
			t.Errorf("docs/json.md does not say what %s --json prints", name)
		}
	}
	for name, row := range rows {
		if !slices.Contains(found, name) {
			t.Errorf("docs/json.md describes %s, which has no --json", name)
		}
		for _, shape := range row.shapes {
			if !strings.Contains(text, "\n### "+shape+"\n") {
				t.Errorf("docs/json.md does not describe %s", shape)
			}
		}
	}
}

// TestJSONOutput: commands print what docs/json.md says, and that is what the schema allows.
func TestJSONOutput(t *testing.T) {
	t.Parallel()
	rows, _ := documentedCommands(t)
	text, err := os.ReadFile("../../docs/json.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs jsonschema.Defs `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	const path = "s.jsonl"
	home := t.TempDir()
	log := `{"type":"session","version":3,"id":"s","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/w"}
{"type":"message","id":"a","parentId":null,"timestamp":"2026-03-02T14:00:01.000Z","message":{"role":"user","content":"needle"}}
{"type":"message","id":"b","parentId":"a","timestamp":"2026-03-02T14:00:02.000Z","message":{"role":"assistant","provider":"p","model":"m","content":[{"type":"text","text":"found"}],"usage":{"input":1,"output":2,"cost":{"total":0.5}}}}
{"type":"label","id":"c","parentId":"b","timestamp":"2026-03-02T14:00:03.000Z","targetId":"a","label":"start"}
{"type":"message","id":"d","parentId":"gone","timestamp":"2026-03-02T14:00:04.000Z","message":{"role":"user","content":"orphan"}}
`
	for _, c := range []struct {
		name string
		args string
	}{
		{"new", "new --cwd . --dialect omp --file " + home + "/new.jsonl"}, {"append", "append " + path + " --text x"},
		{"ls", "ls --all"}, {"sources", "sources"}, {"show", "show " + path + " --leaf b"}, {"tree", "tree " + path}, {"search", "search needle"},
		{"check", "check " + path}, {"stats", "stats"}, {"history import", "history import"}, {"history", "history needle"},
		{"fork", "fork " + path + " --leaf b"}, {"rename", "rename " + path + " name"}, {"label", "label " + path + " a"}, {"branch", "branch " + path + " b"},
		{"convert", "convert " + path + " --to operator"}, {"resume", "resume " + path + " --in operator"}, {"repair", "repair " + path}, {"gc", "gc"}, {"version", "version"}, {"run ls", "run ls --all"},
		{"rm", "rm " + path},
	} {
		dir := home + "/.omp/agent/sessions/-w"
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if c.name == "new" {
			if err := os.WriteFile(dir+"/"+path, []byte(log), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		a, stdout, stderr := testApp(t)
		a.Getenv = func(key string) string {
			return map[string]string{"HOME": home, "XDG_CACHE_HOME": home + "/cache"}[key]
		}
		args := strings.Fields(strings.ReplaceAll(c.args, path, dir+"/"+path))
		if code := run(t.Context(), a, append(args, "--json")); code == exitUsage {
			t.Errorf("%s: %s; want code != %v", c.args, stderr, exitUsage)
			continue
		}
		row := rows[c.name]
		for i, value := range printed(t, c.args, row.prints, stdout) {
			if err := schema.Defs.Check(&jsonschema.Schema{Ref: row.shapes[0]}, value); err != nil {
				t.Errorf("%s, value %d: %v", c.args, i+1, err)
			}
		}
		for line := range bytes.Lines(stderr.Bytes()) {
			if err := schema.Defs.Check(&jsonschema.Schema{Ref: "Message"}, line); err != nil {
				t.Errorf("%s, on stderr: %v", c.args, err)
			}
		}
	}
}

// printed returns the values on stdout, which has the form that the documentation says.
func printed(t *testing.T, args, form string, out *bytes.Buffer) (values []json.RawMessage) {
	t.Helper()
	switch {
	case strings.HasPrefix(form, "a list"):
		if err := json.Unmarshal(out.Bytes(), &values); err != nil {
			t.Errorf("%s prints no list: %v", args, err)
		}
	case strings.HasPrefix(form, "an object"):
		values = []json.RawMessage{out.Bytes()}
	case strings.HasPrefix(form, "lines"):
		for line := range bytes.Lines(out.Bytes()) {
			values = append(values, line)
		}
	}
	if values == nil {
		t.Errorf("%s prints nothing", args)
	}
	return values
}
