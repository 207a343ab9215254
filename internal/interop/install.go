package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// program is the part of a real agent that handles sessions and prompts. The name has the version, so that several can be
// installed side by side.
type program struct {
	name     string
	packages []string // with their versions
	// unused are packages for other parts of the agent. An empty package replaces them: some are large, some are not
	// available everywhere.
	unused []string
	script []byte
	file   string // the script's name
	bun    bool   // it runs on bun, which is installed beside it
}

//go:embed peer.mjs
var treeScript []byte

//go:embed peer_pi.mjs
var piScript []byte

//go:embed peer_omp.mts
var ompScript []byte

//go:embed peer_context.mts
var contextScript []byte

var (
	pi073 = program{name: "pi-0.73.1", packages: []string{"@mariozechner/pi-coding-agent@0.73.1"}, script: treeScript, file: "peer.mjs"}
	pi15  = program{
		name: "pi-1.5.0", packages: []string{"@earendil-works/pi-coding-agent@1.5.0"}, script: piScript, file: "peer.mjs",
		unused: []string{
			"@earendil-works/pi-codemode", "@earendil-works/pi-mcp", "@earendil-works/pi-schema", "@earendil-works/pi-telemetry",
			"@earendil-works/pi-tui",
		},
	}
	omp13 = program{
		name: "omp-13.19.0", packages: []string{"@oh-my-pi/pi-coding-agent@13.19.0", "bun@1.4.4"}, script: ompScript, file: "peer.mts",
		unused: []string{"@oh-my-pi/omp-stats", "linkedom", "markit-ai", "puppeteer"}, bun: true,
	}
	omp18 = program{
		name: "omp-18.2.3", packages: []string{"@oh-my-pi/pi-coding-agent@18.2.3", "bun@1.4.4"}, script: contextScript, file: "context.mts",
		unused: []string{
			"@oh-my-pi/omp-stats", "linkedom", "markit-ai", "puppeteer-core", "@huggingface/transformers", "onnxruntime-node", "sherpa-onnx-node",
		},
		bun: true,
	}
)

// reading is a program with the script that reads sessions.
func (p program) reading() program {
	p.script, p.file = contextScript, "context.mts"
	return p
}

// folder installs the program's packages if they are missing, and returns the folder that holds node_modules. The file
// "complete" is written last, so that an interrupted installation is repeated.
func (p program) folder(opt options) (string, error) {
	dir := filepath.Join(opt.work, "npm", p.name)
	if opt.installed != "" {
		abs, err := filepath.Abs(opt.installed)
		if err != nil {
			return "", err
		}
		dir = filepath.Join(abs, p.name)
	}
	if _, err := os.Stat(filepath.Join(dir, "complete")); err != nil {
		if err := p.fetch(dir); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// install returns the command that runs the program.
func (p program) install(opt options) (*exec.Cmd, error) {
	dir, err := p.folder(opt)
	if err != nil {
		return nil, err
	}
	// The script is beside node_modules, so that imports find the packages.
	script := filepath.Join(dir, "treeline-"+p.file)
	if err := os.WriteFile(script, p.script, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command("node", script)
	if p.bun {
		bun, err := filepath.Glob(filepath.Join(dir, "node_modules", "@oven", "bun-"+runtime.GOOS+"-*", "bin", "bun"))
		if err != nil || len(bun) == 0 {
			return nil, fmt.Errorf("npm has no bun for this machine, so nothing was compared with %s", p.name)
		}
		cmd = exec.Command(bun[0], script)
	}
	cmd.Dir = dir
	return cmd, nil
}

// fetch does not run the scripts of packages.
func (p program) fetch(dir string) error {
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
	for _, name := range p.unused {
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
	fmt.Println("interop: installing", strings.Join(p.packages, " "))
	cmd := exec.Command("npm", append([]string{"install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"}, p.packages...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s cannot be installed from npm, so nothing was compared: %w\n%s", p.name, err, strings.TrimSpace(string(out)))
	}
	return os.WriteFile(filepath.Join(dir, "complete"), nil, 0o600)
}
