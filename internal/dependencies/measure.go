package main

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// starts is how often the program is started to measure initialisation.
const starts = 30

// totals are the sizes of the whole program for Linux on amd64, in bytes of its file without symbols, and its start time here.
type totals struct {
	golang                        string
	program, lines, modules, self int64
	start                         time.Duration
}

// measure builds the program, and adds sizes and times to the modules.
func measure(modules map[string]*module) (t totals, err error) {
	dir, err := os.MkdirTemp("", "treeline-dependencies-")
	if err != nil {
		return t, err
	}
	defer os.RemoveAll(dir)
	full, stripped := filepath.Join(dir, "full"), filepath.Join(dir, "stripped")
	if _, _, err := run("CGO_ENABLED=0 GOOS=linux GOARCH=amd64", "go", "build", "-trimpath", "-buildvcs=false", "-o", full, "./cmd/treeline"); err != nil {
		return t, err
	}
	if _, _, err := run("CGO_ENABLED=0", "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", stripped, "./cmd/treeline"); err != nil {
		return t, err
	}
	about, _, err := run("", "go", "env", "GOVERSION")
	if err != nil {
		return t, err
	}
	t.golang = strings.TrimSpace(string(about))
	if err := addSizes(modules, full, &t); err != nil {
		return t, err
	}
	return t, addStarts(modules, stripped, &t)
}

// addSizes sums up the symbols of a program for Linux. Variables that begin as zeroes are not in the file.
func addSizes(modules map[string]*module, program string, t *totals) error {
	f, err := elf.Open(program)
	if err != nil {
		return err
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	for _, s := range symbols {
		if int(s.Section) >= len(f.Sections) || f.Sections[s.Section].Type != elf.SHT_PROGBITS {
			continue
		}
		path := packageOf(s.Name)
		if m := ownerOf(modules, path); m != nil {
			m.size += int64(s.Size)
			t.modules += int64(s.Size)
		} else if strings.HasPrefix(path, self) {
			t.self += int64(s.Size)
		}
	}
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC != 0 && s.Type != elf.SHT_NOBITS { // sections that remain without symbols
			t.program += int64(s.Size)
			if s.Name == ".gopclntab" {
				t.lines = int64(s.Size)
			}
		}
	}
	return nil
}

// self is this module.
const self = "github.com/treeline-dev/treeline"

// packageOf returns the path in the name of a symbol: up to the first dot after the last slash. Type parameters name other packages.
func packageOf(symbol string) string {
	symbol, _, _ = strings.Cut(symbol, "[")
	symbol, _, _ = strings.Cut(symbol, "(")
	slash := strings.LastIndexByte(symbol, '/') + 1
	last, _, _ := strings.Cut(symbol[slash:], ".")
	return symbol[:slash] + strings.ReplaceAll(last, "%2e", ".")
}

// ownerOf returns the module of a package.
func ownerOf(modules map[string]*module, path string) *module {
	for path != "" {
		if m := modules[path]; m != nil {
			return m
		}
		path = path[:max(strings.LastIndexByte(path, '/'), 0)]
	}
	return nil
}

// addStarts starts the program several times. The runtime prints a line for each package that does something before main:
// init PACKAGE @0.5 ms, 0.012 ms clock, …
func addStarts(modules map[string]*module, program string, t *totals) error {
	least := map[string]time.Duration{}
	for range starts {
		_, trace, err := run("GODEBUG=inittrace=1", program, "version")
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(trace)) {
			words := strings.Fields(line)
			if len(words) < 5 || words[0] != "init" {
				continue
			}
			took, err := time.ParseDuration(words[4] + "ms")
			if err != nil {
				return fmt.Errorf("inittrace: %q: %w", line, err)
			}
			if before, ok := least[words[1]]; !ok || took < before {
				least[words[1]] = took
			}
		}
	}
	for path, took := range least {
		t.start += took
		if m := ownerOf(modules, path); m != nil {
			m.start += took
		}
	}
	return nil
}
