// Package world is the fixture of tests that need a machine: a home folder with the agents' places, a store, a predictable
// clock and ids, and the events and log lines of the store.
package world

import (
	"bytes"
	"context"
	"encoding/binary"
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
	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/all"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/store"
)

// World is a machine for one test. Set the fields in the functions that New calls.
type World struct {
	*testing.T
	*store.Store
	// Home is the user's folder, CWD the working directory in it.
	Home, CWD string
	// Terminal names the terminal, for breadcrumbs.
	Terminal string
	// FS is the file system of all backends and blobs.
	FS durable.FS
	// Quiet replaces the machine's clock and waits, for simulated crashes.
	Quiet bool
	// Roots and Extra are fields of place.Options.
	Roots []string
	Extra []place.ExtraRoot
	// Drivers, if set, replaces the driver of files. Databases come before it: tests without them do not link SQLite.
	Drivers, Databases []backend.Driver
	// Wrap, if set, wraps each backend for writing.
	Wrap func(backend.Backend) backend.Backend
	// State is treeline's own folder; "" means none.
	State    string
	ReadOnly bool

	mu     sync.Mutex
	events []store.Event
	logs   bytes.Buffer
	chance Counter
	now    time.Time
	stamp  time.Time // time of the next file that Old writes
}

// New makes a World in a temporary folder. It closes the store with the test.
func New(t *testing.T, change ...func(*World)) *World {
	t.Helper()
	return NewIn(t, t.TempDir(), change...)
}

// NewIn is New with a given home folder.
func NewIn(t *testing.T, home string, change ...func(*World)) *World {
	t.Helper()
	start := time.Date(2026, 2, 16, 10, 0, 0, 0, time.UTC)
	w := &World{T: t, Home: home, CWD: filepath.Join(home, "garden"), FS: durable.OS{}, now: start, stamp: start}
	for _, c := range change {
		c(w)
	}
	w.Store = w.Reopen()
	return w
}

// Reopen returns another store of the same machine, as a second process would have it.
func (w *World) Reopen() *store.Store {
	s := store.New(store.Options{Machine: w.Machine(), State: w.State})
	w.Cleanup(func() { _ = s.Close() })
	return s
}

// Machine returns another machine with the same places.
func (w *World) Machine() *place.Machine {
	opt := Options(w.Home, w.FS)
	opt.Env.WorkDir, opt.Env.Terminal = w.CWD, w.Terminal
	opt.Drivers, opt.Roots, opt.Extra, opt.ReadOnly = w.Drivers, w.Roots, w.Extra, w.ReadOnly
	if w.State != "" {
		opt.RunsDir = filepath.Join(w.State, "runs")
	}
	if opt.Drivers == nil {
		opt.Drivers = append(slices.Clone(w.Databases), w.files())
	}
	return place.New(opt)
}

// Options returns the options of a machine with only a home folder, for tests that need no World.
func Options(home string, fs durable.FS) place.Options {
	return place.Options{
		Dialects: all.Dialects(),
		Env: dialect.Env{
			Home: home, TempDir: filepath.Join(home, "tmp"), WorkDir: home, Zone: time.UTC,
			Getenv: func(string) string { return "" }, Realpath: filepath.EvalSymlinks,
		},
		Drivers:    []backend.Driver{file.Driver(file.Options{FS: fs, TornWait: 20 * time.Millisecond})},
		OpenBlobs:  func(dir string) blob.Reader { return blob.NewDirFS(dir, fs) },
		WriteBlobs: func(dir string) blob.Store { return blob.NewDirFS(dir, fs) },
	}
}

// Store returns a store with only a home folder, for child processes and benchmarks.
func Store(home string) *store.Store {
	return store.New(store.Options{Machine: place.New(Options(home, durable.OS{}))})
}

