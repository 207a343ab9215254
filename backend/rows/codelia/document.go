package codelia

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/rows"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/rawjson"
)

// document keeps sessions as the format's document describes them: state/<id>.json, one object each. Current versions of the program read
// such a file once, copy it to their database and never read it again.
type document struct {
	place
	// newer, if set, is the database beside it. Sessions in it are not listed here: they continue there.
	newer *database
}

// newDocument returns the schema of a folder of sessions. The folder need not exist.
func newDocument(dir string, opt options) *document { return &document{place: newPlace(dir, opt)} }

func (d *document) path(id string) string { return filepath.Join(d.dir, stateName, id+".json") }

func (d *document) has(id string) bool {
	_, err := d.opt.FS.Stat(d.path(id))
	return err == nil
}

func isNotExist(err error) bool { return errors.Is(err, backend.ErrNotExist) }

// List implements rows.Schema.
func (d *document) List(ctx context.Context) ([]string, error) {
	ids, err := d.files(stateName, ".json")
	if err != nil || len(ids) == 0 || d.newer == nil {
		return ids, err
	}
	list, err := d.newer.List(ctx)
	if err != nil {
		return nil, err
	}
	newer := map[string]bool{}
	for _, id := range list {
		newer[id] = true
	}
	return slices.DeleteFunc(ids, func(id string) bool { return newer[id] }), nil
}

// Keep implements rows.Keeper.
func (d *document) Keep(name string, content []byte) error {
	return d.keep(stateName, ".json", name, content)
}

// Discard implements rows.Keeper.
func (d *document) Discard(name string) error { return d.discard(stateName, ".json", name) }

// Load implements rows.Schema.
func (d *document) Load(ctx context.Context, id string) (rows.Session, error) {
	s, err := d.load(ctx, id)
	return s.session(), err
}

func (d *document) load(_ context.Context, id string) (state, error) {
	if err := checkID(id); err != nil {
		return state{}, err
	}
	content, _, err := readFile(d.opt.FS, d.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return state{}, notExist(id)
	}
	if err != nil {
		return state{}, err
	}
	return d.parse(id, content)
}

// documented are the members of a document that have a field in state.
var documented = []string{"schema_version", "session_id", "updated_at", "run_id", "invoke_seq", "messages", "meta"}

// parse reads a document. Like the program it requires an id and a time, and ignores other members of the wrong type.
func (d *document) parse(id string, content []byte) (state, error) {
	content = bytes.TrimSpace(content)
	if !rawjson.IsObject(content) || !rawjson.Valid(content) {
		return state{}, damage(d.path(id), "not a JSON object")
	}
	s := state{id: rawjson.Str(content, "session_id"), schema: otherSchema(rawjson.Get(content, "schema_version"))}
	s.fill(content, documented)
	if s.id != id || s.updated == "" {
		return state{}, damage(d.path(id), "not a state of session %s: session_id is %q, updated_at %q", id, s.id, s.updated)
	}
	s.root = rawjson.Str(s.meta, "codelia_workspace_root")
	for m := range rawjson.Elements(rawjson.Get(content, "messages")) {
		if !rawjson.IsObject(m) {
			return state{}, damage(d.path(id), "message %d is not a JSON object", len(s.messages)+1)
		}
		// A message is one line of the log; in this file it may take several.
		s.messages = append(s.messages, rawjson.Compact(m))
	}
	s.stamp()
	return s, nil
}

// render returns the file of a state. Other members of the old file stay, in their order.
func render(s *state, old []byte) []byte {
	o := old
	if o == nil {
		o = []byte(`{"schema_version":1}`)
	}
	set := func(key string, value []byte, present bool) {
		switch {
		case present:
			o = rawjson.Set(o, key, value)
		case rawjson.Get(o, key) != nil:
			o = rawjson.Delete(o, key)
		}
	}
	set("session_id", rawjson.Quote(s.id), true)
	set("updated_at", rawjson.Quote(s.updated), true)
	set("run_id", rawjson.Quote(s.run), s.run != "")
	set("invoke_seq", s.seqText(), s.seq != nil)
	set("messages", slices.Concat([]byte("["), bytes.Join(s.messages, []byte(",")), []byte("]")), true)
	meta := metaOf(s)
	set("meta", meta, meta != nil)
	for key, value := range rawjson.Fields(s.other) {
		// A member with the same meaning keeps its spelling.
		if is := rawjson.Get(o, key); !slices.Contains(documented, key) && (is == nil || !bytes.Equal(rawjson.Compact(is), value)) {
			o = rawjson.Set(o, key, value)
		}
	}
	return append(slices.Clip(o), '\n')
}

