package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// module is a module that go.mod names.
type module struct {
	Path, Version string
	Indirect      bool

	licence   string
	where     use
	importers []string // modules with packages that import one of this module
	size      int64
	start     time.Duration
}

// use is where a module is linked.
type use int

const (
	nowhere use = iota
	someSystems
	everySystem
)

// required reads go.mod.
func required() (map[string]*module, error) {
	out, _, err := run("", "go", "mod", "edit", "-json")
	if err != nil {
		return nil, err
	}
	var file struct{ Require []*module }
	if err := json.Unmarshal(out, &file); err != nil {
		return nil, fmt.Errorf("go.mod: %w", err)
	}
	modules := map[string]*module{}
	for _, m := range file.Require {
		modules[m.Path] = m
	}
	return modules, nil
}

// listed is a package as "go list" prints it.
type listed struct {
	ImportPath string
	Imports    []string
	Module     *struct{ Path, Dir string }
}

// packages lists packages and all that they import.
func packages(env string, args ...string) (list []listed, err error) {
	out, _, err := run(env, "go", append([]string{"list", "-deps", "-json=ImportPath,Imports,Module"}, args...)...)
	if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		list = append(list, p)
	}
}

// findUses finds for each module where it is linked, which modules import it, and its licence.
func findUses(modules map[string]*module) error {
	const program = "./cmd/treeline"
	systems := []string{"GOOS=linux", "GOOS=darwin", "GOOS=windows"}
	for i, args := range [][]string{{program}, {program}, {program}, {"-test", "./..."}} {
		env := ""
		if i < len(systems) {
			env = systems[i]
		}
		list, err := packages(env, args...)
		if err != nil {
			return err
		}
		owner := map[string]string{} // owner of each package
		for _, p := range list {
			if p.Module != nil {
				owner[p.ImportPath] = p.Module.Path
			}
		}
		here := map[string]bool{}
		for _, p := range list {
			m := modules[owner[p.ImportPath]]
			if m == nil {
				continue
			}
			here[m.Path] = true
			if m.licence == "" {
				if m.licence, err = licence(p.Module.Dir); err != nil {
					return err
				}
			}
		}
		importers(modules, list, owner)
		if i < len(systems) {
			for path := range here {
				if m := modules[path]; i == 0 {
					m.where = everySystem
				} else if m.where == nowhere {
					m.where = someSystems
				}
			}
			for path, m := range modules {
				if m.where == everySystem && !here[path] {
					m.where = someSystems
				}
			}
		}
	}
	return licencesOfRest(modules)
}

// importers records which modules import which.
func importers(modules map[string]*module, list []listed, owner map[string]string) {
	for _, p := range list {
		from := owner[p.ImportPath]
		if modules[from] == nil {
			continue
		}
		for _, path := range p.Imports {
			if to := modules[owner[path]]; to != nil && to.Path != from && !slices.Contains(to.importers, from) {
				to.importers = append(to.importers, from)
				slices.Sort(to.importers)
			}
		}
	}
}

// licencesOfRest finds the licence of modules that no package here imports.
func licencesOfRest(modules map[string]*module) error {
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		m := modules[path]
		if m.licence != "" {
			continue
		}
		out, _, err := run("", "go", "mod", "download", "-json", path+"@"+m.Version)
		if err != nil {
			return err
		}
		var got struct{ Dir string }
		if err := json.Unmarshal(out, &got); err != nil {
			return fmt.Errorf("go mod download: %w", err)
		}
		if m.licence, err = licence(got.Dir); err != nil {
			return err
		}
	}
	return nil
}

// licence identifies the licence in a folder by sentences that only this licence has.
func licence(dir string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "[LC][IO][CP][EY][NI]*"))
	if err != nil {
		return "", err
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		if name := nameOf(string(data)); name != "" {
			return name, nil
		}
	}
	return "", fmt.Errorf("%s: no licence that is known here", dir)
}

// nameOf returns the SPDX name of a licence. Several texts in one file are all named.
func nameOf(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	var names []string
	for _, l := range []struct{ name, sentence string }{
		{"Apache-2.0", "Apache License Version 2.0"},
		{"MIT", "Permission is hereby granted, free of charge, to any person obtaining a copy"},
		{"BSD-3-Clause", "may be used to endorse or promote products derived"},
		{"MPL-2.0", "Mozilla Public License Version 2.0"},
		{"ISC", "Permission to use, copy, modify, and/or distribute this software"},
	} {
		if strings.Contains(text, l.sentence) {
			names = append(names, l.name)
		}
	}
	if len(names) == 0 && strings.Contains(text, "Redistributions in binary form must reproduce") {
		names = append(names, "BSD-2-Clause")
	}
	return strings.Join(names, ", ")
}