// files returns the driver of files with the world's file system and clock.
func (w *World) files() backend.Driver {
	opt := file.Options{FS: w.FS, TornWait: time.Millisecond}
	if w.Quiet {
		opt.Clock = func() time.Time { return w.now.AddDate(10, 0, 0) }
		opt.Wait = func(context.Context, time.Duration) error { return nil }
	}
	d := file.Driver(opt)
	open, wrap := d.Open, w.Wrap
	d.Open = func(root string, opt backend.OpenOptions) (backend.Backend, error) {
		b, err := open(root, opt)
		if err == nil && !opt.ReadOnly && wrap != nil {
			b = wrap(b)
		}
		return b, err
	}
	return d
}

// Counter is a predictable source of random bytes: 1, 2, 3, …, four bytes each.
type Counter struct {
	mu   sync.Mutex
	next uint32
}

// Read implements io.Reader.
func (c *Counter) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := 0; i < len(p); i += 4 {
		c.next++
		copy(p[i:], binary.BigEndian.AppendUint32(nil, c.next))
	}
	return len(p), nil
}

// Write returns the options of every session of the world: opt with its clock, ids, observer and log.
func (w *World) Write(opt store.WriteOptions) store.WriteOptions {
	if opt.Random == nil {
		opt.Random = &w.chance
	}
	opt.Clock = w.Clock
	opt.Observer = func(e store.Event) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.events = append(w.events, e)
	}
	opt.Log = slog.New(slog.NewTextHandler(&w.logs, nil))
	return opt
}

// Clock returns the world's time: a second later at each call.
func (w *World) Clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(time.Second)
	return w.now
}

// Now returns the time of the last call of Clock.
func (w *World) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// Logged returns what was logged so far.
func (w *World) Logged() string { return w.logs.String() }

// Events returns the events so far, and forgets them.
func (w *World) Events() []store.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.events
	w.events = nil
	return list
}

// Told returns the kinds of events so far, and forgets them.
func (w *World) Told() []store.EventKind {
	var kinds []store.EventKind
	for _, e := range w.Events() {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

// Format finds a dialect by its name.
func (w *World) Format(name string) dialect.Dialect {
	w.Helper()
	d, err := w.Dialect(name)
	w.Must(err)
	return d
}

// Closing closes a session with the test.
func (w *World) Closing(s *store.Session, err error) *store.Session {
	w.Helper()
	w.Must(err)
	w.Cleanup(func() { _ = s.Close() })
	return s
}

// Begin creates a session.
func (w *World) Begin(name string, opt store.CreateOptions) *store.Session {
	w.Helper()
	opt.Dialect = w.Format(name)
	opt.Write = w.Write(opt.Write)
	return w.Closing(w.Create(w.Context(), opt))
}

// Edit opens a session for writing.
func (w *World) Edit(path string, opt store.WriteOptions) *store.Session {
	w.Helper()
	return w.Closing(w.OpenWrite(w.Context(), path, store.CreateOptions{Write: w.Write(opt)}))
}

// View opens a session for reading.
func (w *World) View(path string, opt store.OpenOptions) *store.Session {
	w.Helper()
	return w.Closing(w.Open(w.Context(), path, opt))
}

// At returns a path in the home folder.
func (w *World) At(name string) string { return filepath.Join(w.Home, filepath.FromSlash(name)) }

// Put writes a file in the home folder and returns its path.
func (w *World) Put(name, content string) string {
	w.Helper()
	path := w.At(name)
	w.Must(os.MkdirAll(filepath.Dir(path), 0o700))
	w.Must(os.WriteFile(path, []byte(content), 0o600))
	return path
}

// Old is Put for a file of February 2026, a minute later than the file before.
func (w *World) Old(name, content string) string {
	w.Helper()
	path := w.Put(name, content)
	w.stamp = w.stamp.Add(time.Minute)
	w.Must(os.Chtimes(path, w.stamp, w.stamp))
	return path
}

// AppendPlain appends to a file without a lock.
func (w *World) AppendPlain(path, text string) {
	w.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	w.Must(err)
	_, err = f.WriteString(text)
	w.Must(err)
	w.Must(f.Close())
}

// ReadLines returns the lines of a file.
func (w *World) ReadLines(path string) []string {
	w.Helper()
	b, err := os.ReadFile(path)
	w.Must(err)
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// Exists reports whether a file exists.
func (w *World) Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Must fails the test on an error.
func (w *World) Must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}
