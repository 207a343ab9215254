package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/claude"
	"github.com/treeline-dev/treeline/dialect/codex"
	"github.com/treeline-dev/treeline/dialect/gemini"
	"github.com/treeline-dev/treeline/dialect/qwen"
	"github.com/treeline-dev/treeline/internal/interop/draft"
	"github.com/treeline-dev/treeline/internal/interop/fakeapi"
	"github.com/treeline-dev/treeline/internal/interop/projected"
)

// agent is a real program that resumes a session of its own and sends it to the stand-in.
type agent struct {
	program program
	dialect dialect.Dialect
	binary  string // pattern of its path below node_modules
	// node is the path below node_modules of the node that runs the binary, which is a script; "" is none.
	node string
	api  fakeapi.API
	// joins: the agent joins messages of one role, so that it does not count where one ends.
	joins bool
	// bound: it finds a session only in its working directory.
	bound bool
	// project reduces the body of a request to what is compared.
	project func(body []byte) ([]string, error)
	// random makes a session. own: the sessions of the dialect's tests are resumed.
	random func(seed uint64) draft.Session
	own    bool
	// place gives the file of a session below the home of a user who works in a directory.
	place func(workDir, id string) string
	// settings writes what the program needs to find the stand-in.
	settings func(home, workDir, url string) error
	env      func(url string) []string
	// model, if set, has the program ask the model that the session names, since what it sends depends on what it knows of the model.
	model func(name string) []string
	// resume is the command that continues a session, without its id.
	resume []string
	// begin and headless give the arguments that ask a prompt without a terminal: in a new session, and in the one that a
	// command continues. The command is the one that this library gives.
	begin    func(prompt string) []string
	headless func(command []string, prompt string) []string
	// addTools adds the server "treeline" with the command that follows. tool names one of its tools as the model does. first are calls
	// that the model makes before, to get to know the tools. useTools gives the arguments that ask a prompt without a terminal and let the
	// model use the tools. results reads the results of calls from a request. Without addTools it is not asked to call tools.
	addTools []string
	tool     func(name string) fakeapi.Call
	first    []fakeapi.Call
	useTools func(prompt string) []string
	results  func(body []byte) (map[string]string, error)
	// traces are patterns of what a session leaves below the home. The first is the folder of sessions.
	traces []string
	// mark, if set, is in every request with a prompt of the user, and in no other.
	mark string
	// rows, if set, is where the program keeps sessions instead of files.
	rows *table
	// skips are beginnings of the names of scenes that it cannot play, with the reason.
	skips map[string]string
	// known are scenes that differ, with the reason. They do not make the comparison fail.
	known map[string]string
}

