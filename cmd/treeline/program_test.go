package main

import (
	"testing"

	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
)

// TestProgram: a command that people are told to try must work in their place. The tests run in the program's own folder.
func TestProgram(t *testing.T) {
	t.Parallel()
	const cached = "/cache/10/108bee14edef3c0d15a5ad3f8795ffc51392fdcb4d19f1b506b70232e869084d-d/treeline"
	for _, c := range []struct{ self, typed, want string }{
		{"/usr/bin/treeline", "treeline", "treeline"},
		{"/usr/bin/treeline", "/usr/bin/treeline", "treeline"},
		{"/home/you/src/treeline", "./treeline", "./treeline"},
		{"/tmp/go-build1417569323/b001/exe/treeline", "/tmp/go-build1417569323/b001/exe/treeline", "go run ."},
		{cached, cached, "go run ."},
		{"/home/you/added-d/treeline", "/home/you/added-d/treeline", "treeline"},
		{"", "./test.binary", "treeline"},
	} {
		if got := (&cli.App{Self: c.self}).Program(c.typed); got != c.want {
			t.Errorf("started as %s, which is %s: program is %q, want %q", c.typed, c.self, got, c.want)
		}
	}
}
