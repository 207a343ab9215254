package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// othersName is the file with the licences of other modules.
const othersName = "THIRD-PARTY-LICENSES.txt"

// licences returns the licences and notices of everything that the programs of a release link: Go and all modules, those of all systems in
// one file. Most of them must accompany a binary.
func licences() ([]byte, error) {
	folders := map[string]string{} // by name and version
	for _, t := range targets {
		out, err := run("CGO_ENABLED=0 GOFLAGS= GOOS="+t.os+" GOARCH="+t.arch,
			"go", "list", "-deps", "-f", "{{with .Module}}{{if .Version}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}", "./cmd/treeline")
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(out)) {
			if name, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
				folders[name] = dir
			}
		}
	}
	root, err := run("", "go", "env", "GOROOT", "GOVERSION")
	if err != nil {
		return nil, err
	}
	dir, version, _ := strings.Cut(strings.TrimSpace(string(root)), "\n")
	folders["Go "+version] = dir
	return licencesIn(folders)
}

// licencesIn concatenates the licences in the folders of modules. A module without a licence is an error.
func licencesIn(folders map[string]string) ([]byte, error) {
	names := make([]string, 0, len(folders))
	for name := range folders {
		names = append(names, name)
	}
	slices.Sort(names)
	var b bytes.Buffer
	b.WriteString("treeline links the software below, under the licences that follow each name.\n")
	for _, name := range names {
		list, err := os.ReadDir(folders[name])
		if err != nil {
			return nil, err
		}
		found := false
		for _, f := range list {
			if f.IsDir() || !isLicence(f.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(folders[name], f.Name()))
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&b, "\n==== %s: %s ====\n\n%s\n", name, f.Name(), bytes.TrimSpace(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))))
			found = true
		}
		if !found {
			return nil, fmt.Errorf("%s has no licence", name)
		}
	}
	return b.Bytes(), nil
}

// isLicence reports whether a file is a licence or a notice, judged by its name.
func isLicence(name string) bool {
	name = strings.ToUpper(name)
	if strings.HasSuffix(name, ".GO") {
		return false
	}
	return slices.ContainsFunc([]string{"LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "PATENTS"}, func(word string) bool { return strings.Contains(name, word) })
}
