package durable

import (
	"context"
	"time"
)

// Wait returns after that time, or when ctx ends, with its cause. It is for whoever found a lock taken, or a file in the
// middle of a change: nobody tells when that is over.
// A timer and no sleep: whoever waits must be able to be told to stop.
func Wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
