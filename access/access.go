// Package access defines which tokens a server accepts, and what each of them allows.
//
// A token is 32 random bytes as text. It is shown once, when it is created: a Book stores only its hash, so a copy of the book gives no
// access. A token has full entropy, so one round of SHA-256 is enough. What a token allows is its Grant: its user and machine, reading or
// writing, some projects or all, and until when.
//
// A Book also has the audit log: which token wrote what and when, and which requests were refused. The Journal collects such records and
// writes them in batches.
package access

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Errors that callers can distinguish with errors.Is.
var (
	// ErrExist means that a token with that name exists.
	ErrExist = errors.New("there is a token with this name")
	// ErrNoToken means that there is no such token.
	ErrNoToken = errors.New("no such token")
)

// Grant is what a token allows.
type Grant struct {
	// Name is the name of the token, which is unique among tokens that are not revoked.
	Name string
	// User and Machine say whose token it is and where it is used; "" means that this is not known.
	User, Machine string
	// Write allows changing sessions. Without it, the token may only read.
	Write bool
	// Projects are patterns of working directories; see Match. An empty list allows all projects, and what belongs to none.
	Projects []string
	// Created is when the token was created, Expires the first time at which it is no longer valid, Used when it was last used, to the
	// minute, and Revoked when it was revoked. The zero time means never.
	Created, Expires, Used, Revoked time.Time
}

// Limited reports whether the grant is limited to some projects. A nil Grant allows everything.
func (g *Grant) Limited() bool { return g != nil && len(g.Projects) > 0 }

// Allows reports whether the grant allows a project, given by its working directory. Anything without a directory belongs to no project:
// only a grant that is not limited allows it.
func (g *Grant) Allows(project string) bool {
	if !g.Limited() {
		return true
	}
	for _, p := range g.Projects {
		if Match(p, project) {
			return true
		}
	}
	return false
}

// Check returns why the token is no longer valid, or nil if it is.
func (g *Grant) Check(now time.Time) error {
	switch {
	case !g.Revoked.IsZero():
		return fmt.Errorf("the token %q was revoked", g.Name)
	case !g.Expires.IsZero() && !now.Before(g.Expires):
		return fmt.Errorf("the token %q expired on %s", g.Name, g.Expires.UTC().Format("2006-01-02 15:04 UTC"))
	}
	return nil
}

// Writer returns what is recorded with each write of the token: "ann@laptop (token ann-laptop)".
func (g *Grant) Writer() string {
	who := g.User
	if g.Machine != "" {
		who += "@" + g.Machine
	}
	return strings.TrimSpace(who + " (token " + g.Name + ")")
}

// Limits on the texts of a grant, in bytes, and on the number of its patterns.
const (
	longestName = 100
	longestGlob = 1000
	mostGlobs   = 100
)

// Validate returns what is wrong with a new grant, or nil.
func (g *Grant) Validate() error {
	for _, one := range []struct {
		what, text string
		need       bool
	}{{"the name of a token", g.Name, true}, {"a user", g.User, false}, {"a machine", g.Machine, false}} {
		switch {
		case one.text == "" && !one.need:
		case one.text == "" || len(one.text) > longestName || strings.TrimSpace(one.text) != one.text || !printable(one.text):
			return fmt.Errorf("%q: %s has 1 to %d characters that can be printed, and no space at its ends", one.text, one.what, longestName)
		}
	}
	if len(g.Projects) > mostGlobs {
		return fmt.Errorf("a token has at most %d patterns of projects, not %d", mostGlobs, len(g.Projects))
	}
	for _, p := range g.Projects {
		if err := CheckPattern(p); err != nil {
			return err
		}
	}
	return nil
}

func printable(text string) bool {
	return utf8.ValidString(text) && strings.IndexFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }) < 0
}

// Sum is the hash of a token or of a cookie.
type Sum [sha256.Size]byte

// Keys is what a Book stores of a token: hashes of the two texts by which a client can prove that it knows the token.
type Keys struct {
	// Token is the hash of the token itself, and Cookie that of the text that a browser has instead.
	Token, Cookie Sum
}

// tokenPrefix makes tokens recognizable for people, and for programs that search for secrets.
const tokenPrefix = "treeline_"

// NewToken returns a new token, made of 32 random bytes.
func NewToken(random io.Reader) (string, error) {
	secret := make([]byte, 32)
	if _, err := io.ReadFull(random, secret); err != nil {
		return "", fmt.Errorf("random bytes for a token: %w", err)
	}
	return tokenPrefix + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(secret)), nil
}

// KeysOf returns what a Book stores of a token.
func KeysOf(token string) Keys { return Keys{SumOf(token), SumOf(CookieOf(token))} }

// SumOf hashes what a client sent.
func SumOf(text string) Sum { return sha256.Sum256([]byte(text)) }

// CookieOf returns the text for a browser's cookie: it is derived from the token, which cannot be computed from it.
func CookieOf(token string) string {
	m := hmac.New(sha256.New, []byte(token))
	m.Write([]byte("cookie of the viewer"))
	return fmt.Sprintf("%x", m.Sum(nil))
}

// Book has the tokens of a server and its audit log. Its methods may be called concurrently.
type Book interface {
	// Add adds a token. The error is ErrExist if there is one with that name that is not revoked.
	Add(ctx context.Context, g Grant, k Keys) error
	// List returns all grants, including revoked ones, in the order of their names.
	List(ctx context.Context) ([]Grant, error)
	// Revoke revokes the token with a name, as of a time. The error is ErrNoToken if no unrevoked token has that name.
	Revoke(ctx context.Context, name string, at time.Time) (Grant, error)
	// Find returns the grant of the token or cookie with a hash, even if it is no longer valid. The error is ErrNoToken if no token has that hash.
	// The hash is compared in constant time.
	Find(ctx context.Context, sum Sum) (Grant, error)
	// Touch records when tokens were last used, by name. It ignores times that are earlier than the recorded ones.
	Touch(ctx context.Context, used map[string]time.Time) error
	// Note adds records to the audit log.
	Note(ctx context.Context, records ...Record) error
	// Records returns the records that match a query, the newest first.
	Records(ctx context.Context, q Query) ([]Record, error)
	// Close closes the book.
	Close() error
}
