package main

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// debian makes a package for dpkg: an ar archive of the version of the format, a tar of the package's control files, and one of its files.
// It has no scripts and depends on nothing, since the program is static.
func (b *builder) debian(t target, program []byte) (file, error) {
	files := b.installed(program)
	size := 0
	var sums strings.Builder
	for _, f := range sorted(files) {
		size += len(f.data)
		fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(f.data), f.path)
	}
	version := debianVersion(b.version)
	control := fmt.Sprintf(`Package: treeline
Version: %s
Architecture: %s
Maintainer: The treeline authors <treeline@users.noreply.github.com>
Installed-Size: %d
Section: utils
Priority: optional
Homepage: https://github.com/treeline-dev/treeline
Description: session store for coding agents
 treeline lists, reads, searches, writes, converts and repairs the sessions of
 coding agents in the agents' own formats: every branch, label and compaction.
 It shows what the model would see at any entry. Reading never changes a file.
`, version, t.arch, (size+1023)/1024)
	about, err := tarball([]file{{"control", 0o644, []byte(control)}, {"md5sums", 0o644, []byte(sums.String())}}, "./", b.when)
	if err != nil {
		return file{}, err
	}
	data, err := tarball(files, "./", b.when)
	if err != nil {
		return file{}, err
	}
	return file{"treeline_" + version + "_" + t.arch + ".deb", 0o644, ar(b.when, []file{
		{"debian-binary", 0o644, []byte("2.0\n")}, {"control.tar.gz", 0o644, about}, {"data.tar.gz", 0o644, data},
	})}, nil
}

// debianVersion sorts a pre-release before its release: 1.0.0~rc1.
func debianVersion(version string) string { return strings.Replace(version, "-", "~", 1) }

// ar makes an archive in the format of ar(5).
func ar(when time.Time, files []file) []byte {
	var out bytes.Buffer
	out.WriteString("!<arch>\n")
	for _, f := range files {
		fmt.Fprintf(&out, "%-16s%-12d%-6d%-6d%-8o%-10d`\n", f.path, when.Unix(), 0, 0, 0o100000|f.mode, len(f.data))
		out.Write(f.data)
		if len(f.data)%2 == 1 {
			out.WriteByte('\n')
		}
	}
	return out.Bytes()
}

// tryPackage installs the package for this machine with dpkg into an empty root, runs the program, and removes it again.
func tryPackage(dir string, files []file) error {
	dpkg, err := exec.LookPath("dpkg")
	if err != nil {
		fmt.Println("there is no dpkg here: the Debian package was not installed")
		return nil
	}
	arch, err := run("", dpkg, "--print-architecture")
	if err != nil {
		return err
	}
	suffix := "_" + strings.TrimSpace(string(arch)) + ".deb"
	at := slices.IndexFunc(files, func(f file) bool { return strings.HasSuffix(f.path, suffix) })
	if at < 0 {
		fmt.Printf("there is no package for %s: none was installed\n", suffix)
		return nil
	}
	root, err := emptyRoot()
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	act := func(args ...string) error {
		_, err := run("", dpkg, append([]string{"--root=" + root, "--force-not-root", "--log=/dev/null"}, args...)...)
		return err
	}
	if err := act("--install", filepath.Join(dir, files[at].path)); err != nil {
		return err
	}
	said, err := run("", filepath.Join(root, "usr/bin/treeline"), "version")
	if err != nil {
		return err
	}
	for _, name := range []string{"man/man1/treeline.1.gz", "bash-completion/completions/treeline", "zsh/vendor-completions/_treeline", "fish/vendor_completions.d/treeline.fish"} {
		if _, err := os.Stat(filepath.Join(root, "usr/share", name)); err != nil {
			return err
		}
	}
	if err := act("--verify", "treeline"); err != nil {
		return err
	}
	if err := act("--remove", "treeline"); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(root, "usr/bin/treeline")); err == nil {
		return fmt.Errorf("%s is still there after it was removed", "usr/bin/treeline")
	}
	fmt.Printf("dpkg installed %s, verified and removed it; it says: %s", files[at].path, said)
	return nil
}

// emptyRoot makes a root folder in which dpkg has installed nothing yet.
func emptyRoot() (string, error) {
	root, err := os.MkdirTemp("", "treeline-root-")
	if err != nil {
		return "", err
	}
	for _, dir := range []string{"info", "updates", "triggers"} {
		if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", dir), 0o755); err != nil {
			return "", err
		}
	}
	return root, os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644)
}
