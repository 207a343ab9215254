package main

import (
	"os"
	"path/filepath"
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
	for _, c := range []struct {
		opt  options
		want string
	}{
		{options{only: "trees"}, ""},
		{options{only: "forest"}, `invalid -only "forest"`},
		{options{agent: "codex"}, ""},
		{options{agent: "nobody"}, `invalid -agent "nobody"`},
		{options{scene: "written,own-"}, ""},
		{options{scene: "written,own-", agent: "codex"}, `invalid -scene "own-"`},
		{options{scene: "writen"}, `invalid -scene "writen"`},
		{options{scene: "written,"}, ""},
		{options{scene: "any", files: []string{"session.jsonl"}}, ""},
	} {
		c.opt.resumes, c.opt.conversions = 4, 1
		err := c.opt.check()
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.opt, err, c.want)
		}
	}
}
