package memory_test

import (
	"testing"
	"time"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/backendtest"
	"github.com/treeline-dev/treeline/backend/memory"
)

func TestMemory(t *testing.T) {
	backendtest.Run(t, func(*testing.T) backendtest.Place {
		b := memory.New()
		return backendtest.Place{
			Open: func() (backend.Backend, error) { return b.Reopen(), nil },
			Put:  func(name string, content []byte) error { b.Put(name, content); return nil },
		}
	})
}

// The times of logs are those of the clock that was handed in.
func TestClock(t *testing.T) {
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
