package main

import (
	"path/filepath"
	"runtime"
	"strings"

	"github.com/treeline-dev/treeline/dialect/copilot"
	"github.com/treeline-dev/treeline/internal/interop/draft"
	"github.com/treeline-dev/treeline/internal/interop/fakeapi"
	"github.com/treeline-dev/treeline/internal/interop/projected"
)

// copilotCLI resumes sessions of GitHub's Copilot CLI. It unpacks itself into its home, once.
var copilotCLI = agent{
	program: program{name: "copilot-1.0.102", packages: []string{"@github/copilot@1.0.102"}},
	dialect: copilot.Copilot, binary: "@github/copilot-" + runtime.GOOS + "-*/copilot",
	api: fakeapi.Chat, project: projectCopilot, random: draft.Copilot, own: true,
	place: func(_, id string) string {
		return filepath.Join(".copilot", "session-state", id, "events.jsonl")
	},
	settings: func(string, string, string) error { return nil },
	env: func(url string) []string {
		return []string{"COPILOT_OFFLINE=true", "COPILOT_PROVIDER_BASE_URL=" + url + "/v1", "COPILOT_PROVIDER_API_KEY=dummy", "COPILOT_MODEL=gpt-5", "COPILOT_AUTO_UPDATE=false"}
	},
	resume: []string{"copilot", "--resume"},
	begin:  func(prompt string) []string { return []string{"-p", prompt, "--allow-all-tools"} },
	headless: func(command []string, prompt string) []string {
		return append(command[1:len(command):len(command)], "-p", prompt, "--allow-all-tools")
	},
	traces: []string{".copilot/session-state", ".copilot/session-store.db*", ".copilot/logs"},
	skips: map[string]string{
		"abandoned": "its sessions have no branches",
		"terminal":  "its screen never rests, so that a prompt cannot be typed when it is ready",
	},
	known: map[string]string{
		"own-images.jsonl": "the program adds captions to pictures, and looks for the file that is attached, which does not exist here",
	},
}

// projectCopilot is projected.Chat without the caption of pictures that have no name.
func projectCopilot(body []byte) ([]string, error) {
	list, err := projected.Chat(body)
	for i := range list {
		list[i] = strings.ReplaceAll(list[i], "\n\ttext \"Attached image\"\n\timage ", "\n\timage ")
	}
	return list, err
}