// agents in the order in which they resume sessions.
var agents = []agent{
	{
		program: program{name: "claude-code-2.1.328", packages: []string{"@anthropic-ai/claude-code@2.1.328"}},
		dialect: claude.Claude, binary: "@anthropic-ai/claude-code-" + runtime.GOOS + "-*/claude",
		api: fakeapi.Messages, project: projected.Messages, random: draft.Claude,
		place: func(workDir, id string) string {
			return filepath.Join(".claude", "projects", notAlphanumeric.ReplaceAllString(workDir, "-"), id+".jsonl")
		},
		settings: claudeSettings,
		env: func(url string) []string {
			return []string{"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=" + claudeKey, "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}
		},
		resume: []string{"claude", "--resume"},
		begin:  func(prompt string) []string { return []string{"-p", prompt, "--output-format", "json"} },
		headless: func(command []string, prompt string) []string {
			return append(command[1:len(command):len(command)], "-p", prompt, "--output-format", "json")
		},
		addTools: []string{"mcp", "add", "--scope", "user", "treeline", "--"},
		tool:     func(name string) fakeapi.Call { return fakeapi.Call{Name: "mcp__treeline__" + name} },
		first:    []fakeapi.Call{{Name: "ToolSearch", Arguments: json.RawMessage(`{"query":"treeline sessions","max_results":10}`)}},
		useTools: func(prompt string) []string {
			return []string{"-p", prompt, "--output-format", "json", "--allowedTools", "mcp__treeline"}
		},
		results: messageResults,
		traces:  []string{".claude/projects"},
		known: map[string]string{
			"random-1041":  "the second of two calls has its only result on another branch, far behind; Claude Code makes one up",
			"random-20118": "an answer from before two compactions is written again at the end, under the same uuid",
		},
	},
	{
		program: program{name: "codex-0.169.0", packages: []string{"@openai/codex@0.169.0"}},
		dialect: codex.Codex, binary: "@openai/codex-" + runtime.GOOS + "-*/vendor/*/bin/codex",
		api: fakeapi.Responses, project: projected.Responses, random: draft.Codex,
		place: func(_, id string) string {
			return filepath.Join(".codex", "sessions", "2026", "05", "01", "rollout-2026-05-01T10-00-00-"+id+".jsonl")
		},
		settings: codexSettings,
		env:      func(string) []string { return []string{"OPENAI_API_KEY=sk-dummy"} },
		resume:   []string{"codex", "resume"},
		begin:    func(prompt string) []string { return []string{"exec", "--skip-git-repo-check", prompt} },
		headless: func(command []string, prompt string) []string {
			return slices.Concat([]string{"exec", "--skip-git-repo-check"}, command[1:], []string{prompt})
		},
		addTools: []string{"mcp", "add", "treeline", "--"},
		tool:     func(name string) fakeapi.Call { return fakeapi.Call{Namespace: "mcp__treeline", Name: name} },
		useTools: func(prompt string) []string { return []string{"exec", "--skip-git-repo-check", prompt} },
		results:  responseResults,
		traces:   []string{".codex/sessions", ".codex/archived_sessions", ".codex/*.sqlite*", ".codex/session_index.jsonl", ".codex/thread-writer-locks"},
	},
	{
		program: program{name: "gemini-cli-0.61.0", packages: []string{"@google/gemini-cli@0.61.0", nodeProgram}},
		dialect: gemini.Gemini, binary: "@google/gemini-cli/bundle/gemini.js", node: nodePackage + "/bin/node",
		api: fakeapi.Contents, joins: true, bound: true, project: projected.Contents, random: draft.Gemini,
		place: func(_, id string) string {
			return filepath.Join(".gemini", "tmp", "project", "chats", "session-2026-05-01T10-00-"+id[:8]+".jsonl")
		},
		settings: geminiSettings,
		env: func(url string) []string {
			return []string{"GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL=" + url, "GEMINI_CLI_TRUST_WORKSPACE=true", "GEMINI_TELEMETRY_ENABLED=false",
				"GEMINI_CLI_NO_RELAUNCH=true"} // it would start itself again, with more memory
		},
		resume: []string{"gemini", "--resume"},
		begin:  func(prompt string) []string { return []string{"-m", "gemini-2.5-flash", "-p", prompt} },
		headless: func(command []string, prompt string) []string {
			return append(command[1:len(command):len(command)], "-m", "gemini-2.5-flash", "-p", prompt)
		},
		traces: []string{".gemini/tmp", ".gemini/projects.json", ".gemini/history"},
	},
	{
		program: program{name: "qwen-code-0.24.4", packages: []string{"@qwen-code/qwen-code@0.24.4", nodeProgram}},
		dialect: qwen.Qwen, binary: "@qwen-code/qwen-code/cli-entry.js", node: nodePackage + "/bin/node",
		api: fakeapi.Chat, joins: true, bound: true, project: projected.Chat, random: draft.Qwen,
		place: func(workDir, id string) string {
			return filepath.Join(".qwen", "projects", notAlphanumeric.ReplaceAllString(workDir, "-"), "chats", id+".jsonl")
		},
		settings: qwenSettings,
		env: func(url string) []string {
			return []string{"OPENAI_API_KEY=dummy", "OPENAI_BASE_URL=" + url + "/v1", "OPENAI_MODEL=gpt-4o"}
		},
		resume: []string{"qwen", "--resume"},
		begin:  func(prompt string) []string { return []string{"--bare", "-p", prompt} },
		headless: func(command []string, prompt string) []string {
			return append(command[1:len(command):len(command)], "--bare", "-p", prompt)
		},
		traces: []string{".qwen/projects", ".qwen/usage_record.jsonl", ".qwen/tmp"},
	},
	openCode, copilotCLI, gooseCLI,
}

// nodePackage is the package with the node of a machine. The one that is installed there is not used: node splits lines at U+2028 and
// U+2029 from version 24 on, so that what Gemini CLI and Qwen Code read depends on it, and Qwen Code needs 22.
var (
	nodePackage = "node-" + runtime.GOOS + "-" + strings.Replace(runtime.GOARCH, "amd64", "x64", 1)
	nodeProgram = nodePackage + "@24.21.0"
)

// geminiSettings says how the program proves who it is: with the dummy key of its environment.
func geminiSettings(home, _, _ string) error {
	return writeSettings(filepath.Join(home, ".gemini"), `{"security":{"auth":{"selectedType":"gemini-api-key"}},"general":{"disableAutoUpdate":true,"enableAutoUpdate":false},"privacy":{"usageStatisticsEnabled":false}}`)
}

// qwenSettings names OpenAI's API, where the stand-in is.
func qwenSettings(home, _, _ string) error {
	return writeSettings(filepath.Join(home, ".qwen"), `{"security":{"auth":{"selectedType":"openai"}},"general":{"enableAutoUpdate":false},"privacy":{"usageStatisticsEnabled":false}}`)
}

func writeSettings(dir, text string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "settings.json"), []byte(text), 0o600)
}

