// Package unread recognises agents without a dialect by the folders that they leave on a machine, so that treeline can report
// sessions that it cannot read.
//
// The folders are those that are publicly documented by the programs or their users. A folder is listed only if it belongs to one agent
// alone and holds its conversations.
package unread

import (
	"path/filepath"
	"slices"

	"github.com/treeline-dev/treeline/dialect"
)

// Agent is an agent that was found.
type Agent struct {
	Name string
	Path string // the folder by which it was found
}

// base is a folder of the machine that contains agents' folders.
type base int

const (
	home   base = iota // the user's
	config             // settings of programs
	data               // data of programs
	editor             // data of editor extensions, in each editor that is based on VS Code
	work               // the working directory
)

// agents are folders, or files, by which an agent is recognised. Entries of the same agent are consecutive.
var agents = []struct {
	name string
	in   base
	path string
}{
	{"Aider", work, ".aider.chat.history.md"},
	{"Aider", home, ".aider"},
	{"Amazon Q", data, "amazon-q"},
	{"Amp", home, ".local/share/amp/threads"},
	{"Antigravity", home, ".gemini/antigravity/conversations"},
	{"Augment", home, ".augment/sessions"},
	{"Cline", editor, "saoudrizwan.claude-dev/tasks"},
	{"Cline", home, ".cline/data/tasks"},
	{"Codebuff", home, ".config/manicode/projects"},
	{"Continue", home, ".continue/sessions"},
	{"Copilot in VS Code", editor, "github.copilot-chat"},
	{"Cursor", home, ".cursor/chats"},
	{"Cursor", config, "Cursor/User/globalStorage/state.vscdb"},
	{"Droid", home, ".factory/sessions"},
	{"Kilo Code", editor, "kilocode.kilo-code/tasks"},
	{"Kimi", home, ".kimi/sessions"},
	{"Kiro", home, ".kiro/sessions"},
	{"Kiro", data, "kiro-cli"},
	{"Kiro", config, "Kiro/User/globalStorage/kiro.kiroagent"},
	{"OpenClaw", home, ".openclaw/agents"},
	{"Roo Code", editor, "rooveterinaryinc.roo-cline/tasks"},
	{"Windsurf", home, ".codeium/windsurf/cascade"},
	{"Zed", data, "zed/threads"},
	{"Zed", data, "Zed/threads"}, // on macOS and Windows
}

// editors are the folders of VS Code and of editors that are based on it.
var editors = []string{"Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf", "Kiro"}

// Find returns the agents of a machine, one for each folder that exists. goos is its operating system, as runtime.GOOS names it.
func Find(env dialect.Env, goos string) (list []Agent) {
	if env.Access == nil {
		return nil
	}
	for _, a := range agents {
		for _, dir := range dirs(a.in, env, goos) {
			found := Agent{a.name, filepath.Join(dir, filepath.FromSlash(a.path))}
			exists, _, _ := env.Access(found.Path)
			// A file system that ignores case finds the same folder under names that differ only in case.
			if exists && !slices.ContainsFunc(list, func(o Agent) bool { return o.Name == found.Name && a.in == data }) {
				list = append(list, found)
			}
		}
	}
	return list
}

// dirs returns the folders that a base stands for.
func dirs(in base, env dialect.Env, goos string) (list []string) {
	// variable gives a folder that the environment names, or else one below the user's home.
	variable := func(name, otherwise string) string {
		if env.Getenv != nil {
			if dir := env.Getenv(name); filepath.IsAbs(dir) {
				return dir
			}
		}
		return filepath.Join(env.Home, filepath.FromSlash(otherwise))
	}
	switch in {
	case home:
		return []string{env.Home}
	case work:
		return []string{env.WorkDir}
	case editor:
		for _, dir := range dirs(config, env, goos) {
			for _, name := range editors {
				list = append(list, filepath.Join(dir, name, "User", "globalStorage"))
			}
		}
		return list
	}
	switch goos {
	case "windows":
		if in == data {
			return []string{variable("LOCALAPPDATA", "AppData/Local")}
		}
		return []string{variable("APPDATA", "AppData/Roaming")}
	case "darwin":
		return []string{filepath.Join(env.Home, "Library", "Application Support")}
	}
	if in == data {
		return []string{variable("XDG_DATA_HOME", ".local/share")}
	}
	return []string{variable("XDG_CONFIG_HOME", ".config")}
}
