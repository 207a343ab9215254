package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	drivers "github.com/treeline-dev/treeline/backend/all"
	"github.com/treeline-dev/treeline/internal/demo"
	"github.com/treeline-dev/treeline/internal/doctest"
)

// document is one document that is run.
type document struct {
	root     string
	programs map[string]string // of blocks in Go
	names    doctest.Names
	home     string // created when a block needs it
	cover    string // for the output of a binary with coverage
	dir      string // the working directory
	server   string // its address, if a block needs one
	changed  []change
}

// change is the new content of a block.
type change struct {
	block doctest.Block
	text  string
}

func (d *document) run(t *testing.T, b doctest.Block, output *doctest.Block) {
	t.Helper()
	switch b.Lang {
	case "json":
		if !json.Valid([]byte(b.Text)) {
			t.Errorf("%v: this is not JSON:\n%s", b, b.Text)
		}
	case "toml": // settings
		d.begin(t)
		config := filepath.Join(d.home, ".config", "treeline")
		if err := os.MkdirAll(config, 0o700); err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(b.Text, "/fast/disk", d.home)
		if err := os.WriteFile(filepath.Join(config, "config.toml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		d.prints(t, b, nil, "treeline", "sources")
		if err := os.Remove(filepath.Join(config, "config.toml")); err != nil {
			t.Fatal(err)
		}
	case "go":
		if program := d.programs[b.String()]; program != "" {
			d.prints(t, b, output, program)
		}
	case "python":
		d.interpreted(t, b, output, "python3", ".py")
	case "js", "ts": // a block in TypeScript has only inferred types
		d.interpreted(t, b, output, "node", ".mjs")
	case "sh":
		if !hasProgram(t, b, "sh") {
			return
		}
		d.begin(t)
		script, err := d.names.Real(b.Text)
		if err != nil {
			t.Errorf("%v: %v", b, err)
		}
		d.prints(t, b, output, "sh", "-ec", script)
	case "console":
		d.console(t, b)
	}
}

// console runs the commands of a block one after the other, and compares the output of each.
func (d *document) console(t *testing.T, b doctest.Block) {
	t.Helper()
	commands, err := b.Commands()
	if err != nil {
		t.Error(err)
	}
	for _, program := range []string{"sh", "curl"} {
		if (program == "sh" || strings.Contains(b.Text, "$ "+program+" ")) && !hasProgram(t, b, program) {
			return
		}
	}
	text := ""
	for _, c := range commands {
		d.begin(t)
		command, err := d.names.Real(c.Text)
		if err == nil {
			pwd := filepath.Join(d.home, ".pwd")
			out, failed := d.execute(t, "sh", "-c", d.served(t, command)+"\ncode=$?; pwd >'"+pwd+"'; exit $code")
			if where, err := os.ReadFile(pwd); err == nil {
				d.dir = strings.TrimSpace(string(where))
			}
			err = d.names.Match(c.Output, out)
			if err == nil && failed != nil && c.Output == "" {
				err = failed
			}
			if err != nil && !*update {
				t.Errorf("%s:%d: %sfailed: %v", b.File, c.Line, c.Text, err)
			}
			if err != nil {
				c.Output = d.names.Shown(out)
			}
		} else {
			t.Errorf("%s:%d names what the test does not know: %v", b.File, c.Line, err)
		}
		text += "$ " + c.Text + c.Output
	}
	if text != b.Text {
		d.changed = append(d.changed, change{b, text})
	}
}

// hasProgram reports whether a program is installed. If it is missing, the block is skipped; in CI this is an error.
func hasProgram(t *testing.T, b doctest.Block, program string) bool {
	t.Helper()
	_, err := exec.LookPath(program)
	if err != nil && os.Getenv("TREELINE_CI") != "" {
		t.Errorf("%v: %s is not installed: the block was not run", b, program)
	} else if err != nil {
		t.Logf("LEFT OUT: %v: %s is not installed", b, program)
	}
	return err == nil
}

// interpreted runs a block with an interpreter.
func (d *document) interpreted(t *testing.T, b doctest.Block, output *doctest.Block, interpreter, ending string) {
	t.Helper()
	if !hasProgram(t, b, interpreter) {
		return
	}
	d.begin(t)
	file := filepath.Join(d.home, "block"+ending)
	if err := os.WriteFile(file, []byte(b.Text), 0o600); err != nil {
		t.Fatal(err)
	}
	d.prints(t, b, output, interpreter, file)
}

// prints runs a program, which must succeed and print the output that the document shows, if any.
func (d *document) prints(t *testing.T, b doctest.Block, output *doctest.Block, name string, args ...string) {
	t.Helper()
	d.begin(t)
	out, err := d.execute(t, name, args...)
	if err != nil {
		t.Errorf("%v: %v\n%s", b, err, out)
		return
	}
	if output == nil {
		return
	}
	if err := d.names.Match(output.Text, out); err != nil {
		if *update {
			d.changed = append(d.changed, change{*output, d.names.Shown(out)})
			return
		}
		t.Errorf("%v: %v", output, err)
	}
}

// execute runs a program in the document's directory. In its output, the home directory is shown as /home/you.
func (d *document) execute(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = d.dir, d.env()
	out, err := cmd.CombinedOutput()
	const you = "/home/you"
	folder := strings.NewReplacer("/", "-") // like some agents name the folder of a project
	return strings.NewReplacer(d.home, you, folder.Replace(d.home), folder.Replace(you)).Replace(string(out)), err
}

func (d *document) env() []string {
	return []string{
		"HOME=" + d.home, "USERPROFILE=" + d.home, "PATH=" + os.Getenv("PATH"), "TZ=UTC", "PAGER=cat", "TERM=dumb", "GORACE=" + os.Getenv("GORACE"),
		"GOCOVERDIR=" + d.cover, "PYTHONPATH=" + filepath.Join(d.root, "clients", "python"), "PYTHONDONTWRITEBYTECODE=1",
	}
}

// begin creates the home directory: the sessions of the demo, and the folders of their projects.
func (d *document) begin(t *testing.T) {
	t.Helper()
	if d.home != "" {
		return
	}
	home, err := os.MkdirTemp("", "home") // a short name: outputs have room for short paths only
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	d.home, d.cover, d.dir = home, t.TempDir(), home
	if err := demo.WriteProjects(t.Context(), d.home, d.home, time.Now, drivers.Drivers()...); err != nil {
		t.Fatal(err)
	}
	for _, project := range []string{"shop", "atlas", "ledger"} {
		if err := os.Mkdir(filepath.Join(d.home, project), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	modules := filepath.Join(d.home, "node_modules")
	if err := os.Mkdir(modules, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(d.root, "clients", "node"), filepath.Join(modules, "treeline")); err != nil {
		t.Log(err) // Windows may refuse it; the block mentions that
	}
}

// served returns a command with the address of a server, if it contacts the one in the documents. The server has the sessions of the
// document's home.
func (d *document) served(t *testing.T, command string) string {
	t.Helper()
	const shown = "127.0.0.1:7331"
	if !strings.Contains(command, shown) {
		return command
	}
	if d.server == "" {
		d.server = serveHome(t, d.dir, d.env())
	}
	return strings.ReplaceAll(command, shown, d.server)
}

// serveHome starts treeline serve until the end of the test, and returns its address.
func serveHome(t *testing.T, dir string, env []string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "treeline", "serve", "--write", "--addr", "127.0.0.1:0")
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	line, err := bufio.NewReader(out).ReadString('\n') // its URL
	address := regexp.MustCompile(`127\.0\.0\.1:[0-9]+`).FindString(line)
	if address == "" {
		t.Fatalf("the server prints %q, %v; want its address", line, err)
	}
	return address
}

// write puts the output into the document, starting at its end, so that the lines of other blocks stay where they are.
func (d *document) write(t *testing.T, file string) {
	t.Helper()
	if len(d.changed) == 0 {
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(strings.Lines(string(text)))
	for _, c := range slices.Backward(d.changed) {
		from := c.block.Line - 1
		lines = slices.Replace(lines, from, from+strings.Count(c.block.Text, "\n"), c.text)
	}
	if err := os.WriteFile(file, []byte(strings.Join(lines, "")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// goPrograms compiles all blocks in Go with one command, and returns the file of each that is a program. Each block is a whole file.
func goPrograms(t *testing.T, root string, documents map[string][]doctest.Block) map[string]string {
	t.Helper()
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	var packages []string
	programs := map[string]string{}
	for _, document := range slices.Sorted(maps.Keys(documents)) { // the same names each time, so that the compiled packages are cached
		for _, b := range documents[document] {
			if b.Lang != "go" || b.Mark != doctest.Run {
				continue
			}
			name := fmt.Sprintf("block%d", len(overlay.Replace))
			text := fmt.Sprintf("//line %s:%d\n%s", filepath.Join(root, b.File), b.Line, b.Text)
			if strings.Contains(b.Text, "package main\n") {
				programs[b.String()] = filepath.Join(dir, name)
			}
			file := filepath.Join(dir, name+".go")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			overlay.Replace[filepath.Join(root, "docs", name, "block.go")] = file
			packages = append(packages, "./docs/"+name)
		}
	}
	if len(overlay.Replace) == 0 {
		return nil
	}
	text, err := json.Marshal(overlay)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "overlay.json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"build", "-ldflags=-s -w", "-overlay", filepath.Join(dir, "overlay.json")}
	if len(programs) > 0 {
		args = append(args, "-o", dir+string(filepath.Separator))
	}
	cmd := exec.CommandContext(t.Context(), "go", append(args, packages...)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the blocks in Go: %v\n%s", err, out)
	}
	return programs
}
