package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/rows"
	rowsopencode "github.com/treeline-dev/treeline/backend/rows/opencode"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/opencode"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/interop/fakeapi"
	"github.com/treeline-dev/treeline/internal/litefile"
	"github.com/treeline-dev/treeline/internal/rawjson"
)

// openCode resumes sessions of its database.
var openCode = agent{
	program: program{name: "opencode-1.18.33", packages: []string{"opencode-ai@1.18.33"}},
	dialect: opencode.OpenCode, binary: "opencode-" + runtime.GOOS + "-" + map[string]string{"amd64": "x64"}[runtime.GOARCH] + "*/bin/opencode",
	api: fakeapi.Chat, project: projectChat, database: filepath.Join(".local", "share", "opencode", "opencode.db"),
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

// ownRows are the scenes of sessions that the tests of the dialect read, put into the database.
func ownRows() (list []scene, err error) {
	files, err := filepath.Glob(filepath.Join("dialect", "opencode", "testdata", "opencode", "*.jsonl"))
	for i, file := range files {
		list = append(list, scene{name: "own-" + filepath.Base(file), lay: func(ctx context.Context, d *desk) (c treeline.ResumeCommand, err error) {
			log, err := os.ReadFile(file)
			if err != nil {
				return c, err
			}
			// Ids are unique in the database, and the same in all fixtures.
			log = bytes.ReplaceAll(bytes.ReplaceAll(log, []byte("Fixtur0"), fmt.Appendf(nil, "Fix%03d0", i)), []byte("abcdefghi"), fmt.Appendf(nil, "abcdef%03d", i))
			log = bytes.ReplaceAll(log, []byte(`"modelID":"m1"`), []byte(`"modelID":"fake"`)) // the model that is asked
			var records [][]byte
			for line := range bytes.Lines(log) {
				records = append(records, bytes.TrimSuffix(line, []byte{'\n'}))
			}
			// The program wants the directory to exist.
			row := rawjson.Get(records[0], "session")
			records[0] = rawjson.Set(records[0], "session", rawjson.Set(row, "directory", rawjson.Quote(d.workDir)))
			id := rawjson.Str(row, "id")
			path := filepath.Join(d.home, d.database)
			b := rows.New(rows.NewDatabase(path, rowsopencode.Tables(), rows.Options{}), ".jsonl", false)
			defer b.Close()
			if _, err := b.Create(ctx, id+".jsonl", records...); errors.Is(err, backend.ErrRecord) || litefile.IsSQLite(err) {
				return c, nil // a damaged fixture is no session of the database
			} else if err != nil {
				return c, err
			}
			return treeline.ResumeCommand{Path: filepath.Join(path, id+".jsonl"), Launch: dialect.Launch{Args: append(d.resume[:1:1], "--session", id)}}, nil
		}})
	}
	return list, err
}

// housed gives all sessions of the database a directory that exists: the program refuses others.
func (d *desk) housed(ctx context.Context) error {
	db, err := litefile.Write(durable.OS{}, filepath.Join(d.home, d.database), litefile.Writing{Busy: 5 * time.Second})
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, `UPDATE session SET directory = ? WHERE directory <> ?`, d.workDir, d.workDir)
	return err
}
