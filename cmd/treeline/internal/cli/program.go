package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/place"
)

// Program returns the name by which people start this program, for commands that they are told to try. typed is the first word of the
// command line.
func (a *App) Program(typed string) string {
	const installed = "treeline"
	if !builtByGoRun(a.Self) {
		if a.Self != "" && !filepath.IsAbs(typed) && strings.ContainsAny(typed, `/\`) {
			return typed // such as ./treeline
		}
		return installed
	}
	for _, dir := range []string{"./cmd/treeline", "."} {
		if _, err := os.Stat(filepath.Join(filepath.FromSlash(dir), "cmd_demo.go")); err == nil {
			return "go run " + dir
		}
	}
	return installed
}

// builtByGoRun reports whether "go run" built a program: it is in a temporary folder, or in the build cache.
func builtByGoRun(file string) bool {
	dir := filepath.Dir(file)
	_, err := hex.DecodeString(strings.TrimSuffix(filepath.Base(dir), "-d"))
	return strings.Contains(filepath.ToSlash(dir), "/go-build") || err == nil && len(filepath.Base(dir)) == 2*sha256.Size+len("-d")
}

// Tally returns the number of sessions in some places, and the names of their agents.
func Tally(sources []place.SourceInfo) (sessions int, agents []string) {
	for _, src := range sources {
		if src.Sessions > 0 {
			if sessions += src.Sessions; !slices.Contains(agents, dialect.Agent(src.Dialect)) {
				agents = append(agents, dialect.Agent(src.Dialect))
			}
		}
	}
	return sessions, agents
}

// OpenBrowser starts the user's browser, which may stay open longer than this program.
func OpenBrowser(url string) error {
	command := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open"}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	c := exec.Command(command[0], append(command[1:], url)...)
	if err := c.Start(); err != nil {
		return fmt.Errorf("the browser was not opened: %w", err)
	}
	go func() { _ = c.Wait() }()
	return nil
}
