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

// Keeper knows which tokens are good: one that all clients share, those of a book, or both.
type Keeper struct {
	// Shared is the token that lets a client do everything; "" for none.
	Shared string
	// Book has the tokens of users; nil for none.
	Book access.Book
	// Clock is the time.
	Clock func() time.Time

	limit limiter

	mu    sync.Mutex
	known map[access.Sum]known
}

// known is a token that was good when it was last looked for.
type known struct {
	grant *access.Grant // nil for the shared one
	at    time.Time
}

const (
	// knownTime is how long a token counts as good without another look into the book: a revoked one is good for no longer.
	knownTime = 5 * time.Second
	// knownMost bounds the tokens that are remembered.
	knownMost = 4096
)

// check gives the grant of what a client sent, nil for the shared token. A client that sent too many wrong ones is refused
// without a look, so that guessing takes time; one whose token was good before is not, so that a stranger at the same address
// does not lock it out.
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
	if err == nil {
		k.remember(sum, known{g, now})
	} else {
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

// Unchecked is the error if the book of tokens cannot be read.
type Unchecked struct{ Err error }

// Error implements error. The client is not told more.
func (*Unchecked) Error() string { return "tokens cannot be checked at the moment" }

// Unwrap gives the reason.
func (u *Unchecked) Unwrap() error { return u.Err }

// find looks for a token, the shared one first. Hashes are compared in constant time.
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

// remember keeps a good token in mind.
func (k *Keeper) remember(sum access.Sum, one known) {
	if k.known == nil || len(k.known) >= knownMost {
		k.known = map[access.Sum]known{}
	}
	k.known[sum] = one
}

// refused is the error for a token that is no longer good.
func refused(g *access.Grant, now time.Time) error {
	if g == nil {
		return nil
	}
	if err := g.Check(now); err != nil {
		return &Refusal{Status: http.StatusUnauthorized, Message: err.Error(), Grant: g}
	}
	return nil
}

// CookieName is the cookie of browsers. Its value is made of the token and is not the token itself.
const CookieName = "treeline"

// Closed reports whether clients need a token.
func (g *Guard) Closed() bool { return g.Keeper != nil }

// Given is what a client sent to be let in: a token, or the cookie that stands for one.
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

// Admit gives the grant of a request; nil if the client may do everything.
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

// Login checks the token that a person typed, and gives the cookie that stands for it.
func (g *Guard) Login(r *http.Request, token string) (*http.Cookie, *access.Grant, error) {
	grant, err := g.Keeper.check(r.Context(), g.Address(r), token)
	if err != nil {
		return nil, nil, err
	}
	return g.cookie(access.CookieOf(token), 30*24*time.Hour), grant, nil
}

// Logout gives the cookie that has a browser forget its token.
func (g *Guard) Logout() *http.Cookie { return g.cookie("", -time.Second) }

func (g *Guard) cookie(value string, age time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: CookieName, Value: value, Path: g.Base + "/", HttpOnly: true, Secure: g.Secure,
		SameSite: http.SameSiteStrictMode, MaxAge: int(age / time.Second),
	}
}
