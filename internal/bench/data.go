package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/internal/gen"
)

// session returns the session of most rows: 100 MB, about 58,000 entries, one compaction in 400. It is made once and kept in
// memory, for the rows that need no file.
func (b *bench) session() (path string, log []byte, err error) {
	path = filepath.Join(b.dir, "session.jsonl")
	if b.log != nil {
		return path, b.log, nil
	}
	size := int64(100_000_000)
	if b.quick {
		size /= 10
	}
	b.log = gen.Session(gen.Options{Seed: 1, Bytes: size, Branches: 20})
	return path, b.log, os.WriteFile(path, b.log, 0o600)
}

// write writes a generated session to a file, with the memory of one record.
func (b *bench) write(name string, o gen.Options) (path string, err error) {
	path = filepath.Join(b.dir, name)
	f, err := os.Create(path)
	if err != nil {
		return "", err
	}
	err = gen.Write(f, o)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return path, err
}

// chain returns a session of short messages without branches, for rows that depend on the number of entries only.
func (b *bench) chain(entries int) (path string, err error) {
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
	return path, os.WriteFile(path, log.Bytes(), 0o600)
}

// newStore returns a read-only store over some folders, without an index and with an empty environment.
func (b *bench) newStore(roots ...string) (*treeline.Store, error) {
	return treeline.New(treeline.Options{
		Home: b.dir, WorkDir: b.dir, Getenv: func(string) string { return "" }, Roots: roots, NoConfig: true, ReadOnly: true,
	})
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
func (b *bench) encodingJSON() (time.Duration, error) {
	if b.jsonTime > 0 {
		return b.jsonTime, nil
	}
	_, rest, err := b.session()
	if err != nil {
		return 0, err
	}
	total := time.Duration(0)
	// cut at the ends of lines
	for piece := len(rest)/10 + 1; len(rest) > 0; {
		part := rest
		if len(part) > piece {
			part = part[:piece+bytes.IndexByte(part[piece:], '\n')+1]
		}
		rest = rest[len(part):]
		d, err := b.best(func() error {
			for line := range bytes.Lines(part) {
				var e envelope
				if err := json.Unmarshal(line, &e); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
		total += d
	}
	b.jsonTime = total
	return total, nil
}

// slowJSON is the speed of encoding/json on the machine where other programs were measured, in GB per CPU second. Figures of
// that machine are scaled by the speed here.
const slowJSON = 0.086