// notAlphanumeric is what Claude Code replaces in the path of a working directory.
var notAlphanumeric = regexp.MustCompile(`[^A-Za-z0-9]`)

// claudeKey is no key. The program asks whether to use one, and remembers the last 20 characters of those that may be used.
const claudeKey = "sk-ant-dummy"

// claudeSettings answers what the program asks at its first start on a terminal.
func claudeSettings(home, workDir, _ string) error {
	text := fmt.Sprintf(`{"hasCompletedOnboarding":true,"theme":"dark","customApiKeyResponses":{"approved":[%q],"rejected":[]},`+
		`"projects":{%q:{"hasTrustDialogAccepted":true,"hasCompletedProjectOnboarding":true}}}`, claudeKey, workDir)
	return os.WriteFile(filepath.Join(home, ".claude.json"), []byte(text), 0o600)
}

// codexSettings names the stand-in as the provider. A failed request is not repeated.
func codexSettings(home, workDir, url string) error {
	dir := filepath.Join(home, ".codex")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	text := fmt.Sprintf(`model = "gpt-5"
model_provider = %[1]q
[model_providers.%[1]s]
name = %[1]q
base_url = %[2]q
wire_api = "responses"
env_key = "OPENAI_API_KEY"
request_max_retries = 0
stream_max_retries = 0
[projects.%[3]q]
trust_level = "trusted"
`, draft.CodexProvider, url+"/v1", workDir)
	return os.WriteFile(filepath.Join(dir, "config.toml"), []byte(text), 0o600)
}

// find installs the program and gives the path of its binary.
func (a agent) find(opt options) (string, error) {
	dir, err := a.program.folder(opt)
	if err != nil {
		return "", err
	}
	found, err := filepath.Glob(filepath.Join(dir, "node_modules", filepath.FromSlash(a.binary)))
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("npm has no %s for this machine", a.program.name)
	}
	if a.node == "" {
		return found[0], nil
	}
	return a.wrap(dir, found[0])
}

// wrap writes a script that runs the program with its node. It has the program's name, and a folder of its own that can be in PATH.
func (a agent) wrap(dir, program string) (string, error) {
	node, err := filepath.Abs(filepath.Join(dir, "node_modules", filepath.FromSlash(a.node)))
	if err == nil {
		_, err = os.Stat(node)
	}
	if err != nil {
		return "", fmt.Errorf("there is no node for %s: %w", a.program.name, err)
	}
	if program, err = filepath.Abs(program); err != nil {
		return "", err
	}
	script, err := filepath.Abs(filepath.Join(dir, "run", a.resume[0]))
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(script), 0o700); err != nil {
		return "", err
	}
	return script, os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\nexec '%s' '%s' \"$@\"\n", node, program), 0o700)
}
