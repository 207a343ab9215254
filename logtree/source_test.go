package logtree_test

import (
	"context"
	"errors"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/session"
)

// opening counts the readers of a backend that are open.
type opening struct {
	backend.Backend
	open int
}

func (o *opening) Open(ctx context.Context, at backend.Log) (backend.Reader, error) {
	r, err := backend.OpenLog(ctx, o.Backend, at)
	if err == nil {
		o.open++
	}
	return &opened{r, o}, err
}

type opened struct {
	backend.Reader
	o *opening
}

func (r *opened) Close() error {
	r.o.open--
	return r.Reader.Close()
}

// A source that is closed stays closed: a read does not open the log again, since nothing would close it.
func TestSourceClosed(t *testing.T) {
	b := &opening{Backend: memory.New()}
	at, err := b.Create(t.Context(), "a.jsonl", []byte("hello"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := logtree.OpenSource(t.Context(), b, at)
	if err != nil {
		t.Fatal(err)
	}
	span := session.Span{Offset: 0, Length: 5}
	if text, err := s.Bytes(span); err != nil || string(text) != "hello" {
		t.Fatalf("read %q, %v; want hello", text, err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if text, err := s.Bytes(span); !errors.Is(err, logtree.ErrClosed) {
			t.Errorf("after Close: %q, %v; want logtree.ErrClosed", text, err)
		}
	}
	if b.open != 0 {
		t.Errorf("%d readers are open", b.open)
	}
}
