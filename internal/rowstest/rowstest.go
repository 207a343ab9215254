// Package rowstest compares the sessions in tables with what their programs sent.
package rowstest

import (
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/rows"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/session"
)

// Sent compares what the model would see of sessions in tables with what their program sent. The folder of the agent in the corpus has
// rows, NAME.rows.json, and schema.sql. The rows pass through a database.
func Sent(t *testing.T, agent string, tables rows.Tables, s dialecttest.Sent) {
	t.Helper()
	dir, logs := dialecttest.Corpus(t, agent), t.TempDir()
	cases, err := filepath.Glob(filepath.Join(dir, "*.rows.json"))
	if err != nil || len(cases) == 0 {
		t.Fatal(cases, err)
	}
	schema, err := os.ReadFile(filepath.Join(dir, "schema.sql"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range cases {
		name := strings.TrimSuffix(filepath.Base(file), ".rows.json")
		text := rowsLog(t, tables, string(schema), file)
		sent, err := os.ReadFile(filepath.Join(dir, name+".sent.json"))
		if err != nil {
			t.Fatal(err)
		}
		for ext, content := range map[string][]byte{".jsonl": text, ".sent.json": sent} {
			if err := os.WriteFile(filepath.Join(logs, name+ext), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.Member = "messages"
	s.Dialect = plain{s.Dialect, s.Dialect.(dialect.Parter)}
	s.Run(t, logs)
}

// plain splits messages as far as the chat-completions interface allows: it does not tell whether a tool failed.
type plain struct {
	dialect.Dialect
	dialect.Parter
}

func (p plain) MessageParts(m []byte) []session.Part {
	parts := p.Parter.MessageParts(m)
	for i := range parts {
		if r, ok := parts[i].(session.ToolResult); ok {
			r.IsError = false
			parts[i] = r
		}
	}
	return parts
}

// rowsLog makes a database of rows and reads the session in it.
func rowsLog(t *testing.T, of rows.Tables, schema, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var tables map[string][]map[string]json.RawMessage
	if err := json.Unmarshal(content, &tables); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "sessions.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(schema); err != nil {
		t.Fatal(err)
	}
	id := ""
	for table, list := range tables {
		for _, row := range list {
			var names, marks []string
			var args []any
			for name, v := range row {
				names, marks, args = append(names, `"`+name+`"`), append(marks, "?"), append(args, cell(t, v))
			}
			if _, err := db.Exec(`INSERT INTO `+table+` (`+strings.Join(names, ",")+`) VALUES (`+strings.Join(marks, ",")+`)`, args...); err != nil {
				t.Fatal(err)
			}
			if table == of.Session.Name {
				id = cell(t, row["id"]).(string)
			}
		}
	}
	b := rows.New(rows.NewDatabase(path, of, rows.Options{}), ".jsonl", true)
	defer b.Close()
	at, err := b.Stat(t.Context(), id+".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	listed := slices.Collect(func(yield func(backend.Log) bool) {
		for l, err := range b.List(t.Context(), id) {
			if err != nil || !yield(l) {
				return
			}
		}
	})
	if len(listed) != 1 || listed[0] != at {
		t.Errorf("listed %v; is %v", listed, at)
	}
	text, err := backend.ReadAll(t.Context(), b, at)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// cell reads the value of a column.
func cell(t *testing.T, value json.RawMessage) (v any) {
	t.Helper()
	if err := json.Unmarshal(value, &v); err != nil {
		t.Fatal(err)
	}
	if n, ok := v.(float64); ok && n == float64(int64(n)) {
		return int64(n)
	}
	return v
}
