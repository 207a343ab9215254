package store_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// TestProblemsOfContext: a context whose problems were asked for has those of the log as it was, also after the session has gone on.
func TestProblemsOfContext(t *testing.T) {
	t.Parallel()
	log, err := os.ReadFile(filepath.Join("..", "dialect", "claude", "testdata", "claude", "compaction-kept-hung-before.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "log.jsonl")
	if err := os.WriteFile(path, log, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := world.Store(t.TempDir()).OpenWrite(t.Context(), path, store.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	context := func(opt store.ContextOptions) *session.Context {
		t.Helper()
		c, err := s.Context(t.Context(), "u4", opt)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	var told []session.Problem
	tell := func(p session.Problem) { told = append(told, p) }
	c := context(store.ContextOptions{Problem: tell})
	if len(told) != 1 || told[0].Line != 9 || told[0].Kind != session.ProblemUnseen {
		t.Fatalf("the problems are %v, not one in line 9", told)
	}
	if got := c.Problems(); !slices.Equal(got, told) {
		t.Errorf("the context has the problems %v, not %v", got, told)
	}
	if _, err := s.AppendUser(t.Context(), "Go on."); err != nil {
		t.Fatal(err)
	}
	if got := c.Problems(); !slices.Equal(got, told) {
		t.Errorf("after an append the context has the problems %v, not %v", got, told)
	}
	if got := context(store.ContextOptions{}).Problems(); got != nil {
		t.Errorf("a context that was not asked for its problems has %v", got)
	}
}
