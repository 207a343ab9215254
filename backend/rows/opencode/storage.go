package opencode

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/rows"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/sorting"
)

// storage is the Schema of the files that older versions kept instead of a database,
//
//	storage/session/<project>/<session>.json
//	storage/message/<session>/<message>.json
//	storage/part/<message>/<part>.json
//
// as records of the same form. The program does not read them any more, so that nothing is written. A session that the
// database has is not listed here.
type storage struct {
	dir   string
	newer *rows.Database
}

// newStorage returns the Schema of a folder storage. The database lies beside it.
func newStorage(dir string) *storage {
	return &storage{dir: dir, newer: rows.NewDatabase(filepath.Join(filepath.Dir(dir), "opencode.db"), Tables(), rows.Options{})}
}

// StorageDriver opens folders of such files.
func StorageDriver() backend.Driver {
	return backend.Driver{Name: "opencode-storage", Claims: func(dir string) bool {
		dir = filepath.Clean(dir)
		return filepath.Base(dir) == "storage" && filepath.Base(filepath.Dir(dir)) == "opencode"
	}, Open: func(dir string, _ backend.OpenOptions) (backend.Backend, error) {
		return rows.New(newStorage(dir), ".jsonl", true), nil
	}}
}

// Close closes the database.
func (s *storage) Close() error { return s.newer.Close() }

// ids returns the names of the JSON files in a folder, without their ending. A folder that does not exist has none.
func ids(dir string) (list []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), ".json"); ok && e.Type().IsRegular() {
			list = append(list, id)
		}
	}
	return list, err
}

// List implements rows.Schema.
func (s *storage) List(ctx context.Context) ([]string, error) {
	projects, err := os.ReadDir(filepath.Join(s.dir, "session"))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, err
	}
	known, err := s.newer.List(ctx)
	if err != nil {
		return nil, err
	}
	have := map[string]bool{}
	for _, id := range known {
		have[id] = true
	}
	var list []string
	for _, p := range projects {
		if p.Type().IsRegular() {
			continue // such as .DS_Store
		}
		found, err := ids(filepath.Join(s.dir, "session", p.Name()))
		if err != nil {
			return nil, err
		}
		list = append(list, slices.DeleteFunc(found, func(id string) bool { return have[id] })...)
	}
	return list, nil
}

// object reads a file that holds an object. A file that is being written is read again by the next look.
func object(path string) ([]byte, error) {
	text, err := durable.ReadRegular(path)
	if err != nil {
		return nil, err
	}
	if text = bytes.TrimSpace(text); !rawjson.IsObject(text) || !rawjson.Valid(text) {
		return nil, &backend.DamageError{File: path, Line: 1, Message: "it is not a JSON object", Advice: "the file was not changed"}
	}
	return rawjson.EscapeBreaks(rawjson.Compact(text)), nil
}

