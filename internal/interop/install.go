package main

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/treeline-dev/treeline/internal/npm"
)

// program is the part of a real agent that handles sessions and prompts. The name has the version, so that several can be
// installed side by side.
type program struct {
	name     string
	packages []string // with their versions
	unused   []string // packages for parts of the agent that are not used here
	script   []byte
	file     string // the script's name
	bun      bool   // it runs on bun, which is installed beside it
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
	pi15  = program{name: "pi-1.5.2", packages: []string{npm.Pi}, script: piScript, file: "peer.mjs", unused: npm.PiUnused()}
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

// reading returns the program with the script that reads sessions.
func (p program) reading() program {
	p.script, p.file = contextScript, "context.mts"
	return p
}

// folder installs the program's packages if they are missing, and returns the folder that holds node_modules.
func (p program) folder(opt options) (string, error) {
	dir := filepath.Join(opt.work, "npm", p.name)
	if opt.installed != "" {
		abs, err := filepath.Abs(opt.installed)
		if err != nil {
			return "", err
		}
		dir = filepath.Join(abs, p.name)
	}
	fmt.Println("interop:", strings.Join(p.packages, " "), "in", dir)
	if err := npm.Install(dir, p.unused, p.packages...); err != nil {
		return "", fmt.Errorf("%s cannot be installed, so nothing was compared: %w", p.name, err)
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
