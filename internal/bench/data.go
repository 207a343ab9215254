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

// session gives the session that most rows are about: 100 MB, about 58,000 entries, one compaction in 400.
// It is made once and kept in memory, for the rows that need no file.
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

// write puts a generated session into a file.
// gen.Write needs the memory of one record only, so a child's memory is not spoilt by the parent's.
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

// chain gives a session of short messages without branches, for what depends on the number of entries alone.
// The records are as short as they can be, so that the number of entries is all that there is to measure.
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

// newStore gives a store as the program assembles it, over the folders that are named: read-only, without an index and
// with an empty environment, so that only what is measured costs anything.
func (b *bench) newStore(roots ...string) *treeline.Store {
	s, err := treeline.New(treeline.Options{
		Home: b.dir, WorkDir: b.dir, Getenv: func(string) string { return "" }, Roots: roots, ReadOnly: true, NoConfig: true,
	})
	if err != nil {
		panic(err) // it opens nothing yet
	}
	return s
}

// envelope is the least that a program must know of an entry to place it in the tree, with the message left as it is.
// Other programs decode at least this much, so it is the fair thing to be held against.
type envelope struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	ParentID  *string         `json:"parentId"`
	Timestamp string          `json:"timestamp"`
	Message   json.RawMessage `json:"message"`
}

// encodingJSON measures the baseline once: the standard library decodes the session's lines, which are in memory. It is
// measured piece by piece, because a long run is never as lucky as the short ones that are held against it.
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

// slowJSON is how fast encoding/json is on the machine where other programs were measured, in GB per CPU second. Figures
// of that machine are scaled by what it does here.
const slowJSON = 0.086
