package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/internal/difftest"
)

// example returns a builder with small files. Its program is a script.
func example() *builder {
	return &builder{
		checkout: checkout{version: "1.2.0-rc1", commit: "0123456789ab", when: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		licence:  []byte("licence\n"), readme: []byte("readme\n"), others: []byte("others\n"),
		completions: []file{{"treeline.bash", 0o644, []byte("b")}, {"_treeline", 0o644, []byte("z")}, {"treeline.fish", 0o644, []byte("f")}, {"treeline.ps1", 0o644, []byte("p")}},
		pages:       []file{{"treeline.1", 0o644, []byte(".TH treeline 1\n")}},
	}
}

var script = []byte("#!/bin/sh\necho treeline 1.2.0-rc1\n")

// TestArchives: an archive has every file with its mode, the time of the commit, and the same bytes when it is made again.
func TestArchives(t *testing.T) {
	for _, c := range []struct {
		target
		name, program string
		list          func([]byte) (string, error)
	}{
		{target{"linux", "arm64"}, "treeline-1.2.0-rc1-linux-arm64.tar.gz", "treeline", listTar},
		{target{"windows", "amd64"}, "treeline-1.2.0-rc1-windows-amd64.zip", "treeline.exe", listZip},
	} {
		t.Run(c.name, func(t *testing.T) {
			archive, err := example().archive(c.target, script)
			if err != nil {
				t.Fatal(err)
			}
			if archive.path != c.name {
				t.Errorf("the name is %s, want %s", archive.path, c.name)
			}
			got, err := c.list(archive.data)
			if err != nil {
				t.Fatal(err)
			}
			want := ""
			for _, line := range []string{
				"644 8 LICENSE", "644 7 README.md", "644 7 THIRD-PARTY-LICENSES.txt", "644 1 completions/_treeline", "644 1 completions/treeline.bash", "644 1 completions/treeline.fish",
				"644 1 completions/treeline.ps1", "644 15 man/man1/treeline.1", fmt.Sprintf("755 %d %s", len(script), c.program),
			} {
				words := strings.Fields(line)
				want += words[0] + " " + words[1] + " 2026-01-02T03:04:05Z treeline-1.2.0-rc1-" + c.os + "-" + c.arch + "/" + words[2] + "\n"
			}
			if diff := difftest.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			again, err := example().archive(c.target, script)
			if err != nil || same([]file{archive}, []file{again}) != nil {
				t.Errorf("made again it has other bytes, %v", err)
			}
		})
	}
	if same([]file{{"x", 0, []byte("a")}}, []file{{"x", 0, []byte("b")}}) == nil {
		t.Error("two files that differ were the same")
	}
}

// listTar lists files, and leaves out folders.
func listTar(data []byte) (list string, err error) {
	unpacked, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	for r := tar.NewReader(unpacked); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return "", err
		}
		if h.Typeflag == tar.TypeReg {
			list += fmt.Sprintf("%o %d %s %s\n", h.Mode, h.Size, h.ModTime.UTC().Format(time.RFC3339), h.Name)
		}
	}
}

func listZip(data []byte) (list string, err error) {
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return "", err
	}
	for _, f := range r.File {
		list += fmt.Sprintf("%o %d %s %s\n", f.Mode().Perm(), f.UncompressedSize64, f.Modified.UTC().Format(time.RFC3339), f.Name)
	}
	return list, nil
}

