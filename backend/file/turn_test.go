package file

import (
	"context"
	"errors"
	"sync"
	"testing"
)

// One has the turn at a time, everybody gets it, and nobody waits for longer than he wants to.
func TestTurn(t *testing.T) {
	turn := newTurn()
	const goroutines, times = 8, 2000
	count := 0 // guarded by turn
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			for k := range times {
				ctx, cancel := context.WithCancelCause(t.Context())
				if i%4 == 3 && k%2 == 1 {
					cancel(errors.New("enough")) // those who give up must not take a wake-up with them
				}
				if err := turn.take(ctx); err != nil {
					if err := turn.take(t.Context()); err != nil {
						t.Error(err)
					}
				}
				count++
				turn.give()
				cancel(nil)
			}
		})
	}
	wg.Wait()
	if count != goroutines*times {
		t.Errorf("%d turns, want %d", count, goroutines*times)
	}
	if err := turn.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	if err := turn.take(ctx); !errors.Is(err, enough) {
		t.Errorf("waiting ended with %v", err)
	}
}
