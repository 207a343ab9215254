package main

import (
	"path/filepath"
	"testing"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/dialect/goose"
)

// Goose is asked with the model that the session names last: what it sends depends on that.
func TestModelOfGoose(t *testing.T) {
	store, err := treeline.New(treeline.Options{Home: t.TempDir(), WorkDir: t.TempDir(), Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for name, want := range map[string]string{"pictures": "GOOSE_MODEL=gpt-4o", "pictures-blind": "GOOSE_MODEL=heron-2", "broken": "GOOSE_MODEL=unknown"} {
		path, err := filepath.Abs(filepath.Join("..", "..", "dialect", "goose", "testdata", "goose", name+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		s, err := store.Open(t.Context(), path, treeline.OpenOptions{Dialect: goose.Goose})
		if err != nil {
			t.Fatal(err)
		}
		model, err := lastModel(s)
		if got := gooseCLI.model(model)[0]; err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", name, got, err, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if got := gooseCLI.model("gpt-5.1-codex")[0]; got != "GOOSE_MODEL=gpt-4o" {
		t.Errorf("a model of another API: %s, want GOOSE_MODEL=gpt-4o", got)
	}
}
