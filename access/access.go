// Package access says which tokens a server answers to, and what each of them may do.
//
// A token is 32 random bytes as text. It is shown once, when it is made: a Book keeps its hash, so that a copy of the book lets
// no one in. A token has full entropy, therefore one round of SHA-256 is enough. What a token allows is its Grant: a user and a
// machine, reading or writing, some projects or all, until some day.
//
// A Book also has the audit log: which token wrote what and when, and which request was refused. The Journal collects
// such notes and writes them together.
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

// Errors that callers tell apart with errors.Is.
var (
	// ErrExist: there is a token with that name.
	ErrExist = errors.New("there is a token with this name")
	// ErrNoToken: there is no such token.
	ErrNoToken = errors.New("no such token")
)

// Grant is what the holder of a token may do.
type Grant struct {
	// Name names the token for people. No two tokens have the same, except revoked ones.
	Name string
	// User and Machine say whose token it is, and where it is used; "" if that was not said.
	User, Machine string
	// Write: the token may change sessions. Without it, it only reads.
	Write bool
	// Projects are patterns of working directories; see Match. None is all projects, and what belongs to none.
	Projects []string
	// Created is when the token was made. Expires is the first moment at which it is no longer good, Used when it was last used,
	// to the minute, and Revoked when it was revoked; zero for never.
	Created, Expires, Used, Revoked time.Time
}

// Limited reports whether the grant is for some projects only. A nil Grant is for everything.
func (g *Grant) Limited() bool { return g != nil && len(g.Projects) > 0 }

// Allows reports whether the grant is for a project, named by its working directory. What has no directory belongs to no
// project: only a grant that is not limited allows it.
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

// Check returns why the token is no longer good, nil if it is.
func (g *Grant) Check(now time.Time) error {
	switch {
	case !g.Revoked.IsZero():
		return fmt.Errorf("the token %q was revoked", g.Name)
	case !g.Expires.IsZero() && !now.Before(g.Expires):
		return fmt.Errorf("the token %q expired on %s", g.Name, g.Expires.UTC().Format("2006-01-02 15:04 UTC"))
	}
	return nil
}

// Writer is what is noted with everything that the token writes: "ann@laptop (token ann-laptop)".
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

// Validate returns what is wrong with a grant that is to be added.
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

// Keys are what a Book keeps of a token: hashes of the two texts by which a client proves that it knows it.
type Keys struct {
	// Token is the hash of the token itself, Cookie that of what a browser keeps in its place.
	Token, Cookie Sum
}

// tokenPrefix makes a token recognisable: for people, and for programs that look for secrets.
const tokenPrefix = "treeline_"

// NewToken makes a token from 32 random bytes.
func NewToken(random io.Reader) (string, error) {
	secret := make([]byte, 32)
	if _, err := io.ReadFull(random, secret); err != nil {
		return "", fmt.Errorf("random bytes for a token: %w", err)
	}
	return tokenPrefix + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(secret)), nil
}

// KeysOf gives what a Book keeps of a token.
func KeysOf(token string) Keys { return Keys{SumOf(token), SumOf(CookieOf(token))} }

// SumOf hashes what a client sent.
func SumOf(text string) Sum { return sha256.Sum256([]byte(text)) }

// CookieOf is the text that a browser keeps: it is made of the token, and the token cannot be found from it.
func CookieOf(token string) string {
	m := hmac.New(sha256.New, []byte(token))
	m.Write([]byte("cookie of the viewer"))
	return fmt.Sprintf("%x", m.Sum(nil))
}

// Book has the tokens of a server and its audit log. Its methods may be called from several goroutines at once.
type Book interface {
	// Add adds a token. ErrExist if one of that name was not revoked.
	Add(ctx context.Context, g Grant, k Keys) error
	// List gives all grants in the order of their names, those that were revoked too.
	List(ctx context.Context) ([]Grant, error)
	// Revoke ends a token at a time. ErrNoToken if none of that name is left.
	Revoke(ctx context.Context, name string, at time.Time) (Grant, error)
	// Find gives the grant of the token or cookie with a hash, also if it is no longer good. ErrNoToken if there is none. The
	// hash is compared in constant time.
	Find(ctx context.Context, sum Sum) (Grant, error)
	// Touch notes when tokens were last used, by name. Earlier times than those noted change nothing.
	Touch(ctx context.Context, used map[string]time.Time) error
	// Note adds records to the audit log.
	Note(ctx context.Context, records ...Record) error
	// Records gives the records that a query lets through, the newest first.
	Records(ctx context.Context, q Query) ([]Record, error)
	// Close ends the use of the book.
	Close() error
}
