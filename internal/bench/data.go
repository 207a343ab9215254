package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/internal/gen"
)

// session returns the session of most rows: 100 MB, about 58,000 entries, one compaction in 400. It is made once and kept in
// memory, for the rows that need no file.
func (b *bench) session() (path string, log []byte) {
	path = filepath.Join(b.dir, "session.jsonl")
	if b.log == nil {
		b.log = gen.Session(gen.Options{Seed: 1, Bytes: int64(b.size(100_000_000)), Branches: 20})
		check(os.WriteFile(path, b.log, 0o600))
	}
	return path, b.log
}

// write writes a generated session to a file, with the memory of one record.
func write(path string, o gen.Options) {
	f := must(os.Create(path))
	check(errors.Join(gen.Write(f, o), f.Close()))
}

// chain returns a session of short messages without branches, for rows that depend on the number of entries only.
func (b *bench) chain(entries int) (path string) {
	var log bytes.Buffer
	log.WriteString(`{"type":"session","version":3,"id":"chain","timestamp":"2026-01-05T08:00:00.000Z","cwd":"/"}` + "\n")
	parent := "null"
	for i := range entries {
		role := "user"
		if i%2 == 1 {
			role = `assistant","provider":"p","model":"m`
		}
		id := fmt.Sprintf(`"%08x"`, i+1)
		fmt.Fprintf(&log, `{"type":"message","id":%s,"parentId":%s,"timestamp":"2026-01-05T08:00:00.000Z",`+
			`"message":{"role":"%s","content":"text"}}`+"\n", id, parent, role)
		parent = id
	}
	path = filepath.Join(b.dir, fmt.Sprintf("chain-%d.jsonl", entries))
	check(os.WriteFile(path, log.Bytes(), 0o600))
	return path
}

// newStore returns a read-only store over some folders, without an index and with an empty environment.
func (b *bench) newStore(roots ...string) *treeline.Store {
	return must(treeline.New(treeline.Options{
		Home: b.dir, WorkDir: b.dir, Getenv: func(string) string { return "" }, Roots: roots, NoConfig: true, ReadOnly: true,
	}))
}

// envelope is the least that a program must decode of an entry to place it in the tree.
type envelope struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	ParentID  *string         `json:"parentId"`
	Timestamp string          `json:"timestamp"`
	Message   json.RawMessage `json:"message"`
}

// encodingJSON measures the baseline once: the standard library decodes the lines of the session, which are in memory, piece
// by piece.
func (b *bench) encodingJSON() time.Duration {
	if b.jsonTime > 0 {
		return b.jsonTime
	}
	_, rest := b.session()
	// cut at the ends of lines
	for piece := len(rest)/10 + 1; len(rest) > 0; {
		part := rest
		if len(part) > piece {
			part = part[:piece+bytes.IndexByte(part[piece:], '\n')+1]
		}
		rest = rest[len(part):]
		b.jsonTime += b.best(func() {
			for line := range bytes.Lines(part) {
				var e envelope
				check(json.Unmarshal(line, &e))
			}
		})
	}
	return b.jsonTime
}

// scale returns the speed of this machine relative to the one for which limits in seconds are set.
func (b *bench) scale() float64 {
	_, log := b.session()
	return speed(len(log), b.encodingJSON()) / slowJSON
}

// slowJSON is the speed of encoding/json on the machine where other programs were measured, in GB per CPU second. Figures of
// that machine are scaled by the speed here.
const slowJSON = 0.086
