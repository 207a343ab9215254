package main

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	rowsgoose "github.com/treeline-dev/treeline/backend/rows/goose"
	"github.com/treeline-dev/treeline/dialect/goose"
	"github.com/treeline-dev/treeline/internal/interop/draft"
	"github.com/treeline-dev/treeline/internal/interop/fakeapi"
	"github.com/treeline-dev/treeline/internal/interop/projected"
)

// goosePackage is the package with the program for a machine.
var goosePackage = "@aaif/goose-binary-" + runtime.GOOS + "-" + strings.Replace(runtime.GOARCH, "amd64", "x64", 1)

// gooseCLI resumes sessions of its database.
var gooseCLI = agent{
	program: program{name: "goose-1.52.0", packages: []string{goosePackage + "@1.52.0"}},
	dialect: goose.Goose, binary: goosePackage + "/bin/goose",
	api: fakeapi.Chat, project: projectGoose, random: draft.Goose, mark: `<turn-context>`,
	rows: &table{
		database: filepath.Join(".local", "share", "goose", "sessions", "sessions.db"), tables: rowsgoose.Tables, directory: "working_dir",
		own: func(log []byte, n int) []byte {
			return bytes.ReplaceAll(log, []byte("20260301_"), fmt.Appendf(nil, "202603%02d_", n))
		},
	},
	settings: func(string, string, string) error { return nil },
	env: func(url string) []string {
		return []string{"GOOSE_PROVIDER=openai", "GOOSE_MODEL=gpt-4o", "OPENAI_HOST=" + url, "OPENAI_API_KEY=dummy", "GOOSE_DISABLE_KEYRING=1", "GOOSE_TELEMETRY_ENABLED=false"}
	},
	model: func(name string) []string {
		// It knows models by their providers, and here all are OpenAI's; those of gpt-5 and o1 speak another API. gpt-4o sees pictures, as they do.
		for _, other := range []string{"claude-", "gemini-", "gpt-5", "o1", "o3", "o4"} {
			if strings.HasPrefix(name, other) {
				name = "gpt-4o"
			}
		}
		return []string{"GOOSE_MODEL=" + cmp.Or(name, "unknown")}
	},
	resume: []string{"goose", "session", "--resume", "--session-id"},
	begin:  func(prompt string) []string { return []string{"run", "-t", prompt} },
	headless: func(command []string, prompt string) []string {
		id := command[slices.Index(command, "--session-id")+1]
		return []string{"run", "--session-id", id, "-r", "-t", prompt}
	},
	known: map[string]string{
		"random-2": gooseJoins, "random-40": gooseJoins, "random-44": gooseJoins, "random-45": gooseJoins, "random-55": gooseJoins,
		"random-56": gooseJoins,
	},
}

// gooseJoins is why some random sessions differ.
const gooseJoins = "white space between the texts of neighbouring answers"

// elsewhere is the text of a result whose picture is in the next message.
const elsewhere = "\n\t\ttext \"This tool result included an image that is uploaded in the next message.\""

// projectGoose is projected.Chat, with pictures moved into the results that they belong to.
func projectGoose(body []byte) ([]string, error) {
	list, err := projected.Chat(body)
	for i := 0; i+1 < len(list); i++ {
		picture, ok := strings.CutPrefix(list[i+1], "user\n\timage ")
		if before, found := strings.CutSuffix(list[i], elsewhere); found && ok {
			list = slices.Replace(list, i, i+2, before+"\n\timage "+picture)
		}
	}
	return list, err
}