// TestDebian compares the parts of a package with the format. If dpkg is installed, it installs the package.
func TestDebian(t *testing.T) {
	deb, err := example().debian(target{"linux", "amd64"}, script)
	if err != nil {
		t.Fatal(err)
	}
	if want := "treeline_1.2.0~rc1_amd64.deb"; deb.path != want {
		t.Errorf("the name is %s, want %s", deb.path, want)
	}
	head := "!<arch>\n" + fmt.Sprintf("%-16s%-12d%-6d%-6d%-8s%-10d`\n2.0\n", "debian-binary", 1767323045, 0, 0, "100644", 4) + "control.tar.gz  "
	if !bytes.HasPrefix(deb.data, []byte(head)) {
		t.Errorf("it begins with %q, want %q", deb.data[:len(head)], head)
	}
	if _, err := exec.LookPath("dpkg"); err != nil {
		t.Log("no dpkg here")
		return
	}
	dir := t.TempDir()
	if err := deb.write(dir); err != nil {
		t.Fatal(err)
	}
	fields, err := run("", "dpkg-deb", "--field", filepath.Join(dir, deb.path), "Package", "Version", "Architecture")
	if want := "Package: treeline\nVersion: 1.2.0~rc1\nArchitecture: amd64\n"; err != nil || string(fields) != want {
		t.Errorf("got %q, %v; want %q", fields, err, want)
	}
	root := filepath.Join(dir, "root")
	if _, err := run("", "dpkg-deb", "--extract", filepath.Join(dir, deb.path), root); err != nil {
		t.Fatal(err)
	}
	for _, f := range example().installed(script) {
		got, err := os.ReadFile(filepath.Join(root, f.path))
		if err != nil || !bytes.Equal(got, f.data) {
			t.Errorf("%s has %d bytes, %v; want %d", f.path, len(got), err, len(f.data))
		}
	}
}

// TestLicences: the texts of every module are included, whatever the files are called, and a module without one is an error.
func TestLicences(t *testing.T) {
	dir := t.TempDir()
	for _, f := range []file{
		{"a/LICENSE", 0o644, []byte("of a\r\n")}, {"a/NOTICE.md", 0o644, []byte("a says\n")}, {"a/license.go", 0o644, []byte("package a\n")},
		{"b/SQLITE-LICENSE", 0o644, []byte("of b")}, {"c/README", 0o644, nil},
	} {
		if err := f.write(dir); err != nil {
			t.Fatal(err)
		}
	}
	folders := map[string]string{"m/b v2": filepath.Join(dir, "b"), "m/a v1": filepath.Join(dir, "a")}
	got, err := licencesIn(folders)
	want := "treeline links the software below, under the licences that follow each name.\n" +
		"\n==== m/a v1: LICENSE ====\n\nof a\n\n==== m/a v1: NOTICE.md ====\n\na says\n\n==== m/b v2: SQLITE-LICENSE ====\n\nof b\n"
	if diff := difftest.Diff(want, string(got)); diff != "" || err != nil {
		t.Errorf("got %v; want each licence below its name:\n%s", err, diff)
	}
	folders["m/c v3"] = filepath.Join(dir, "c")
	if _, err := licencesIn(folders); err == nil || !strings.Contains(err.Error(), "m/c v3 has no licence") {
		t.Errorf("a module without a licence: %v; want an error that names it", err)
	}
}

// TestTargets: the names are those of the Go command; other names are refused.
func TestTargets(t *testing.T) {
	if got, err := parseTarget("windows/arm64"); err != nil || got != (target{"windows", "arm64"}) || got.program() != "treeline.exe" {
		t.Errorf("got %v, %v; want windows/arm64", got, err)
	}
	if got, err := parseTarget("linux"); err == nil {
		t.Errorf("linux was taken for %v; want an error", got)
	}
}

// TestFormula: each archive has its own checksum.
func TestFormula(t *testing.T) {
	sums := map[target]string{}
	for _, target := range targets {
		sums[target] = "sum of " + target.String()
	}
	formula := string(example().formula(sums).data)
	for _, want := range []string{"darwin-arm64.tar.gz\"\n      sha256 \"sum of darwin/arm64\"", "linux-amd64.tar.gz\"\n      sha256 \"sum of linux/amd64\"", `version "1.2.0-rc1"`} {
		if !strings.Contains(formula, want) {
			t.Errorf("there is no %q in\n%s", want, formula)
		}
	}
	if opened, closed := strings.Count(formula, " do\n")+strings.Count(formula, "def ")+1, strings.Count(formula, "end\n"); opened != closed {
		t.Errorf("%d blocks are opened, %d closed", opened, closed)
	}
}
