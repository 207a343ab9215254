//go:build !linux

package main

import "github.com/rogpeppe/go-internal/testscript"

// terminalCmd and askedCmd need a pseudo-terminal. Scripts that use them skip elsewhere.
func terminalCmd(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("no terminal on this system")
}

func askedCmd(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("no terminal on this system")
}
