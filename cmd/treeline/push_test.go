package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/pgtest"
)

// office is a machine on which commands are run.
type office struct {
	*testing.T
	home string
}

func newOffice(t *testing.T) *office {
	o := &office{T: t, home: t.TempDir()}
	o.put(".omp/agent/sessions/-garden/2026-02-16T10-00-00-000Z_aaaa1111-0000-4000-8000-000000000001.jsonl",
		`{"type":"session","version":3,"id":"aaaa1111-0000-4000-8000-000000000001","timestamp":"2026-02-16T10:00:00.000Z","cwd":"/garden"}`+"\n"+
			`{"type":"message","id":"aaaa0001","parentId":null,"timestamp":"2026-02-16T10:00:01.000Z","message":{"role":"user","content":"plant tomatoes with AKIA`+`QYLPMN5HHHFPZAM2","timestamp":1}}`+"\n")
	return o
}

func (o *office) put(name, content string) {
	o.Helper()
	path := filepath.Join(o.home, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		o.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		o.Fatal(err)
	}
}

// run runs a command and gives what it prints and its exit code.
func (o *office) run(args ...string) (stdout, stderr string, code int) {
	o.Helper()
	var out, errs bytes.Buffer
	a := newApp()
	a.stdout, a.stderr, a.stdin = &out, &errs, strings.NewReader("")
	a.getenv = func(name string) string {
		switch name {
		case "HOME":
			return o.home
		case "TERM":
			return "xterm"
		}
		return ""
	}
	code = run(context.Background(), a, args)
	return out.String(), errs.String(), code
}

// says fails the test unless a command ends with that code and prints these texts.
func (o *office) says(args []string, code int, texts ...string) (stdout string) {
	o.Helper()
	out, errs, got := o.run(args...)
	if got != code {
		o.Fatalf("%q ends with %d: %s%s", args, got, out, errs)
	}
	for _, text := range texts {
		if !strings.Contains(out+errs, text) {
			o.Errorf("%q does not say %q: %s%s", args, text, out, errs)
		}
	}
	return out
}

// push and pull, as people use them.
func TestPushAndPull(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).Database(t, "office")
	o := newOffice(t)
	o.says([]string{"push", "--dry-run", url}, 0, "would have pushed 1 log (1 created)")
	o.says([]string{"push", "--redact", "-v", url}, 0, "secrets are replaced", "pushed 1 log (1 created)", "1 secret replaced", "created: ")
	o.says([]string{"push", "--redact", url}, 0, "pushed 0 logs; 1 unchanged")
	o.says([]string{"push", url}, 0, "pushed 1 log (1 replaced)")
	out := o.says([]string{"push", "--json", url}, 0, `"unchanged":1`, `"redacted":false`)
	if strings.Contains(out, "password") {
		t.Errorf("the address is printed: %s", out)
	}
	o.says([]string{"push", "--project", "/elsewhere", "--since", "100000d", url}, 0, "pushed 0 logs")
	o.says([]string{"pull", url}, 0, "pulled 0 logs; 1 unchanged")
	other := newOffice(t)
	if err := os.RemoveAll(filepath.Join(other.home, ".omp")); err != nil {
		t.Fatal(err)
	}
	other.says([]string{"pull", url}, 0, "pulled 0 logs")
	other.says([]string{"pull", "--origin", "nowhere", url}, 1, `no logs of that origin`)
	other.says([]string{"pull", "--origin", "*", "--source", "omp", url}, 0, "pulled 1 log (1 created)")
	other.says([]string{"ls", "--all"}, 0, "plant tomatoes")
	for _, wrong := range [][]string{
		{"push"}, {"push", "--redact", "--no-redact", url}, {"push", "--install", url}, {"push", "--watch", "--dry-run", url}, {"push", "--since", "then", url},
		{"push", "--source", "nonsense", url}, {"push", "--project", "", url}, {"pull", "--jobs", "-1", url}, {"push", "--watch", "--since", "1d", url},
	} {
		o.says(wrong, 2)
	}
	o.says([]string{"push", "/tmp"}, 1, "no archive")
	o.says([]string{"push", "gopher://x"}, 1, "no driver")
}

// --install writes a service, says how to start it and how to undo that, and shows no password.
func TestPushInstall(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	out := o.says([]string{"push", "--watch", "--install", "--project", "~/work", "https://team.example"}, 0, "wrote ", "start it:", "remove it:")
	path, _, _ := strings.Cut(strings.TrimPrefix(out, "wrote "), "\n")
	content, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(path, o.home) {
		t.Fatal(path, err)
	}
	for _, text := range []string{"push", "--watch", "--project", filepath.Join(o.home, "work"), "https://team.example"} {
		if !strings.Contains(string(content), text) {
			t.Errorf("%s lacks %q: %s", path, text, content)
		}
	}
	o.says([]string{"push", "--watch", "--install", "postgres://u:secret@db.example/x"}, 2, "password")
	for system, want := range map[string]string{"linux": `ExecStart="/a b" "100%%" "$$x"`, "darwin": "<string>&lt;x&gt;</string>"} {
		line := []string{"/a b", "100%", "$x"}
		if system == "darwin" {
			line = []string{"<x>"}
		}
		s, err := serviceFor(system, "/home/ann", func(string) string { return "" }, "https://u:p@h/", line)
		if err != nil || !strings.Contains(s.content, want) || strings.Contains(s.content, "u:p") {
			t.Errorf("%s: %s, %v", system, s.content, err)
		}
	}
	if _, err := serviceFor("plan9", "/", nil, "", nil); err == nil {
		t.Error("plan9 has services")
	}
}
