//go:build !linux

package main

import "github.com/rogpeppe/go-internal/testscript"

func canMount() bool { return false }

func diskCmd(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("file systems are mounted on Linux only")
}
