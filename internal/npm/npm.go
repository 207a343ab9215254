// Package npm installs the packages of real agents, so that this program can be compared with them.
package npm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Pi is pi's newest version. Only its session manager and its store of prompts are used.
const Pi = "@earendil-works/pi-coding-agent@1.5.2"

// PiUnused returns the packages of Pi that its session manager and its store of prompts do not import.
func PiUnused() []string {
	return []string{
		"@earendil-works/pi-codemode", "@earendil-works/pi-mcp", "@earendil-works/pi-schema", "@earendil-works/pi-telemetry",
		"@earendil-works/pi-tui", "lovely-mermaid",
	}
}

// Install installs packages, named with their versions, in dir/node_modules. An empty package replaces each of those in unused, at any
// depth: some are large, and some are not in every registry. No script of a package is run. The file dir/complete is written last, with the
// names: a folder that has it is left as it is, an interrupted installation is repeated, and so is one of other packages.
func Install(dir string, unused []string, packages ...string) error {
	complete, names := filepath.Join(dir, "complete"), []byte(strings.Join(packages, "\n"))
	if installed, err := os.ReadFile(complete); err == nil && bytes.Equal(installed, names) {
		return nil
	}
	if err := os.RemoveAll(complete); err != nil {
		return err
	}
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%s is needed to run the real agent: %w", tool, err)
		}
	}
	empty := filepath.Join(dir, "unused")
	if err := os.MkdirAll(empty, 0o700); err != nil {
		return err
	}
	overrides := map[string]string{}
	for _, name := range unused {
		overrides[name] = "file:./unused"
	}
	manifest, err := json.Marshal(struct {
		Private   bool              `json:"private"`
		Overrides map[string]string `json:"overrides"`
	}{true, overrides})
	if err != nil {
		return err
	}
	for path, content := range map[string][]byte{
		filepath.Join(empty, "package.json"): []byte(`{"name":"unused","version":"0.0.0"}`), filepath.Join(dir, "package.json"): manifest,
	} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return err
		}
	}
	cmd := exec.Command("npm", append([]string{"install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"}, packages...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm install %s: %w\n%s", strings.Join(packages, " "), err, strings.TrimSpace(string(out)))
	}
	return os.WriteFile(complete, names, 0o600)
}
