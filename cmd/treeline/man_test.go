package main

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/internal/dist/man"
)

// internal/dist makes this test write the manual pages of a release: only this package has the commands, and the program need not contain
// what writes the pages.
var (
	manDir  = flag.String("man", "", "write the manual pages into the `folder`")
	manDate = flag.String("man-date", "2026-01-01", "the date in them")
	manOf   = flag.String("man-version", cli.Version, "the version in them")
)

// TestManual writes a page for each command. If groff is installed, it must find nothing to complain about.
func TestManual(t *testing.T) {
	dir := *manDir
	if dir == "" {
		dir = t.TempDir()
	}
	when, err := time.Parse(time.DateOnly, *manDate)
	if err != nil {
		t.Fatal(err)
	}
	keepOrder()
	root := newRoot(cli.New(), "")
	root.InitDefaultCompletionCmd()
	if err := man.Write(dir, root, man.About{Version: *manOf, Date: when}); err != nil {
		t.Fatal(err)
	}
	want := []string{}
	var visit func(prefix string, cmd *cobra.Command)
	visit = func(prefix string, cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
		want = append(want, filepath.Join(dir, prefix+cmd.Name()+".1"))
		for _, c := range cmd.Commands() {
			visit(prefix+cmd.Name()+"-", c)
		}
	}
	visit("", root)
	for _, path := range want {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		for _, part := range []string{`.SH "SYNOPSIS"`, `.SH "DESCRIPTION"`, `\fB\-\-help\fR`} {
			if !bytes.Contains(page, []byte(part)) {
				t.Errorf("%s has no %s", path, part)
			}
		}
	}
	if groff, err := exec.LookPath("groff"); err == nil {
		out, err := exec.Command(groff, append([]string{"-man", "-Tutf8", "-ww", "-z"}, want...)...).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("groff: %v\n%s", err, out)
		}
	}
}
