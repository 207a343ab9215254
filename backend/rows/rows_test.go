package rows_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/backendtest"
	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/backend/rows"
)

// table is a Schema in memory. With titled set the first record is a header that ends in the number of its saves.
type table struct {
	titled bool

	mu    sync.Mutex
	rows  map[string]rows.Session
	saves int
	// after, if set, runs once after the next save, as a program that takes no lock.
	after func()
}

func (t *table) List(context.Context) (ids []string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id := range t.rows {
		ids = append(ids, id)
	}
	return ids, nil
}

func (t *table) Load(_ context.Context, id string) (rows.Session, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, ok := t.rows[id]
	if !ok {
		return s, fmt.Errorf("%s: %w", id, backend.ErrNotExist)
	}
	return s, nil
}

func (t *table) Parse(id string, records [][]byte) (rows.Session, error) {
	s := rows.Session{ID: id}
	if t.titled {
		if len(records) == 0 {
			return s, backend.ErrRecord
		}
		s.Header, records = bytes.Clone(records[0]), records[1:]
	}
	for _, r := range records {
		s.Messages = append(s.Messages, bytes.Clone(r))
	}
	return s, nil
}

func (t *table) Touch(header []byte) []byte {
	if header == nil {
		return nil
	}
	before, _, _ := bytes.Cut(header, []byte("#"))
	return fmt.Appendf(nil, "%s#%04d", before, t.saves)
}

func (t *table) Save(_ context.Context, s rows.Session) error {
	t.mu.Lock()
	if t.rows[s.ID].Version != s.Version {
		t.mu.Unlock()
		return fmt.Errorf("%s: %w", s.ID, backend.ErrConflict)
	}
	t.put(s)
	after := t.after
	t.after = nil
	t.mu.Unlock()
	if after != nil {
		after()
	}
	return nil
}

func (t *table) put(s rows.Session) {
	t.saves++
	s.Version, s.Time = fmt.Sprint("v", t.saves), time.Unix(int64(t.saves), 0).UTC()
	s.Messages = slices.Clone(s.Messages)
	for i, m := range s.Messages {
		s.Messages[i] = bytes.Clone(m) // the caller may change the records of an append
	}
	t.rows[s.ID] = s
}

func (t *table) Remove(_ context.Context, id, version string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rows[id].Version != version {
		return fmt.Errorf("%s: %w", id, backend.ErrConflict)
	}
	delete(t.rows, id)
	return nil
}

// The suite passes on a schema without headers. Logs that are one record do not occur in rows: the suite's are kept in
// memory.
func TestSuite(t *testing.T) {
	backendtest.Run(t, func(*testing.T) backendtest.Place {
		kept, schema := memory.New(), &table{rows: map[string]rows.Session{}}
		return backendtest.Place{Open: func() (backend.Backend, error) {
			return &both{rows.New(schema, ".jsonl", false), kept.Reopen()}, nil
		}}
	})
}

// both keeps logs of lines in rows, all others in memory.
type both struct {
	*rows.Backend
	other *memory.Backend
}

func (b *both) of(name string) backend.Backend {
	if backend.IsText(name) || backend.CheckName(name) != nil {
		return b.Backend
	}
	return b.other
}

func (b *both) Lines(name string) bool { return backend.IsText(name) }

func (b *both) Create(ctx context.Context, name string, records ...[]byte) (backend.Log, error) {
	// Real schemas have no folders.
	for _, err := range b.List(ctx, name+"/") {
		if err != nil {
			return backend.Log{}, err
		}
		return backend.Log{}, fmt.Errorf("%s: %w: it is a folder", name, backend.ErrName)
	}
	if _, err := b.Stat(ctx, path.Dir(name)); err == nil {
		return backend.Log{}, fmt.Errorf("%s: %w: it is below a log", name, backend.ErrName)
	}
	return b.of(name).Create(ctx, name, records...)
}

func (b *both) Append(ctx context.Context, at backend.Log, records ...[]byte) (backend.Log, error) {
	return b.of(at.Name).Append(ctx, at, records...)
}

func (b *both) Replace(ctx context.Context, at backend.Log, records ...[]byte) (backend.Log, error) {
	return b.of(at.Name).Replace(ctx, at, records...)
}

func (b *both) Read(ctx context.Context, at backend.Log, offset int64) iter.Seq2[backend.Record, error] {
	return b.of(at.Name).Read(ctx, at, offset)
}

func (b *both) Stat(ctx context.Context, name string) (backend.Log, error) {
	return b.of(name).Stat(ctx, name)
}

func (b *both) Remove(ctx context.Context, at backend.Log) error {
	return b.of(at.Name).Remove(ctx, at)
}

