package access_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/treeline-dev/treeline/access"
)

// silentBook is a book that does not answer.
type silentBook struct{ access.Memory }

func (*silentBook) Note(ctx context.Context, _ ...access.Record) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// Close ends although the book does not answer, whether or not a write is under way.
func TestCloseOfSilentBook(t *testing.T) {
	t.Parallel()
	for _, begun := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			j := access.NewJournal(&silentBook{}, func(error) {})
			j.Note(access.Record{Action: "createLog"})
			if begun {
				time.Sleep(time.Minute) // the write has begun
			}
			closed := make(chan error, 1)
			go func() { closed <- j.Close() }()
			select {
			case err := <-closed:
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v, want %v", err, context.DeadlineExceeded)
				}
			case <-time.After(time.Hour):
				t.Fatal("it waits for the book")
			}
		})
	}
}
