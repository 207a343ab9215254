package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// The desk puts all fixtures of an agent into one database, so that none may have the id of another.
func TestFixturesHaveIDsOfTheirOwn(t *testing.T) {
	for _, a := range agents {
		if a.rows == nil {
			continue
		}
		name := a.dialect.Name()
		files, err := filepath.Glob(filepath.Join("..", "..", "dialect", name, "testdata", name, "*.jsonl"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has %d fixtures: %v", name, len(files), err)
		}
		session := a.rows.tables().Session
		seen := map[string]string{}
		for i, file := range files {
			log, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			id := rawjson.Str(rawjson.Get(a.rows.own(log, i+1), session.Name), session.ID)
			if other := seen[id]; id == "" || other != "" {
				t.Errorf("%s: %s has the id %q of %q", name, file, id, other)
			}
			seen[id] = file
		}
	}
}

func TestScenesAreChosenByHowTheirNamesBegin(t *testing.T) {
	for _, c := range []struct {
		scene, name string
		want        bool
	}{
		{"", "written-1", true},
		{"written", "written-1", true},
		{"written", "from-qwen-1", false},
		{"written,from-qwen", "from-qwen-1", true},
		{"written,from-qwen", "from-gemini-1", false},
	} {
		if got := (options{scene: c.scene}).plays(c.name); got != c.want {
			t.Errorf("-scene %q plays %s: %v", c.scene, c.name, got)
		}
	}
}

func TestFlagsThatChooseNothingAreRefused(t *testing.T) {
	t.Chdir(filepath.Join("..", "..")) // fixtures are found from there
	goose := []string{filepath.Join("dialect", "goose", "testdata", "goose", "pictures.jsonl")}
	for _, c := range []struct {
		opt     options
		want    string
		nothing bool // it names what there is, but chooses nothing
	}{
		{options{only: "trees"}, "", false},
		{options{only: "trees", scene: "any"}, "", false},
		{options{only: "forest"}, `invalid -only "forest"`, false},
		{options{agent: "codex"}, "", false},
		{options{agent: "nobody"}, `invalid -agent "nobody"`, false},
		{options{scene: "written,own-"}, "", false},
		{options{scene: "written,own-", agent: "codex"}, `nothing is compared: codex-`, true},
		{options{scene: "terminal", agent: "copilot"}, `nothing is compared: copilot-`, true},
		{options{scene: "random-4", agent: "codex"}, "", false},
		{options{scene: "random-5", agent: "codex"}, `nothing is compared: codex-`, true},
		{options{scene: "random-x", agent: "codex"}, `invalid -scene "random-x"`, false},
		{options{scene: "fixture-goose-pictures.jsonl", agent: "codex"}, `nothing is compared: codex-`, true},
		{options{scene: "fixture-goose-picture.jsonl", agent: "codex"}, `invalid -scene "fixture-goose-picture.jsonl"`, false},
		{options{scene: "writen"}, `invalid -scene "writen"`, false},
		{options{scene: "written,"}, "", false},
		{options{files: goose}, "", false},
		{options{files: goose, scene: "pictures"}, "", false},
		{options{files: goose, scene: "any"}, `nothing is compared: no file is`, true},
		{options{files: goose, agent: "codex"}, `nothing is compared: no file is`, true},
		{options{files: []string{"README.md"}}, `nothing is compared: no file is`, true},
		{options{only: "tools"}, "", false},
		{options{only: "tools", agent: "goose"}, `nothing is compared: goose-`, true},
	} {
		c.opt.seed, c.opt.resumes, c.opt.conversions = 1, 4, 1
		err := c.opt.check()
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) || errors.Is(err, errNothing) != c.nothing {
			t.Errorf("%+v: %v, want %q, nothing %v", c.opt, err, c.want, c.nothing)
		}
	}
}

// A session that has nothing to resume is not counted as equal.
func TestNothingResumedIsNoSuccess(t *testing.T) {
	same := sent{messages: []string{"user"}, body: []byte("{}")}
	for _, c := range []struct {
		outcomes []outcome
		nothing  bool
	}{
		{[]outcome{{empty: true}, {empty: true}}, true},
		{[]outcome{{empty: true}, {want: same.messages, got: same}}, false},
		{[]outcome{{}}, false}, // the agent refused what has no messages
	} {
		if err := agents[0].report(options{}, c.outcomes, 0); errors.Is(err, errNothing) != c.nothing || err != nil && !c.nothing {
			t.Errorf("%+v: %v, want that nothing was compared: %v", c.outcomes, err, c.nothing)
		}
	}
}

// What an agent reads must not depend on the node of the machine.
func TestScriptsRunOnANodeFromNPM(t *testing.T) {
	for _, a := range agents {
		script := strings.HasSuffix(a.binary, ".js")
		if script != (a.node != "") || script && (!strings.HasPrefix(a.node, nodePackage+"/") || !slices.Contains(a.program.packages, nodeProgram)) {
			t.Errorf("%s runs %s on the node %q of the packages %v", a.program.name, a.binary, a.node, a.program.packages)
		}
	}
}
