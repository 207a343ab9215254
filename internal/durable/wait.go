package durable

import (
	"context"
	"time"
)

// Wait returns after that time, or with the cause of ctx when it ends. It is for polling a lock or a file that changes.
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
