package guard_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/access"
	"github.com/treeline-dev/treeline/server/guard"
)

// book is a book of tokens that can fail.
type book struct {
	access.Memory
	fails error
}

func (b *book) Find(ctx context.Context, sum access.Sum) (access.Grant, error) {
	if b.fails != nil {
		return access.Grant{}, b.fails
	}
	return b.Memory.Find(ctx, sum)
}

// gate is a guard with a book, and a clock that the test moves.
type gate struct {
	*guard.Guard
	book book
	now  time.Time
}

func newGate() *gate {
	g := &gate{now: time.Date(2026, 11, 16, 14, 30, 0, 0, time.UTC)}
	g.Guard = &guard.Guard{Keeper: &guard.Keeper{Book: &g.book, Clock: func() time.Time { return g.now }}}
	return g
}

// status returns the status with which a token is refused: 200 if it is not, 503 if it could not be checked.
func (g *gate) status(t *testing.T, token string) int {
	t.Helper()
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	_, err := g.Admit(r)
	var refusal *guard.Refusal
	var unchecked *guard.Unchecked
	switch {
	case err == nil:
		return http.StatusOK
	case errors.As(err, &refusal):
		return refusal.Status
	case errors.As(err, &unchecked):
		return http.StatusServiceUnavailable
	}
	t.Fatal(err)
	return 0
}

// TestBookFails: after the book could not be read, a token that was valid is still checked, whatever wrong tokens came from its address. A
// token that the book no longer has is like any other wrong one.
func TestBookFails(t *testing.T) {
	t.Parallel()
	g := newGate()
	if err := g.book.Add(t.Context(), access.Grant{Name: "laptop"}, access.KeysOf("right")); err != nil {
		t.Fatal(err)
	}
	want := func(when, token string, status int) {
		t.Helper()
		if got := g.status(t, token); got != status {
			t.Errorf("%s: the token %q has status %d, want %d", when, token, got, status)
		}
	}
	want("at first", "right", http.StatusOK)
	for range 10 {
		want("before the limit", "wrong", http.StatusUnauthorized)
	}
	want("after the limit", "wrong", http.StatusTooManyRequests)
	g.now = g.now.Add(5 * time.Second)
	g.book.fails = errors.New("no connection")
	want("without the book", "right", http.StatusServiceUnavailable)
	g.book.fails = nil
	want("with the book again", "right", http.StatusOK)

	g.now = g.now.Add(5 * time.Second)
	g.book.fails = access.ErrNoToken
	want("when the book has lost it", "right", http.StatusUnauthorized)
	for range 10 {
		g.status(t, "wrong")
	}
	want("after that", "right", http.StatusTooManyRequests)
}
