package main

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/internal/screen"
)

// TestHelpFits: on a terminal, the help of every command fits, has the same content, and splits no command.
func TestHelpFits(t *testing.T) {
	t.Parallel()
	a := cli.New()
	a.Stdout, a.Stderr, a.Getenv = io.Discard, io.Discard, func(string) string { return "" }
	var visit func(cmd *cobra.Command)
	root := newRoot(a, "")
	help := func(cmd *cobra.Command, columns int) string {
		var out bytes.Buffer
		cmd.SetOut(&out)
		a.Columns = columns
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	visit = func(cmd *cobra.Command) {
		whole := help(cmd, 0)
		for _, width := range []int{40, 80, 100, 500} {
			text := help(cmd, width)
			if width == 500 && text != whole {
				t.Errorf("%s: a wide terminal changes the text", cmd.CommandPath())
			}
			if !slices.Equal(strings.Fields(text), strings.Fields(whole)) {
				t.Errorf("%s, %d columns: other words", cmd.CommandPath(), width)
			}
			for line := range strings.Lines(text) {
				line = strings.TrimSuffix(line, "\n")
				command := strings.HasPrefix(line, "  ") && !strings.Contains(strings.TrimSpace(line), "  ")
				if screen.Width(line, false) > width && !command {
					t.Errorf("%s, %d columns: %q", cmd.CommandPath(), width, line)
				}
			}
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(root)
}
