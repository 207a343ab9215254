package main

import (
	"os"
	"path/filepath"
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
