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
	"strconv"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// Document keeps states as the format's document says: state/<id>.json, one object each. The program of today reads such
// a file once, copies it to its database and never looks at it again.
type Document struct {
	dir string
	opt Options
	// beside, if set, is the place whose sessions are left out of the list: they have gone on there.
	beside *Companion
}

var (
	_ store.Companion = (*Document)(nil)
	_ store.Resumer   = (*Document)(nil)
)

// NewDocument gives the states in the document's form of a folder of sessions. It need not exist.
func NewDocument(dir string, opt Options) *Document {
	opt.fill()
	return &Document{dir: dir, opt: opt}
}

func (d *Document) path(id session.ID) string {
	return filepath.Join(d.dir, stateName, string(id)+".json")
}

func (d *Document) has(id session.ID) bool {
	_, err := d.opt.FS.Stat(d.path(id))
	return err == nil
}

// Load implements store.Companion.
func (d *Document) Load(_ context.Context, id session.ID) (store.State, error) {
	if err := checkID(id); err != nil {
		return store.State{}, err
	}
	content, _, err := readFile(d.opt.FS, d.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return store.State{}, noSession(id)
	}
	if err != nil {
		return store.State{}, err
	}
	return d.parse(id, content)
}

// known are the members of a state.
var known = []string{"schema_version", "session_id", "updated_at", "run_id", "invoke_seq", "messages", "meta"}

// parse reads a state. Like the program it wants an id and a time. Whatever else is odd (a count that is none, a meta that
// is no object) is passed over as it does. File and line stand in the error, because nobody else can name them.
func (d *Document) parse(id session.ID, content []byte) (store.State, error) {
	problem := func(format string, args ...any) error {
		return &session.Problem{File: d.path(id), Line: 1, Kind: session.ProblemMalformed, Message: fmt.Sprintf(format, args...),
			Advice: "the file was not changed; codelia does not load the session either"}
	}
	content = bytes.TrimSpace(content)
	if !rawjson.IsObject(content) || !rawjson.Valid(content) {
		return store.State{}, problem("it is no JSON object")
	}
	s := store.State{ID: session.ID(rawjson.Str(content, "session_id")), UpdatedAt: rawjson.Str(content, "updated_at"), RunID: rawjson.Str(content, "run_id")}
	if s.ID != id || s.UpdatedAt == "" {
		return store.State{}, problem("it is no state of session %s: session_id is %q, updated_at %q", id, s.ID, s.UpdatedAt)
	}
	if seq, err := strconv.ParseInt(string(rawjson.Get(content, "invoke_seq")), 10, 64); err == nil {
		s.InvokeSeq = &seq
	}
	// A meta of another kind is left out of the state, and gone with the next save.
	if meta := rawjson.Get(content, "meta"); rawjson.IsObject(meta) {
		s.Meta = rawjson.Compact(meta)
		s.Root = rawjson.Str(meta, "codelia_workspace_root")
	}
	for m := range rawjson.Elements(rawjson.Get(content, "messages")) {
		if !rawjson.IsObject(m) {
			return store.State{}, problem("message %d is no JSON object", len(s.Messages)+1)
		}
		// A message is one line of the log that companions are shown as; in this file it may take several.
		s.Messages = append(s.Messages, rawjson.Compact(m))
	}
	other := []byte("{}")
	// What a later version may have added: Save puts it back.
	for key, value := range rawjson.Fields(content) {
		if !slices.Contains(known, key) {
			other = rawjson.Set(other, key, value)
		}
	}
	if len(other) > 2 {
		s.Other = rawjson.Compact(other)
	}
	s.Version = version(&s)
	return s, nil
}

// render gives the file of a state. What the file before has besides stays, in its order. schema_version stays as it is:
// Save refuses to come here with another than 1.
func render(s *store.State, before []byte) ([]byte, error) {
	lines, err := joinMessages(s.Messages)
	if err != nil {
		return nil, err
	}
	// No message has a newline in it, so each that is there stands between two.
	list := bytes.ReplaceAll(bytes.TrimSuffix(lines, []byte("\n")), []byte("\n"), []byte(","))
	messages := slices.Concat([]byte("["), list, []byte("]"))
	o := before
	if o == nil {
		o = []byte(`{"schema_version":1}`)
	}
	set := func(key string, value []byte, there bool) {
		switch {
		case there:
			o = rawjson.Set(o, key, value)
		case rawjson.Get(o, key) != nil:
			o = rawjson.Delete(o, key)
		}
	}
	set("session_id", rawjson.Quote(string(s.ID)), true)
	set("updated_at", rawjson.Quote(s.UpdatedAt), true)
	set("run_id", rawjson.Quote(s.RunID), s.RunID != "")
	seq := int64(0)
	if s.InvokeSeq != nil {
		seq = *s.InvokeSeq
	}
	set("invoke_seq", strconv.AppendInt(nil, seq, 10), s.InvokeSeq != nil)
	set("messages", messages, true)
	set("meta", metaOf(s), metaOf(s) != nil)
	for key, value := range rawjson.Fields(s.Other) {
		// A member that says the same keeps its spelling: Other is compact, the file need not be.
		if there := rawjson.Get(o, key); !slices.Contains(known, key) && (there == nil || !bytes.Equal(rawjson.Compact(there), value)) {
			o = rawjson.Set(o, key, value)
		}
	}
	return append(slices.Clip(o), '\n'), nil
}

