package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// builder has what the files of all targets have in common.
type builder struct {
	work string // a temporary folder
	checkout
	licence, readme []byte
	others          []byte // licences of the linked modules
	completions     []file // named as in archives
	pages           []file // treeline.1 …
}

// checkout describes the source that is built.
type checkout struct {
	version, commit string
	when            time.Time // of the commit
}

// newBuilder makes everything that does not depend on the target. It builds the program for this machine, which writes completions.
func newBuilder() (b *builder, err error) {
	b = &builder{}
	if b.work, err = os.MkdirTemp("", "treeline-dist-"); err != nil {
		return nil, err
	}
	if err := b.prepare(); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *builder) close() { _ = os.RemoveAll(b.work) } // errors leave files only in the folder for temporary files

func (b *builder) prepare() (err error) {
	if b.checkout, err = describe(); err != nil {
		return err
	}
	if b.licence, err = os.ReadFile("LICENSE"); err != nil {
		return err
	}
	if b.readme, err = os.ReadFile("README.md"); err != nil {
		return err
	}
	if b.others, err = licences(); err != nil {
		return err
	}
	self := target{runtime.GOOS, runtime.GOARCH}
	if _, err := b.program(self); err != nil {
		return err
	}
	path := b.built(self)
	if b.version == "" { // no tag names it
		out, err := run("", path, "version", "--json")
		if err != nil {
			return err
		}
		var v struct{ Version string }
		if err := json.Unmarshal(out, &v); err != nil {
			return fmt.Errorf("version --json: %w", err)
		}
		b.version = v.Version
	}
	for _, c := range [][2]string{{"bash", "treeline.bash"}, {"zsh", "_treeline"}, {"fish", "treeline.fish"}, {"powershell", "treeline.ps1"}} {
		script, err := run("", path, "completion", c[0])
		if err != nil {
			return err
		}
		b.completions = append(b.completions, file{c[1], 0o644, script})
	}
	return b.manual()
}

// describe gets the version and the time from git.
func describe() (c checkout, err error) {
	head, err := run("", "git", "log", "-1", "--format=%H %ct")
	if err != nil {
		return c, err
	}
	seconds := int64(0)
	if _, err := fmt.Sscan(string(head), &c.commit, &seconds); err != nil {
		return c, fmt.Errorf("git log: %w", err)
	}
	c.commit, c.when = c.commit[:12], time.Unix(seconds, 0).UTC()
	if tag, err := run("", "git", "describe", "--tags", "--exact-match", "--match", "v[0-9]*"); err == nil {
		c.version = strings.TrimPrefix(strings.TrimSpace(string(tag)), "v")
	}
	changed, err := run("", "git", "status", "--porcelain", "--untracked-files=no")
	if err == nil && len(changed) > 0 {
		fmt.Fprintln(os.Stderr, "dist: there are changes that are not committed; they are in the release")
	}
	return c, err
}

// manual runs a test of cmd/treeline that writes the pages: only that package knows the commands.
func (b *builder) manual() error {
	dir := filepath.Join(b.work, "man")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if _, err := run("", "go", "test", "./cmd/treeline", "-run", "^TestManual$", "-count=1",
		"-args", "-man", dir, "-man-date", b.when.Format(time.DateOnly), "-man-version", b.version); err != nil {
		return err
	}
	names, err := fs.Glob(os.DirFS(dir), "*.1")
	if err != nil {
		return err
	}
	for _, name := range names {
		page, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		b.pages = append(b.pages, file{name, 0o644, page})
	}
	return nil
}

// built returns the path of a target's program.
func (b *builder) built(t target) string { return filepath.Join(b.work, t.os+"-"+t.arch, t.program()) }

// program builds the program: static, without symbols and without the paths of this machine.
func (b *builder) program(t target) ([]byte, error) {
	const vars = "-X github.com/treeline-dev/treeline/cmd/treeline/internal/cli."
	flags := "-s -w " + vars + "revision=" + b.commit + " " + vars + "date=" + b.when.Format(time.RFC3339)
	if b.version != "" {
		flags += " " + vars + "Version=" + b.version
	}
	path := b.built(t)
	if _, err := run("CGO_ENABLED=0 GOFLAGS= GOAMD64=v1 GOARM64=v8.0 GOOS="+t.os+" GOARCH="+t.arch,
		"go", "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", path, "./cmd/treeline"); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// archive makes the archive that users download: a folder with everything.
func (b *builder) archive(t target, program []byte) (file, error) {
	name := "treeline-" + b.version + "-" + t.os + "-" + t.arch
	files := []file{
		{name + "/" + t.program(), 0o755, program}, {name + "/LICENSE", 0o644, b.licence}, {name + "/README.md", 0o644, b.readme},
		{name + "/" + othersName, 0o644, b.others},
	}
	for _, f := range b.completions {
		files = append(files, file{name + "/completions/" + f.path, f.mode, f.data})
	}
	for _, f := range b.pages {
		files = append(files, file{name + "/man/man1/" + f.path, f.mode, f.data})
	}
	if t.os == "windows" {
		data, err := zipped(files, b.when)
		return file{name + ".zip", 0o644, data}, err
	}
	data, err := tarball(files, "", b.when)
	return file{name + ".tar.gz", 0o644, data}, err
}

// installed returns the files as they are below / of a system: in a Debian package, or in an image.
func (b *builder) installed(program []byte) []file {
	places := map[string]string{
		"treeline.bash": "usr/share/bash-completion/completions/treeline",
		"_treeline":     "usr/share/zsh/vendor-completions/_treeline",
		"treeline.fish": "usr/share/fish/vendor_completions.d/treeline.fish",
		"treeline.ps1":  "usr/share/treeline/treeline.ps1", // PowerShell has no folder for it
	}
	files := []file{
		{"usr/bin/treeline", 0o755, program},
		{"usr/share/doc/treeline/README.md", 0o644, b.readme}, {"usr/share/doc/treeline/copyright", 0o644, b.licence},
		{"usr/share/doc/treeline/" + othersName, 0o644, b.others},
	}
	for _, f := range b.completions {
		files = append(files, file{places[f.path], 0o644, f.data})
	}
	for _, f := range b.pages {
		files = append(files, file{"usr/share/man/man1/" + f.path + ".gz", 0o644, squeezed(f.data)})
	}
	return files
}

// run runs a command with additional variables, separated by spaces, and returns its output.
func run(env string, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), strings.Fields(env)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s%s", strings.Join(cmd.Args, " "), err, &stdout, &stderr)
	}
	return stdout.Bytes(), nil
}
