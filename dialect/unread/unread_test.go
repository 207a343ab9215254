package unread_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/unread"
	"github.com/treeline-dev/treeline/internal/difftest"
)

// TestFind: agents are found in the folders of each operating system, and in those that the environment names.
func TestFind(t *testing.T) {
	for _, c := range []struct {
		name, goos string
		env        map[string]string
		exists     []string // below the home directory
		want       []string
	}{
		{"nothing", "linux", nil, nil, nil},
		{"folders of the home directory", "linux", nil,
			[]string{".factory/sessions", ".local/share/amp/threads", ".continue/sessions", ".kiro/sessions", ".codeium/windsurf/cascade", ".augment/sessions", ".cursor/chats", ".claude/projects"},
			[]string{"Amp .local/share/amp/threads", "Augment .augment/sessions", "Continue .continue/sessions", "Cursor .cursor/chats", "Droid .factory/sessions",
				"Kiro .kiro/sessions", "Windsurf .codeium/windsurf/cascade"}},
		{"editors on Linux", "linux", nil,
			[]string{".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks", ".config/Cursor/User/globalStorage/rooveterinaryinc.roo-cline/tasks", ".local/share/zed/threads"},
			[]string{"Cline .config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks", "Roo Code .config/Cursor/User/globalStorage/rooveterinaryinc.roo-cline/tasks", "Zed .local/share/zed/threads"}},
		{"editors on macOS", "darwin", map[string]string{"XDG_CONFIG_HOME": "/home/elsewhere"},
			[]string{"Library/Application Support/VSCodium/User/globalStorage/kilocode.kilo-code/tasks", "Library/Application Support/Zed/threads", ".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks"},
			[]string{"Kilo Code Library/Application Support/VSCodium/User/globalStorage/kilocode.kilo-code/tasks", "Zed Library/Application Support/Zed/threads"}},
		{"editors on Windows", "windows", map[string]string{"APPDATA": "/home/roaming"},
			[]string{"roaming/Cursor/User/globalStorage/state.vscdb", "AppData/Local/Zed/threads", "AppData/Roaming/Code/User/globalStorage/github.copilot-chat"},
			[]string{"Cursor roaming/Cursor/User/globalStorage/state.vscdb", "Zed AppData/Local/Zed/threads"}},
		{"one folder for names that differ in case", "linux", nil, []string{".local/share/zed/threads", ".local/share/Zed/threads"}, []string{"Zed .local/share/zed/threads"}},
		{"the working directory", "linux", nil, []string{"project/.aider.chat.history.md"}, []string{"Aider project/.aider.chat.history.md"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			exists := map[string]bool{}
			for _, path := range c.exists {
				exists[filepath.Join("/home", path)] = true
			}
			env := dialect.Env{Home: "/home", WorkDir: "/home/project", Getenv: func(key string) string { return c.env[key] },
				Access: func(path string) (bool, bool, bool) { return exists[path], true, true }}
			var got []string
			for _, a := range unread.Find(env, c.goos) {
				got = append(got, a.Name+" "+strings.TrimPrefix(filepath.ToSlash(a.Path), "/home/"))
			}
			if diff := difftest.Diff(c.want, got); diff != "" {
				t.Errorf("agents (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFindNothing: without access to files nothing is known.
func TestFindNothing(t *testing.T) {
	if got := unread.Find(dialect.Env{Home: "/home"}, "linux"); got != nil {
		t.Errorf("found %v", got)
	}
}