// Load implements rows.Schema.
func (s *storage) Load(ctx context.Context, id string) (rows.Session, error) {
	if backend.CheckName(id) != nil || strings.ContainsAny(id, `/\`) {
		return rows.Session{}, fmt.Errorf("%s: %w", id, backend.ErrName)
	}
	files, err := filepath.Glob(filepath.Join(s.dir, "session", "*", escaped(id)+".json"))
	if err != nil || len(files) == 0 {
		return rows.Session{}, errors.Join(err, fmt.Errorf("%s: %w", id, backend.ErrNotExist))
	}
	switch _, err := s.newer.Load(ctx, id); {
	case err == nil:
		return rows.Session{}, fmt.Errorf("%s: %w: the database has it", id, backend.ErrNotExist)
	case !errors.Is(err, backend.ErrNotExist):
		return rows.Session{}, err // the database may have the session, and a newer state of it
	}
	info, err := object(files[0])
	if err != nil {
		return rows.Session{}, err
	}
	times := rawjson.Get(info, "time")
	out := rows.Session{ID: id, Header: header(id, info, times), Time: time.UnixMilli(number(rawjson.Get(times, "updated"))).UTC()}
	messages, err := ids(filepath.Join(s.dir, "message", id))
	if err != nil {
		return rows.Session{}, err
	}
	type message struct {
		at     int64
		id     string
		record []byte
	}
	var list []message
	for _, m := range messages {
		data, err := object(filepath.Join(s.dir, "message", id, m+".json"))
		if err != nil {
			return rows.Session{}, err
		}
		at := number(rawjson.Get(rawjson.Get(data, "time"), "created"))
		parts, err := s.parts(id, m, at)
		if err != nil {
			return rows.Session{}, err
		}
		list = append(list, message{at, m, slices.Concat([]byte(`{"message":`), row(id, "", m, at, data), []byte(`,"part":[`), parts, []byte(`]}`))})
	}
	sorting.By(list, func(a, b message) int { return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.id, b.id)) })
	h := sha256.New()
	h.Write(out.Header)
	for _, m := range list {
		h.Write(m.record)
		out.Messages = append(out.Messages, m.record)
	}
	out.Version = hex.EncodeToString(h.Sum(nil)[:12])
	return out, nil
}

// parts returns the parts of a message, ordered by their ids.
func (s *storage) parts(session, message string, at int64) ([]byte, error) {
	list, err := ids(filepath.Join(s.dir, "part", message))
	if err != nil {
		return nil, err
	}
	slices.Sort(list)
	var out [][]byte
	for _, id := range list {
		data, err := object(filepath.Join(s.dir, "part", message, id+".json"))
		if err != nil {
			return nil, err
		}
		out = append(out, row(session, message, id, at, data))
	}
	return bytes.Join(out, []byte(",")), nil
}

// header returns the row of a session as the database would have it.
func header(id string, info, times []byte) []byte {
	text := func(key string) []byte { return rawjson.Quote(rawjson.Str(info, key)) }
	o := []byte("{}")
	set := func(column string, value []byte) {
		if value != nil && string(value) != `null` {
			o = rawjson.Set(o, column, value)
		}
	}
	set("id", rawjson.Quote(id))
	if rawjson.Str(info, "parentID") != "" {
		set("parent_id", text("parentID"))
	}
	set("slug", text("slug"))
	set("directory", text("directory"))
	set("title", text("title"))
	set("version", text("version"))
	set("revert", rawjson.Get(info, "revert"))
	set("time_created", strconv.AppendInt(nil, number(rawjson.Get(times, "created")), 10))
	set("time_archived", rawjson.Get(times, "archived"))
	return slices.Concat([]byte(`{"session":`), o, []byte("}"))
}

// row returns a row of a message or, with the message that it belongs to, of a part.
func row(session, message, id string, at int64, data []byte) []byte {
	for _, name := range []string{"id", "sessionID", "messageID"} {
		data = rawjson.Delete(data, name)
	}
	o := rawjson.Set([]byte("{}"), "id", rawjson.Quote(id))
	if message != "" {
		o = rawjson.Set(o, "message_id", rawjson.Quote(message))
	}
	o = rawjson.Set(o, "session_id", rawjson.Quote(session))
	o = rawjson.Set(o, "time_created", strconv.AppendInt(nil, at, 10))
	o = rawjson.Set(o, "time_updated", strconv.AppendInt(nil, at, 10))
	return rawjson.Set(o, "data", data)
}

// number reads a time in milliseconds; 0 for anything else.
func number(value []byte) int64 {
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil {
		return 0
	}
	return int64(f)
}

// escaped makes a name match itself in a pattern.
func escaped(name string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}

// errRead returns the error of every write.
func (s *storage) errRead() error {
	return fmt.Errorf("%s: %w: OpenCode keeps sessions in its database", s.dir, backend.ErrReadOnly)
}

// Parse implements rows.Schema.
func (s *storage) Parse(string, [][]byte) (rows.Session, error) { return rows.Session{}, s.errRead() }

// Touch implements rows.Schema.
func (s *storage) Touch(header []byte) []byte { return header }

// Save implements rows.Schema.
func (s *storage) Save(context.Context, rows.Session) error { return s.errRead() }

// Remove implements rows.Schema.
func (s *storage) Remove(context.Context, string, string) error { return s.errRead() }
