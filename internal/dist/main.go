// Command dist makes a release from the checkout, into the folder dist:
//
//	go run ./internal/dist                          archives and Debian packages for all systems, a Homebrew formula, SHA256SUMS
//	go run ./internal/dist -check                   the same, made twice and compared, and the package installed into an empty root
//	go run ./internal/dist -root DIR -for linux/arm64   the files as a system has them below /, for an image or a package of another kind
//
// Each archive has the program, its licence and those of the modules in it, completions for four shells and the manual pages. All times are that of the commit, so the
// same commit and the same Go give the same bytes. The version is that of a tag vN.N.N of the commit, else the one in cmd/treeline/internal/cli.
package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// targets are the systems of a release.
var targets = []target{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

// target is a system as the Go command names it.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "/" + t.arch }

// program returns the name of the executable.
func (t target) program() string {
	if t.os == "windows" {
		return "treeline.exe"
	}
	return "treeline"
}

// parseTarget finds the target of a name such as linux/amd64.
func parseTarget(name string) (target, error) {
	if at := slices.IndexFunc(targets, func(t target) bool { return t.String() == name }); at >= 0 {
		return targets[at], nil
	}
	return target{}, fmt.Errorf("%q is not one of %v", name, targets)
}

func main() {
	out := flag.String("o", "dist", "the `folder` of the release; files of an older one are removed from it")
	check := flag.Bool("check", false, "make it twice, compare, and install the Debian package into an empty root")
	only := flag.String("only", "", "only these `systems`, separated by commas, to try it out; there is no formula then")
	root := flag.String("root", "", "write the files of one system below a `folder` instead, as they are below /")
	system := flag.String("for", runtime.GOOS+"/"+runtime.GOARCH, "the `system` of -root")
	flag.Parse()
	err := error(nil)
	if *root != "" {
		err = install(*root, *system)
	} else {
		err = release(*out, *only, *check)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// release makes all files of a release.
func release(dir, only string, check bool) error {
	list := targets
	if only != "" {
		list = nil
		for name := range strings.SplitSeq(only, ",") {
			t, err := parseTarget(name)
			if err != nil {
				return err
			}
			list = append(list, t)
		}
	}
	made, err := makeRelease(list)
	if err != nil {
		return err
	}
	if check {
		again, err := makeRelease(list)
		if err != nil {
			return err
		}
		if err := same(made.files, again.files); err != nil {
			return err
		}
		fmt.Printf("made twice: all %d files are the same\n", len(made.files))
	}
	if err := made.write(dir); err != nil {
		return err
	}
	made.report()
	if check {
		return tryPackage(dir, made.files)
	}
	return nil
}

// install writes the files of one system below a folder.
func install(root, system string) error {
	t, err := parseTarget(system)
	if err != nil {
		return err
	}
	b, err := newBuilder()
	if err != nil {
		return err
	}
	defer b.close()
	program, err := b.program(t)
	if err != nil {
		return err
	}
	for _, f := range b.installed(program) {
		if err := f.write(root); err != nil {
			return err
		}
	}
	return nil
}

// made is a release in memory.
type made struct {
	files []file
	sizes []string // sizes of the programs, for people
}

// makeRelease builds some targets. The list of checksums is the last file.
func makeRelease(list []target) (*made, error) {
	b, err := newBuilder()
	if err != nil {
		return nil, err
	}
	defer b.close()
	m, sums := &made{}, map[target]string{}
	for _, t := range list {
		program, err := b.program(t)
		if err != nil {
			return nil, err
		}
		archive, err := b.archive(t, program)
		if err != nil {
			return nil, err
		}
		sums[t] = checksum(archive)
		m.files = append(m.files, archive)
		m.sizes = append(m.sizes, fmt.Sprintf("%-15s %6.1f MB %6.1f MB", t, megabytes(program), megabytes(archive.data)))
		if t.os == "linux" {
			deb, err := b.debian(t, program)
			if err != nil {
				return nil, err
			}
			m.files = append(m.files, deb)
		}
	}
	if len(list) == len(targets) {
		m.files = append(m.files, b.formula(sums))
	}
	var lines strings.Builder
	for _, f := range m.files {
		fmt.Fprintf(&lines, "%s  %s\n", checksum(f), f.path)
	}
	m.files = append(m.files, file{"SHA256SUMS", 0o644, []byte(lines.String())})
	return m, nil
}

func checksum(f file) string { return fmt.Sprintf("%x", sha256.Sum256(f.data)) }

func megabytes(data []byte) float64 { return float64(len(data)) / 1e6 }

// write replaces an older release.
func (m *made) write(dir string) error {
	for _, pattern := range []string{"treeline*", "SHA256SUMS"} {
		old, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		for _, path := range old {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	for _, f := range m.files {
		if err := f.write(dir); err != nil {
			return err
		}
	}
	return nil
}

// report prints what was made.
func (m *made) report() {
	fmt.Printf("%-15s %9s %9s\n%s\n", "system", "program", "archive", strings.Join(m.sizes, "\n"))
	for _, f := range m.files {
		fmt.Println(f.path)
	}
}

// same reports an error if two releases of one commit differ.
func same(a, b []file) error {
	var differ []error
	for i, f := range a {
		if checksum(f) != checksum(b[i]) {
			differ = append(differ, fmt.Errorf("%s is not the same when it is made twice", f.path))
		}
	}
	return errors.Join(differ...)
}
