package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/internal/doctest"
)

// notRun is the number of code blocks in the documents that no test runs, because they start a server for others, need an agent or build
// the program. Their treeline command lines are still parsed.
const notRun = 11

// TestDocuments runs the code blocks of README.md and docs/*.md with the sessions of the demo, each document in a HOME of its own, and
// compares their output with the document. -update writes the output into the documents.
func TestDocuments(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, -short: the code blocks of the documents are not run")
	}
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(files) < 5 {
		t.Fatalf("%d documents, %v", len(files), err)
	}
	documents := map[string][]doctest.Block{}
	unrun := 0
	for _, file := range append(files, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, _ := filepath.Rel(root, file)
		blocks, errs := doctest.Blocks(filepath.ToSlash(name), string(text))
		for _, err := range errs {
			t.Error(err)
		}
		documents[filepath.ToSlash(name)] = blocks
		for _, b := range blocks {
			if b.Mark == doctest.NoExec {
				unrun++
			}
		}
		parsed(t, filepath.ToSlash(name), blocks, string(text))
	}
	if unrun > notRun {
		t.Errorf("%d code blocks are marked %s; there were %d. Make them run, or say here that there are more", unrun, doctest.NoExec, notRun)
	}
	programs := goPrograms(t, root, documents)
	for name, blocks := range documents {
		t.Run(strings.ReplaceAll(name, "/", "-"), func(t *testing.T) {
			t.Parallel()
			d := &document{root: root, programs: programs}
			for i, b := range blocks {
				var output *doctest.Block
				if i+1 < len(blocks) && blocks[i+1].Mark == doctest.Output {
					output = &blocks[i+1]
				}
				if b.Mark == doctest.Run {
					d.run(t, b, output)
				}
			}
			if *update {
				d.write(t, filepath.Join(root, name))
			}
		})
	}
}

// parsed checks each treeline command line in a document: the command and its flags must exist. This includes those in blocks that are not
// run, and in the text.
func parsed(t *testing.T, file string, blocks []doctest.Block, text string) {
	t.Helper()
	check := func(where string, args []string) {
		root := newRoot(cli.New(), "")
		cmd, rest, err := root.Find(args)
		if err == nil && len(args) > 0 && args[0] == "help" {
			_, _, err = root.Find(args[1:])
		}
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err != nil && !strings.Contains(err.Error(), "help requested") && !strings.Contains(err.Error(), "needs an argument") {
			t.Errorf("%s: treeline %s: %v", where, strings.Join(args, " "), err)
		}
	}
	for _, b := range blocks {
		if b.Lang == "text" && regexp.MustCompile(`(?m)^(\$ |treeline [a-z]+( |$))`).MatchString(b.Text) {
			t.Errorf("%v: a block of text has a command", b)
		}
		if b.Lang == "sh" || b.Lang == "console" {
			for _, args := range b.Treeline() {
				check(b.String(), args)
			}
		}
	}
	for _, m := range regexp.MustCompile("`(treeline [^`\n…]+)`").FindAllStringSubmatch(text, -1) {
		for _, args := range doctest.Treeline(m[1]) {
			check(file, args)
		}
	}
}
