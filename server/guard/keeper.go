package guard

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/treeline-dev/treeline/access"
)

// Keeper knows the valid tokens: one that all clients share, those of a book, or both.
type Keeper struct {
	// Shared is the token that allows everything; "" means none.
	Shared string
	// Book has the tokens of users; nil means none.
	Book access.Book
	// Clock returns the time.
	Clock func() time.Time

	limit limiter

	mu    sync.Mutex
	known map[access.Sum]known
}

// known is a token that was valid at its last check.
type known struct {
	grant *access.Grant // nil for the shared one
	at    time.Time
}

const (
	// knownTime is how long a token counts as valid without another look into the book, and so how long a revoked one may still work.
	knownTime = 5 * time.Second
	// knownMost is the largest number of tokens that are remembered.
	knownMost = 4096
)

// check returns the grant of a token or cookie; nil for the shared token. Too many wrong tokens from an address are refused without a look
// into the book, so that guessing takes time. A token that was valid before is still checked, so that others at the same address cannot
// lock its owner out.
func (k *Keeper) check(ctx context.Context, address, text string) (*access.Grant, error) {
	now, sum := k.Clock(), access.SumOf(text)
	k.mu.Lock()
	was, seen := k.known[sum]
	k.mu.Unlock()
	if seen && now.Sub(was.at) < knownTime && !now.Before(was.at) {
		return was.grant, refused(was.grant, now)
	}
	if wait := k.limit.wait(address, now); wait > 0 && !seen {
		return nil, &Refusal{Status: http.StatusTooManyRequests, Message: "too many wrong tokens came from this address; wait before the next try", Wait: wait}
	}
	g, err := k.find(ctx, sum)
	k.mu.Lock()
	switch {
	case err == nil:
		k.remember(sum, known{g, now})
	case errors.Is(err, access.ErrNoToken):
		delete(k.known, sum)
	}
	k.mu.Unlock()
	switch {
	case errors.Is(err, access.ErrNoToken):
		k.limit.fail(address, now)
		return nil, Refuse(http.StatusUnauthorized, "the token is wrong")
	case err != nil:
		return nil, &Unchecked{err}
	}
	return g, refused(g, now)
}

// Unchecked is the error of a book of tokens that cannot be read.
type Unchecked struct{ Err error }

// Error implements error. It does not tell the client the reason.
func (*Unchecked) Error() string { return "tokens cannot be checked at the moment" }

// Unwrap returns the reason.
func (u *Unchecked) Unwrap() error { return u.Err }

// find looks a token up, the shared one first. Hashes are compared in constant time.
func (k *Keeper) find(ctx context.Context, sum access.Sum) (*access.Grant, error) {
	if k.Shared != "" && access.KeysOf(k.Shared).Has(sum) {
		return nil, nil
	}
	if k.Book == nil {
		return nil, access.ErrNoToken
	}
	g, err := k.Book.Find(ctx, sum)
	return &g, err
}

// remember keeps a valid token.
func (k *Keeper) remember(sum access.Sum, one known) {
	if k.known == nil || len(k.known) >= knownMost {
		k.known = map[access.Sum]known{}
	}
	k.known[sum] = one
}

// refused returns the error for a token that is no longer valid.
func refused(g *access.Grant, now time.Time) error {
	if g == nil {
		return nil
	}
	if err := g.Check(now); err != nil {
		return &Refusal{Status: http.StatusUnauthorized, Message: err.Error(), Grant: g}
	}
	return nil
}

// CookieName is the name of the browsers' cookie. Its value is derived from the token, but is not the token.
const CookieName = "treeline"

// Closed reports whether clients need a token.
func (g *Guard) Closed() bool { return g.Keeper != nil }

// Given returns the token that a client sent, or the cookie that stands for one.
func Given(r *http.Request) (text string, ok bool) {
	if given := r.Header.Get("Authorization"); given != "" {
		kind, text, _ := strings.Cut(given, " ")
		if !strings.EqualFold(kind, "Bearer") {
			text = ""
		}
		return text, true
	}
	if c, err := r.Cookie(CookieName); err == nil {
		return c.Value, true
	}
	return "", false
}

// Admit returns the grant of a request, or nil if the client may do everything.
func (g *Guard) Admit(r *http.Request) (*access.Grant, error) {
	if g.Keeper == nil {
		return nil, nil
	}
	text, ok := Given(r)
	if !ok {
		return nil, Refuse(http.StatusUnauthorized, "a token is needed: send it as \"Authorization: Bearer TOKEN\", or log in")
	}
	return g.Keeper.check(r.Context(), g.Address(r), text)
}

// Login checks the token that a person typed, and returns the cookie that stands for it.
func (g *Guard) Login(r *http.Request, token string) (*http.Cookie, *access.Grant, error) {
	grant, err := g.Keeper.check(r.Context(), g.Address(r), token)
	if err != nil {
		return nil, nil, err
	}
	return g.cookie(access.CookieOf(token), 30*24*time.Hour), grant, nil
}

// Logout returns a cookie that makes a browser delete its own.
func (g *Guard) Logout() *http.Cookie { return g.cookie("", -time.Second) }

// cookie makes the cookie. A browser also sends it when a person follows a link from another site, which only reads, and with no other
// request of such a site.
func (g *Guard) cookie(value string, age time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: CookieName, Value: value, Path: g.Base + "/", HttpOnly: true, Secure: g.Secure,
		SameSite: http.SameSiteLaxMode, MaxAge: int(age / time.Second),
	}
}
