package main

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/internal/started"
	_ "modernc.org/sqlite"
)

// tablesCmd makes the database of an agent that was started once, in $XDG_DATA_HOME, and adds rows as the agent would:
//
//	tables goose ROWS.sql
//	tables crush ROWS.sql PROJECT
func tablesCmd(ts *testscript.TestScript, _ bool, args []string) {
	var path string
	var err error
	switch data := ts.Getenv("XDG_DATA_HOME"); args[0] {
	case "goose":
		path, err = started.Goose(data)
	case "opencode":
		path, err = started.OpenCode(data)
	case "crush":
		project := ts.MkAbs(args[2])
		path, err = filepath.Join(project, ".crush", "crush.db"), started.Crush(data, started.Project{Dir: project})
	default:
		ts.Fatalf("tables: unknown agent %s", args[0])
	}
	ts.Check(err)
	db, err := sql.Open("sqlite", path)
	ts.Check(err)
	_, err = db.Exec(ts.ReadFile(args[1]))
	ts.Check(errors.Join(err, db.Close()))
}

// families are the agents whose sessions every command works on, with the command that resumes one. Sessions of Wave have no names,
// those of codelia no provider: they have scripts of their own.
var families = []struct {
	agent, program, resume string
	// started creates what the program creates when it is started for the first time; nil if sessions need nothing.
	started func(home, project string) error
	often   bool // also in a plain go test
}{
	{"goose", "goose", `cd \S+/proj && goose session --resume --session-id 2026\w+`, func(home, _ string) error {
		_, err := started.Goose(filepath.Join(home, ".local", "share"))
		return err
	}, true},
	{"crush", "crush", `cd \S+/proj && crush --session \S+`, func(home, project string) error {
		return started.Crush(filepath.Join(home, ".local", "share"), started.Project{Dir: project})
	}, true},
	{"opencode", "opencode", `cd \S+/proj && opencode --session ses_\w+`, func(home, _ string) error {
		_, err := started.OpenCode(filepath.Join(home, ".local", "share"))
		return err
	}, true},
	{"gemini", "gemini", `cd \S+/proj && gemini --resume \S+`, nil, true},
	{"qwen", "qwen", `cd \S+/proj && qwen --resume \S+`, nil, true},
	{"copilot", "copilot", `cd \S+/proj && copilot --resume \S+`, nil, true},
	{"claude", "claude", `cd \S+/proj && claude --resume \S+`, nil, false},
	{"codex", "codex", `cd \S+/proj && codex resume \S+`, nil, false},
	{"omp", "omp", `cd \S+/proj && omp --resume \S+`, nil, false},
	{"operator", "operator", `cd \S+/proj && operator --repl --session-file \S+`, nil, false},
}

// TestFamilies runs testdata/family/*.txtar for each agent: $AGENT.
func TestFamilies(t *testing.T) {
	t.Parallel()
	all := soaktest.Every()
	for _, f := range families {
		if !f.often && !all {
			continue
		}
		t.Run(f.agent, func(t *testing.T) {
			t.Parallel() // watch waits
			testscript.Run(t, scripts("family", func(e *testscript.Env) {
				pond := filepath.Join(e.WorkDir, "pond.jsonl")
				text, err := os.ReadFile(pond)
				if err == nil {
					err = os.WriteFile(pond, bytes.ReplaceAll(text, []byte("$WORK"), []byte(filepath.ToSlash(e.WorkDir))), 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
				e.Setenv("AGENT", f.agent)
				e.Setenv("PROGRAM", f.program)
				e.Setenv("RESUME", f.resume)
				if f.started != nil {
					if err := f.started(filepath.Join(e.WorkDir, "home"), filepath.Join(e.WorkDir, "proj")); err != nil {
						t.Fatal(err)
					}
				}
			}))
		})
	}
}