// metaOf is the meta with the folder in it: the document has no other place for that.
func metaOf(s *store.State) []byte {
	if s.Root == "" || rawjson.Str(s.Meta, "codelia_workspace_root") == s.Root {
		return s.Meta
	}
	meta := s.Meta
	if meta == nil {
		meta = session.Raw("{}")
	}
	return rawjson.Set(meta, "codelia_workspace_root", rawjson.Quote(s.Root))
}

// Save implements store.Companion. The file is replaced as a whole under the lock of the one that it replaces; where there
// is none to lock, it is created without replacing anything. The program takes no locks: what it writes between comparison
// and rename is lost, but it writes no such files any more.
func (d *Document) Save(ctx context.Context, s store.State) error {
	if err := checkState(&s); err != nil {
		return err
	}
	if s.UpdatedAt == "" {
		s.UpdatedAt = iso(d.opt.Clock())
	}
	if err := durable.MkdirAll(d.opt.FS, filepath.Join(d.dir, stateName), 0o700); err != nil {
		return err
	}
	for {
		err := d.locked(ctx, s.ID, func(before []byte) error {
			// A file that cannot be read is an error, also for one who does not care about the version: it is not
			// overwritten.
			now, err := d.parse(s.ID, before)
			if err == nil {
				err = check(s.Version, &now)
			}
			if v := string(rawjson.Get(before, "schema_version")); err == nil && v != "1" {
				err = fmt.Errorf("%s: schema_version %s is %w of the agent; it is read only", d.path(s.ID), v, store.ErrNewer)
			}
			var content []byte
			if err == nil {
				content, err = render(&s, bytes.TrimSpace(before))
			}
			if err == nil {
				_, err = durable.Replace(d.opt.FS, d.path(s.ID), 0o600, bytes.NewReader(content))
			}
			return err
		})
		if !errors.Is(err, store.ErrNoSession) {
			return err
		}
		if err := check(s.Version, nil); err != nil {
			return err
		}
		content, err := render(&s, nil)
		if err != nil {
			return err
		}
		// Who else makes it at the same moment was first, and his is replaced in the next round.
		if _, err = durable.Create(d.opt.FS, d.path(s.ID), 0o600, bytes.NewReader(content)); !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}

// locked does something to a state while no other program of this library does, ErrNoSession where there is none.
func (d *Document) locked(ctx context.Context, id session.ID, f func(content []byte) error) error {
	// A lock is held for the time of one small write.
	const pause = 2 * time.Millisecond
	for waited := time.Duration(0); ; waited += pause {
		done, err := d.tryLocked(id, f)
		switch {
		case done:
			return err
		case waited >= d.opt.Busy:
			return fmt.Errorf("%s is locked by another writer", d.path(id))
		}
		if err := durable.Wait(ctx, pause); err != nil {
			return err
		}
	}
}

// tryLocked does it if nobody has the lock; done is false where it is worth trying again. The lock is on the file, which a
// save replaces: who got the lock of one that lost its name holds nothing.
func (d *Document) tryLocked(id session.ID, f func(content []byte) error) (done bool, err error) {
	file, err := d.opt.FS.Open(d.path(id), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return true, noSession(id)
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
	// While we waited another file may have got the name.
	if now, err := d.opt.FS.Stat(d.path(id)); err != nil || !now.SameFile(held) {
		return false, nil
	}
	// By name, which is the file that is locked: see above.
	content, _, err := readFile(d.opt.FS, d.path(id))
	if err != nil {
		return true, err
	}
	return true, f(content)
}

// List implements store.Companion.
func (d *Document) List(ctx context.Context) ([]store.StateInfo, error) {
	entries, err := d.opt.FS.ReadDir(filepath.Join(d.dir, stateName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	elsewhere := map[session.ID]bool{}
	// So that a session is listed once, by the place where it goes on: see At.
	if d.beside != nil {
		list, err := d.beside.List(ctx)
		if err != nil {
			return nil, err
		}
		for _, i := range list {
			elsewhere[i.ID] = true
		}
	}
	var list []store.StateInfo
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		id := session.ID(name)
		if !ok || e.IsDir() || checkID(id) != nil || elsewhere[id] {
			continue
		}
		s, err := d.Load(ctx, id)
		if err != nil {
			// One that cannot be read does not hide the others.
			list = append(list, store.StateInfo{ID: id, Err: err})
			continue
		}
		list = append(list, infoOf(&s))
	}
	newestFirst(list)
	return list, nil
}

// Remove implements store.Companion.
func (d *Document) Remove(ctx context.Context, id session.ID) error {
	if err := checkID(id); err != nil {
		return err
	}
	// Under the lock: who is saving at this moment has finished, or finds no file.
	return d.locked(ctx, id, func([]byte) error {
		if err := d.opt.FS.Remove(d.path(id)); err != nil {
			return err
		}
		return d.opt.FS.SyncDir(filepath.Join(d.dir, stateName))
	})
}