func (b *both) List(ctx context.Context, prefix string) iter.Seq2[backend.Log, error] {
	return func(yield func(backend.Log, error) bool) {
		var list []backend.Log
		for _, from := range []backend.Backend{b.Backend, b.other} {
			for at, err := range from.List(ctx, prefix) {
				if err != nil {
					yield(at, err)
					return
				}
				list = append(list, at)
			}
		}
		slices.SortFunc(list, func(a, b backend.Log) int { return strings.Compare(a.Name, b.Name) })
		for _, at := range list {
			if !yield(at, nil) {
				return
			}
		}
	}
}

func (b *both) Close() error { return errors.Join(b.Backend.Close(), b.other.Close()) }

func read(t *testing.T, b backend.Backend, at backend.Log, offset int64) (records []string, err error) {
	t.Helper()
	for r, err := range b.Read(t.Context(), at, offset) {
		if err != nil {
			return records, err
		}
		records = append(records, string(r.Data))
	}
	return records, nil
}

// A header changes with each append, and readers of the messages do not notice.
func TestHeaders(t *testing.T) {
	ctx := t.Context()
	schema := &table{titled: true, rows: map[string]rows.Session{}}
	b := rows.New(schema, "", false)
	if !b.Lines("a") {
		t.Error("its logs are not lines")
	}
	if _, err := b.Create(ctx, "a"); !errors.Is(err, backend.ErrRecord) {
		t.Errorf("created without a header: %v", err)
	}
	old, err := backend.Restore(ctx, b, "a", []byte("title\none\n"))
	if err != nil {
		t.Fatal(err)
	}
	// The first save makes the header as long as all later ones.
	if _, err := b.Append(ctx, old, []byte("two")); !errors.Is(err, backend.ErrConflict) {
		t.Errorf("appended although the messages would move: %v", err)
	}
	if _, err := read(t, b, old, old.Size); !errors.Is(err, backend.ErrChanged) {
		t.Errorf("a log whose messages moved: %v", err)
	}
	at, err := b.Stat(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	now, err := b.Append(ctx, at, []byte("two"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := read(t, b, at, 0); err != nil || !slices.Equal(got, []string{"title#0002", "one"}) {
		t.Errorf("what was seen before: %q, %v", got, err)
	}
	if got, err := read(t, b, now, at.Size); err != nil || !slices.Equal(got, []string{"two"}) {
		t.Errorf("what was appended: %q, %v", got, err)
	}
	// The agent changes the header alone: the log has not changed for readers, but it has for writers.
	schema.put(rows.Session{ID: "a", Header: []byte("other#0000"), Messages: [][]byte{[]byte("one"), []byte("two")}})
	if _, err := read(t, b, now, now.Size); err != nil {
		t.Error(err)
	}
	if _, err := b.Replace(ctx, now, []byte("x")); !errors.Is(err, backend.ErrConflict) {
		t.Errorf("replaced what was not seen: %v", err)
	}
}

// A program that takes no lock saves right after an append.
func TestInterleaved(t *testing.T) {
	schema := &table{rows: map[string]rows.Session{}}
	b := rows.New(schema, "", false)
	at, err := b.Create(t.Context(), "a", []byte("one"))
	if err != nil {
		t.Fatal(err)
	}
	schema.after = func() { schema.put(rows.Session{ID: "a", Messages: [][]byte{[]byte("its own")}}) }
	if _, err := b.Append(t.Context(), at, []byte("two")); !errors.Is(err, backend.ErrInterleaved) {
		t.Errorf("got %v", err)
	}
}

// A mutation that is cancelled after it was saved succeeds.
func TestCancelledAfterSave(t *testing.T) {
	schema := &table{rows: map[string]rows.Session{}}
	b := rows.New(schema, "", false)
	var at backend.Log
	for _, mutate := range []func(ctx context.Context) (backend.Log, error){
		func(ctx context.Context) (backend.Log, error) { return b.Create(ctx, "a", []byte("one")) },
		func(ctx context.Context) (backend.Log, error) { return b.Append(ctx, at, []byte("two")) },
		func(ctx context.Context) (backend.Log, error) { return b.Replace(ctx, at, []byte("three")) },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		schema.after = cancel
		now, err := mutate(ctx)
		if err != nil {
			t.Fatal(err)
		}
		at = now
	}
}

// A backend for reading refuses every mutation.
func TestReadOnly(t *testing.T) {
	ctx := t.Context()
	schema := &table{rows: map[string]rows.Session{}}
	schema.put(rows.Session{ID: "a"})
	b := rows.New(schema, "", true)
	at, err := b.Stat(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	_, created := b.Create(ctx, "b")
	_, appended := b.Append(ctx, at, []byte("x"))
	_, replaced := b.Replace(ctx, at)
	for _, err := range []error{created, appended, replaced, b.Remove(ctx, at)} {
		if !errors.Is(err, backend.ErrReadOnly) {
			t.Errorf("got %v", err)
		}
	}
}
