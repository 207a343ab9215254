package store_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/file"
	"github.com/treeline-dev/treeline/backend/rows/codelia"
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/all"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// desk is where sessions are written: a home folder, a store, and all that it says.
type desk struct {
	*testing.T
	*store.Store
	home, cwd string
	terminal  string
	fs        durable.FS
	quiet     bool // no clocks, waits and processes

	mu     sync.Mutex
	events []store.Event
	logs   bytes.Buffer
	chance counter
	now    time.Time
}

func newDesk(t *testing.T, change ...func(*desk)) *desk {
	t.Helper()
	home := t.TempDir()
	d := &desk{T: t, home: home, cwd: filepath.Join(home, "garden"), fs: durable.OS{}, now: time.Date(2026, 2, 16, 10, 0, 0, 0, time.UTC)}
	for _, c := range change {
		c(d)
	}
	d.Store = d.wrapping(func(b backend.Backend) backend.Backend { return b })
	return d
}

// wrapping gives a store of the desk whose backends for writing are wrapped.
func (d *desk) wrapping(wrap func(backend.Backend) backend.Backend) *store.Store {
	return store.New(store.Options{
		Dialects: all.Dialects(),
		Env: dialect.Env{
			Home: d.home, TempDir: filepath.Join(d.home, "tmp"), WorkDir: d.cwd, Zone: time.UTC, Terminal: d.terminal,
			Getenv: func(string) string { return "" }, Realpath: filepath.EvalSymlinks,
		},
		OpenDir: func(dir string) (backend.Backend, error) {
			return file.New(dir, file.Options{ReadOnly: true, FS: d.fs})
		},
		Drivers:    []backend.Driver{codelia.Driver()},
		OpenBlobs:  func(dir string) blob.Reader { return blob.NewDirFS(dir, d.fs) },
		WriteBlobs: func(dir string) blob.Store { return blob.NewDirFS(dir, d.fs) },
		WriteDir: func(dir string, level store.Durability, repaired func(session.Problem)) (backend.Backend, error) {
			b, err := d.writeDir(dir, level, repaired)
			if err != nil {
				return nil, err
			}
			return wrap(b), nil
		},
	})
}

func (d *desk) writeDir(dir string, level store.Durability, repaired func(session.Problem)) (backend.Backend, error) {
	opt := file.Options{Durability: backend.Durability(level), FS: d.fs, TornWait: time.Millisecond, Mended: func(m backend.Mended) {
		if repaired != nil {
			repaired(session.Problem{Offset: m.Offset, Kind: session.ProblemTorn, Advice: m.To})
		}
	}}
	if d.quiet {
		opt.Clock = func() time.Time { return d.now.AddDate(10, 0, 0) }
		opt.Wait = func(context.Context, time.Duration) error { return nil }
	}
	return file.New(dir, opt)
}

// counter is randomness that can be foreseen: 1, 2, 3, …, four bytes each.
type counter struct {
	mu   sync.Mutex
	next uint32
}

func (c *counter) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := 0; i < len(p); i += 4 {
		c.next++
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], c.next)
		copy(p[i:], b[:])
	}
	return len(p), nil
}

// options are those of every session of the desk.
func (d *desk) options() store.WriteOptions {
	return store.WriteOptions{
		Random: &d.chance,
		Clock: func() time.Time {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.now = d.now.Add(time.Second)
			return d.now
		},
		Observer: func(e store.Event) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.events = append(d.events, e)
		},
		Log: slog.New(slog.NewTextHandler(&d.logs, nil)),
	}
}

// told gives the kinds of events so far, and forgets them.
func (d *desk) told() []store.EventKind {
	d.mu.Lock()
	defer d.mu.Unlock()
	var kinds []store.EventKind
	for _, e := range d.events {
		kinds = append(kinds, e.Kind)
	}
	d.events = nil
	return kinds
}

func (d *desk) dialect(name string) dialect.Dialect {
	d.Helper()
	found, err := d.Dialect(name)
	if err != nil {
		d.Fatal(err)
	}
	return found
}

func (d *desk) fill(opt store.CreateOptions) store.CreateOptions {
	o := d.options()
	o.Durability, o.Policy, o.Defer, o.NoOverflow = opt.Write.Durability, opt.Write.Policy, opt.Write.Defer, opt.Write.NoOverflow
	o.Create, o.ReplaceUnreadable = opt.Write.Create, opt.Write.ReplaceUnreadable
	if opt.Write.Random != nil {
		o.Random = opt.Write.Random
	}
	opt.Write = o
	return opt
}

