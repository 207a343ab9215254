//go:build !linux

package main

import "github.com/rogpeppe/go-internal/testscript"

// terminalCmd needs a pseudo-terminal, which is opened differently on each system. Scripts that use it skip elsewhere.
func terminalCmd(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("no terminal on this system")
}
