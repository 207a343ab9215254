package treeline_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/session"
)

// The command of each agent finds the session again: with the variable that names a special place, and never with a name
// that the program would take for an option. A session that the program would refuse is refused.
func TestResumeCommand(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	const (
		id     = "0198e028-51a9-7379-857f-23f1cb024a0c"
		newer  = "0198e029-0000-7000-8000-000000000000"
		claude = `{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"hi"},"uuid":"u1","timestamp":"2026-05-01T10:00:00.000Z","sessionId":"` + id + `"}` + "\n"
		codex  = `{"timestamp":"2026-05-01T10:00:00.000Z","type":"session_meta","payload":{"id":"` + id + `","timestamp":"2026-05-01T10:00:00.000Z","cwd":"","originator":"o","cli_version":"0.166.0"}}` + "\n"
		pi     = `{"type":"session","version":3,"id":"s","timestamp":"2026-03-02T14:00:00.000Z","cwd":"/nowhere"}` + "\n"
		wave   = `{"type":"metadata","workdir":"/nowhere","createdAt":"2026-03-02T14:00:00.000Z"}` + "\n"
		doc    = `{"type":"session_header","id":"s","timestamp":1.5,"cwd":"/nowhere"}` + "\n"
	)
	config := filepath.Join(home, ".config", "treeline", "config.toml")
	if err := errors.Join(os.MkdirAll(filepath.Dir(config), 0o700), os.WriteFile(config, []byte("[[root]]\npath = \"~/other\"\ndialect = \"claude\"\n[[root]]\npath = \"~/else\"\ndialect = \"codex\"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(home, "other", "projects"), 0o700), os.MkdirAll(filepath.Join(home, "else", "sessions"), 0o700)); err != nil {
		t.Fatal(err)
	}
	s, err := treeline.New(treeline.Options{
		Home: home, WorkDir: home, Getenv: func(string) string { return "" }, NoBreadcrumbs: true, ReadOnly: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rollout := "sessions/2026/05/01/rollout-2026-05-01T10-00-00-" + id + ".jsonl"
	for _, c := range []struct {
		path, log, want, refused string
	}{
		{path: ".claude/projects/-p/" + id + ".jsonl", log: claude, want: "claude --resume " + id},
		{path: "other/projects/-p/" + id + ".jsonl", log: claude, want: "CLAUDE_CONFIG_DIR=$HOME/other claude --resume " + id},
		{path: "loose/" + id + ".jsonl", log: claude, want: "claude --resume $HOME/loose/" + id + ".jsonl"},
		{path: ".claude/projects/-p/--help.jsonl", log: claude, refused: `would take its name "--help" for an option`},
		{path: ".claude/projects/-p/" + id + "/subagents/agent-1.jsonl", log: claude, refused: "sub-agent"},
		{path: ".codex/" + rollout, log: codex, want: "codex resume " + id},
		{path: "else/" + rollout, log: codex, want: "CODEX_HOME=$HOME/else codex resume " + id},
		{path: ".codex/sessions/2026/05/01/rollout-2026-05-01T10-00-00-" + id + "_" + newer + ".jsonl", log: codex, want: "codex resume " + id},
		{path: ".codex/" + rollout, log: codex, refused: "rollout-2026-05-01T10-00-00-" + id + "_" + newer + ".jsonl replaces it"},
		{path: ".codex/archived_sessions/" + filepath.Base(rollout), log: codex, refused: "codex unarchive " + id},
		{path: "loose.jsonl", log: codex, refused: "in its own folder only"},
		{path: ".pi/agent/sessions/--p--/2026-03-02T14-00-00-000Z_s.jsonl", log: pi, want: "pi --session $HOME/.pi/agent/sessions/--p--/2026-03-02T14-00-00-000Z_s.jsonl"},
		{path: ".wave/projects/nowhere/0cea9749-5549-481b-8f4f-0000000000a1.jsonl", log: wave, refused: `only in its working directory "/nowhere", which does not exist`},
		{path: ".operator/sessions/2026-03-02T14-00-00-000000_s.jsonl", log: doc, refused: "convert it to operator"},
	} {
		path := filepath.Join(home, filepath.FromSlash(c.path))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(c.log), 0o600)); err != nil {
			t.Fatal(err)
		}
		src, err := s.Open(t.Context(), path, treeline.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.ResumeCommand(t.Context(), src, treeline.ResumeOptions{})
		src.Close()
		if c.refused != "" {
			if !errors.Is(err, dialect.ErrUnsupported) || !strings.Contains(err.Error(), c.refused) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %v, not %q", c.path, err, c.refused)
			}
			continue
		}
		got := strings.Join(append(r.Env, r.Args...), " ")
		if err != nil || got != strings.ReplaceAll(c.want, "$HOME", home) {
			t.Errorf(`%s: %s, %v; want no error, got == strings.ReplaceAll(c.want, "$HOME", home)`, c.path, got, err)
		}
	}
}

// Where a session's directory was, a file may be now: no agent is started in it.
func TestResumeInFile(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	s, err := treeline.New(treeline.Options{Home: home, WorkDir: home, Getenv: func(string) string { return "" }, NoBreadcrumbs: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	dir := filepath.Join(home, "proj")
	for name, refused := range map[string]bool{"pi": false, "wave": true} { // Wave finds a session only in its directory
		d, err := s.Dialect(name)
		if err == nil {
			err = os.Mkdir(dir, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
		src, err := s.Create(t.Context(), treeline.CreateOptions{CWD: dir, Dialect: d})
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		if _, err = src.AppendText(t.Context(), session.RoleUser, "one"); err == nil {
			err = src.Flush(t.Context())
		}
		if err := errors.Join(err, os.Remove(dir), os.WriteFile(dir, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		c, err := s.ResumeCommand(t.Context(), src, treeline.ResumeOptions{})
		if refused != errors.Is(err, dialect.ErrUnsupported) || !refused && (err != nil || c.Dir != "" || c.Gone != dir) {
			t.Errorf("%s: in %q, gone %q, %v; refused: %t, want gone %q", name, c.Dir, c.Gone, err, refused, dir)
		}
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// Nothing is written if the program cannot be started.
func TestResumeNotReady(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	s, err := treeline.New(treeline.Options{Home: home, WorkDir: home, Getenv: func(string) string { return "" }, NoBreadcrumbs: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	pi, err := s.Dialect("pi")
	if err != nil {
		t.Fatal(err)
	}
	src, err := s.Create(t.Context(), treeline.CreateOptions{CWD: home, Dialect: pi})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	first, err := src.AppendText(t.Context(), session.RoleUser, "one")
	if err == nil {
		_, err = src.AppendText(t.Context(), session.RoleUser, "two")
	}
	if err != nil {
		t.Fatal(err)
	}
	before, missing := written(t, home), errors.New("missing")
	for _, name := range []string{"", "operator"} {
		opt := treeline.ResumeOptions{Leaf: &first.ID, Ready: func(string) error { return missing }}
		if name != "" {
			if opt.In, err = s.Dialect(name); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.ResumeCommand(t.Context(), src, opt); !errors.Is(err, missing) {
			t.Errorf("in %q: %v", name, err)
		}
	}
	if diff := difftest.Diff(before, written(t, home)); diff != "" {
		t.Errorf("written all the same:\n%s", diff)
	}
}

// written returns the content of all files below a folder.
func written(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