// closing closes a session with the test, if it is open then.
func (d *desk) closing(s *store.Session, err error) *store.Session {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { s.Close() })
	return s
}

func (d *desk) create(name string, opt store.CreateOptions) *store.Session {
	d.Helper()
	opt.Dialect = d.dialect(name)
	return d.closing(d.Create(d.Context(), d.fill(opt)))
}

func (d *desk) edit(path string, opt store.WriteOptions) *store.Session {
	d.Helper()
	return d.closing(d.OpenWrite(d.Context(), path, d.fill(store.CreateOptions{Write: opt})))
}

// put writes a file.
func (d *desk) put(name, content string) string {
	d.Helper()
	path := filepath.Join(d.home, filepath.FromSlash(name))
	d.must(os.MkdirAll(filepath.Dir(path), 0o700))
	d.must(os.WriteFile(path, []byte(content), 0o600))
	return path
}

func (d *desk) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

func (d *desk) user(s *store.Session, text string) session.EntryID {
	d.Helper()
	return d.say(s, "user", text).ID
}

func (d *desk) answer(s *store.Session, text string) session.EntryID {
	d.Helper()
	return d.say(s, "assistant", text).ID
}

func (d *desk) say(s *store.Session, role, text string) store.Appended {
	d.Helper()
	a, err := s.AppendMessage(d.Context(), message(role, text))
	d.must(err)
	return a
}

func message(role, text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return fmt.Appendf(nil, `{"role":%q,"content":%s}`, role, quoted)
}

// read gives the lines of a file.
func (d *desk) read(path string) []string {
	d.Helper()
	b, err := os.ReadFile(path)
	d.must(err)
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

func (d *desk) exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// texts gives the contents of the messages that the model would see at the leaf.
func (d *desk) texts(s *store.Session) []string {
	d.Helper()
	c, err := s.Context(d.Context(), s.Leaf(), store.ContextOptions{})
	d.must(err)
	list := []string{}
	for m, err := range c.Messages() {
		d.must(err)
		var v struct{ Content, Summary any }
		d.must(json.Unmarshal(m.JSON, &v))
		text := fmt.Sprint(v.Content)
		if v.Summary != nil {
			text = fmt.Sprint(v.Summary)
		}
		list = append(list, text)
	}
	return list
}

// seen opens the session anew, for reading, and gives what the model would see.
func (d *desk) seen(path string) []string {
	d.Helper()
	s, err := d.Open(d.Context(), path, store.OpenOptions{})
	d.must(err)
	defer s.Close()
	return d.texts(s)
}

func (d *desk) same(got, want []string) {
	d.Helper()
	if !slices.Equal(got, want) {
		d.Errorf("got\n  %q\nwant\n  %q", got, want)
	}
}

// appendPlain appends to a file as a program does that takes no lock.
func (d *desk) appendPlain(path, text string) {
	d.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	d.must(err)
	_, err = f.WriteString(text)
	d.must(err)
	d.must(f.Close())
}

// memoryEqualsDisk compares the session's durable entries with those of its file, read anew.
func (d *desk) memoryEqualsDisk(s *store.Session) {
	d.Helper()
	r, err := d.Open(d.Context(), s.Path(), store.OpenOptions{Dialect: s.Dialect()})
	d.must(err)
	defer r.Close()
	a, b := s.Tree(), r.Tree()
	if a.Len() != b.Len() {
		d.Fatalf("%d entries in memory, %d in the log", a.Len(), b.Len())
	}
	for i := range a.Len() {
		x, y := a.At(i), b.At(i)
		if x.ID != y.ID || x.Parent != y.Parent || x.Span != y.Span || x.Line != y.Line || x.Kind != y.Kind {
			d.Fatalf("entry %d: %+v in memory, %+v in the log", i, x, y)
		}
		rx, err := x.Raw()
		d.must(err)
		ry, err := y.Raw()
		d.must(err)
		if !bytes.Equal(rx, ry) {
			d.Fatalf("entry %d: %s in memory, %s in the log", i, rx, ry)
		}
	}
}