// metaOf returns the meta with the project folder in it: a document has no other place for that.
func metaOf(s *state) []byte {
	if s.root == "" || rawjson.Str(s.meta, "codelia_workspace_root") == s.root {
		return s.meta
	}
	meta := s.meta
	if meta == nil {
		meta = []byte("{}")
	}
	return rawjson.Set(meta, "codelia_workspace_root", rawjson.Quote(s.root))
}

// Save implements rows.Schema. The file is replaced whole under the lock of the file that it replaces; a new one is
// created without replacing anything. The program takes no locks, but it does not write such files any more.
func (d *document) Save(ctx context.Context, session rows.Session) error {
	s, err := parseState(session)
	if err != nil {
		return err
	}
	return d.save(ctx, s)
}

func (d *document) save(ctx context.Context, s state) error {
	s.restored = false // one object has no room for damage
	if err := s.check(nil); err != nil {
		return err
	}
	if err := d.begin(&s, stateName); err != nil {
		return err
	}
	err := d.locked(ctx, s.id, s.version, func(old []byte) error {
		if err := d.known(s.id, old); err != nil {
			return err
		}
		_, err := durable.Replace(d.opt.FS, d.path(s.id), 0o600, bytes.NewReader(render(&s, bytes.TrimSpace(old))))
		return err
	})
	if !isNotExist(err) {
		return err
	}
	if err := compare(s.version, nil); err != nil {
		return err
	}
	_, err = durable.Create(d.opt.FS, d.path(s.id), 0o600, bytes.NewReader(render(&s, nil)))
	if errors.Is(err, fs.ErrExist) {
		err = backend.ErrConflict // another process created it at the same moment
	}
	return err
}

// replaceable fails for a document of a version that is not known. Damage does not count: the program ignores such a file.
func (d *document) replaceable(id string) error {
	content, _, err := readFile(d.opt.FS, d.path(id))
	if err != nil || !rawjson.Valid(bytes.TrimSpace(content)) {
		return nil
	}
	return d.known(id, content)
}

// known fails if the content of a document is of a version that is not known.
func (d *document) known(id string, content []byte) error {
	if v := otherSchema(rawjson.Get(content, "schema_version")); v != nil {
		return newerSchema(d.path(id), v)
	}
	return nil
}

// newerSchema returns the error for a state that another version of the agent wrote.
func newerSchema(path string, v []byte) error {
	return fmt.Errorf("%s: schema_version %s was written by a newer version of the agent; nothing was changed: %w", path, v, backend.ErrReadOnly)
}

// locked calls f with the content of a document of that version while no other process of this library writes it.
func (d *document) locked(ctx context.Context, id, version string, f func(content []byte) error) error {
	const pause = 2 * time.Millisecond // a lock is held for one small write
	for waited := time.Duration(0); ; waited += pause {
		done, err := d.tryLocked(id, version, f)
		switch {
		case done:
			return err
		case waited >= busy:
			return fmt.Errorf("%s: %w", d.path(id), backend.ErrLocked)
		}
		if err := durable.Wait(ctx, pause); err != nil {
			return err
		}
	}
}

// tryLocked calls f if the lock is free; done is false if it is worth trying again. The lock is on the file, which a save
// replaces: the lock of a file that lost its name protects nothing.
func (d *document) tryLocked(id, version string, f func(content []byte) error) (done bool, err error) {
	file, err := d.opt.FS.Open(d.path(id), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return true, notExist(id)
	}
	if err != nil {
		return true, err
	}
	defer file.Close()
	if ok, err := file.TryLock(); !ok || err != nil {
		return err != nil, err
	}
	defer func() { _ = file.Unlock() }()
	held, err := file.Stat()
	if err != nil {
		return true, err
	}
	if now, err := d.opt.FS.Stat(d.path(id)); err != nil || !now.SameFile(held) {
		return false, nil
	}
	content, _, err := readFile(d.opt.FS, d.path(id))
	var now state
	if err == nil {
		now, err = d.parse(id, content)
	}
	if err == nil {
		err = compare(version, &now)
	}
	if err == nil {
		err = f(content)
	}
	return true, err
}

// Remove implements rows.Schema.
func (d *document) Remove(ctx context.Context, id, version string) error {
	if err := checkID(id); err != nil {
		return err
	}
	return d.locked(ctx, id, version, func([]byte) error {
		if err := d.opt.FS.Remove(d.path(id)); err != nil {
			return err
		}
		return d.opt.FS.SyncDir(filepath.Join(d.dir, stateName))
	})
}
