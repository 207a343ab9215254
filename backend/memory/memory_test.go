package memory_test

import (
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/backendtest"
	"github.com/treeline-dev/treeline/backend/memory"
)

const root = "memory://place"

// place makes a place that a driver opens. Put goes through a Backend of its own, as another process would write.
func place(t *testing.T, opt backend.OpenOptions, options ...memory.Option) backendtest.Place {
	d := memory.Driver("memory", options...)
	other, err := d.Open(root, backend.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return backendtest.Place{
		Open:     func() (backend.Backend, error) { return d.Open(root, opt) },
		Put:      func(name string, content []byte) error { other.(*memory.Backend).Put(name, content); return nil },
		ReadOnly: opt.ReadOnly,
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	backendtest.Run(t, func(t *testing.T) backendtest.Place { return place(t, backend.OpenOptions{}) })
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	backendtest.Run(t, func(t *testing.T) backendtest.Place { return place(t, backend.OpenOptions{ReadOnly: true}) })
}

// Logs can consist of lines whatever their names are.
func TestAllLines(t *testing.T) {
	t.Parallel()
	all := memory.LinesIf(func(string) bool { return true })
	backendtest.Run(t, func(t *testing.T) backendtest.Place { return place(t, backend.OpenOptions{}, all) })
}

// A driver keeps the places of its roots apart, and opens no other URLs.
func TestDriver(t *testing.T) {
	t.Parallel()
	d := memory.Driver("mem")
	a, err := d.Open("mem://a", backend.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Create(t.Context(), "log.jsonl"); err != nil {
		t.Fatal(err)
	}
	for root, want := range map[string]int{"mem://a": 1, "mem://b": 0} {
		b, err := d.Open(root, backend.OpenOptions{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for range b.List(t.Context(), "") {
			n++
		}
		if n != want {
			t.Errorf("%s has %d logs, want %d", root, n, want)
		}
	}
	if _, err := d.Open("mem://a", backend.OpenOptions{Durability: "often"}); err == nil {
		t.Error("an unknown level was accepted")
	}
}

// The times of logs come from the clock that was passed in.
func TestClock(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 2, 16, 10, 0, 0, 0, time.UTC)
	b := memory.New(memory.Clock(func() time.Time { return now }))
	at, err := b.Create(t.Context(), "a.jsonl", []byte("one"))
	if err != nil || !at.Time.Equal(now) {
		t.Fatalf("created at %v, %v", at.Time, err)
	}
	now = now.Add(time.Hour)
	if at, err = b.Append(t.Context(), at, []byte("two")); err != nil || !at.Time.Equal(now) {
		t.Errorf("appended at %v, %v", at.Time, err)
	}
}
