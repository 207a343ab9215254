package goose_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/goose"
	"github.com/treeline-dev/treeline/internal/difftest"
)

func env(vars map[string]string) dialect.Env {
	return dialect.Env{Home: "/home/u", Getenv: func(name string) string { return vars[name] }}
}

// The database is where the program's variables place it, and the program finds it there again.
func TestLaunch(t *testing.T) {
	l := goose.Goose.Layout()
	args := []string{"goose", "session", "--resume", "--session-id", "20260301_1"}
	moved := map[string]string{"GOOSE_PATH_ROOT": "/g"}
	for _, c := range []struct {
		name string
		vars map[string]string // of the program
		root dialect.Root
		want dialect.Launch
	}{
		{"usual", nil, l.Roots(env(nil))[0], dialect.Launch{Args: args}},
		{"moved", moved, l.Roots(env(moved))[0], dialect.Launch{Args: args}},
		{"moved before", nil, l.Roots(env(moved))[0], dialect.Launch{Args: args, Env: []string{"GOOSE_PATH_ROOT=" + filepath.FromSlash("/g")}}},
	} {
		got, err := goose.Goose.Launch(dialect.Launched{ID: "20260301_1", Root: c.root, Env: env(c.vars)})
		if diff := difftest.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf(`%s: %s %v; want diff == "", no error`, c.name, diff, err)
		}
	}
	elsewhere := dialect.Root{Sessions: filepath.FromSlash("/backup/sessions.db"), Driver: "goose"}
	if _, err := goose.Goose.Launch(dialect.Launched{ID: "20260301_1", Root: elsewhere, Env: env(nil)}); !errors.Is(err, dialect.ErrUnsupported) {
		t.Error(err)
	}
	if got := filepath.ToSlash(l.Roots(env(nil))[0].Sessions); got != "/home/u/.local/share/goose/sessions/sessions.db" {
		t.Error(got)
	}
}
