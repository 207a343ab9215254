package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	rowsopencode "github.com/treeline-dev/treeline/backend/rows/opencode"
	"github.com/treeline-dev/treeline/dialect/opencode"
	"github.com/treeline-dev/treeline/internal/interop/fakeapi"
	"github.com/treeline-dev/treeline/internal/interop/projected"
)

// openCode resumes sessions of its database.
var openCode = agent{
	program: program{name: "opencode-1.18.33", packages: []string{"opencode-ai@1.18.33"}},
	dialect: opencode.OpenCode, binary: "opencode-" + runtime.GOOS + "-" + map[string]string{"amd64": "x64"}[runtime.GOARCH] + "*/bin/opencode",
	api: fakeapi.Chat, project: projected.Chat,
	rows: &table{
		database: filepath.Join(".local", "share", "opencode", "opencode.db"), tables: rowsopencode.Tables, directory: "directory",
		// Ids are unique in the database, but the same in all fixtures. The model is the one of the stand-in.
		own: func(log []byte, n int) []byte {
			for _, id := range []string{"Fixtur0", "Fixture", "abcdefghi"} { // of messages, sessions and parts
				log = bytes.ReplaceAll(log, []byte(id), fmt.Appendf(nil, "%s%03d%s", id[:len(id)-4], n, id[len(id)-1:]))
			}
			return bytes.ReplaceAll(log, []byte(`"modelID":"m1"`), []byte(`"modelID":"fake"`))
		},
	},
	settings: func(home, _, url string) error {
		dir := filepath.Join(home, ".config", "opencode")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		text := fmt.Sprintf(`{"model":"fake/fake","small_model":"fake/fake","autoupdate":false,"share":"disabled","provider":{"fake":{"npm":"@ai-sdk/openai-compatible",
"options":{"baseURL":%q,"apiKey":"none"},"models":{"fake":{"attachment":true,"modalities":{"input":["text","image"],"output":["text"]}}}}}}`, url+"/v1")
		return os.WriteFile(filepath.Join(dir, "opencode.json"), []byte(text), 0o600)
	},
	env: func(string) []string {
		return []string{"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_AUTOUPDATE=1"}
	},
	resume: []string{"opencode", "--session"},
	begin:  func(prompt string) []string { return []string{"run", prompt} },
	headless: func(command []string, prompt string) []string {
		return append(append([]string{"run", "--model", "fake/fake"}, command[1:]...), prompt)
	},
}
