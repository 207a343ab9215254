package convert_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/convert"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/store"
)

// noticing notes whether a log was created.
type noticing struct {
	backend.Backend
	created *bool
}

func (b noticing) Create(ctx context.Context, name string, records ...[]byte) (backend.Log, error) {
	at, err := b.Backend.Create(ctx, name, records...)
	*b.created = err == nil
	return at, err
}

// lateContext is cancelled after its error was checked some times since the log was created.
type lateContext struct {
	context.Context
	created *bool
	left    *int
}

func (c lateContext) Err() error {
	if *c.created {
		if *c.left--; *c.left < 0 {
			return context.Canceled
		}
	}
	return nil
}

// A conversion that is cancelled after its log was written leaves no new session behind.
func TestCancelledConversion(t *testing.T) {
	created := false
	w := world.New(t, func(w *world.World) {
		w.Wrap = func(b backend.Backend) backend.Backend { return noticing{b, &created} }
	})
	path := w.Put("in/a.jsonl", newTalk(3, false).write("pi"))
	src := w.View(path, store.OpenOptions{Dialect: w.Format("pi")})
	for asked := 0; ; asked++ {
		created = false
		left := asked
		opt := convert.Options{To: w.Format("operator"), Dir: w.At(fmt.Sprint("out", asked)), Write: w.Write(store.WriteOptions{})}
		made, _, err := convert.Session(lateContext{t.Context(), &created, &left}, w.Store, src, opt)
		if err == nil {
			w.Must(made.Close())
			if asked < 5 {
				t.Errorf("the context was asked %d times", asked)
			}
			return
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		made, _, err = convert.Session(t.Context(), w.Store, src, opt)
		if err != nil {
			t.Fatalf("after a cancellation at question %d: %v", asked, err)
		}
		w.Must(made.Close())
	}
}
