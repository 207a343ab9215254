// Package accesstest tests the contract of access.Book.
package accesstest

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/access"
	"github.com/treeline-dev/treeline/internal/difftest"
)

// Now is the time of the suite.
var Now = time.Date(2026, 2, 16, 12, 0, 0, 0, time.UTC)

// Run tests the books that open returns. Each book must be empty.
func Run(t *testing.T, open func(t *testing.T) access.Book) {
	t.Run("tokens", func(t *testing.T) { tokens(t, open(t)) })
	t.Run("revoke", func(t *testing.T) { revoke(t, open(t)) })
	t.Run("touch", func(t *testing.T) { touch(t, open(t)) })
	t.Run("records", func(t *testing.T) { records(t, open(t)) })
	t.Run("refusals", func(t *testing.T) { refusals(t, open(t)) })
}

// add creates a token whose 32 bytes are all n.
func add(t *testing.T, b access.Book, n byte, g access.Grant) (token string) {
	t.Helper()
	token, err := access.NewToken(bytes.NewReader(bytes.Repeat([]byte{n}, 32)))
	if err == nil {
		err = b.Add(t.Context(), g, access.KeysOf(token))
	}
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func find(t *testing.T, b access.Book, text string) (g access.Grant, found bool) {
	t.Helper()
	g, err := b.Find(t.Context(), access.SumOf(text))
	if err != nil && !errors.Is(err, access.ErrNoToken) {
		t.Fatal(err)
	}
	return g, err == nil
}

// tokens checks that a token is found by itself and by its cookie, and by nothing else.
func tokens(t *testing.T, b access.Book) {
	if list, err := b.List(t.Context()); err != nil || len(list) != 0 {
		t.Fatalf("an empty book: %v, %v", list, err)
	}
	if _, found := find(t, b, ""); found {
		t.Error("an empty book has a token for nothing")
	}
	want := access.Grant{
		Name: "ann's laptop", User: "ann", Machine: "laptop", Write: true, Projects: []string{"/home/*/work/**", `C:\work\**`},
		Created: Now, Expires: Now.Add(time.Hour),
	}
	token := add(t, b, 1, want)
	plain := access.Grant{Name: "Zoë", Created: Now}
	other := add(t, b, 2, plain)
	for _, text := range []string{token, access.CookieOf(token)} {
		g, _ := find(t, b, text)
		if diff := difftest.Diff(want, g); diff != "" {
			t.Errorf("the grant differs:\n%s", diff)
		}
	}
	g, _ := find(t, b, other)
	if diff := difftest.Diff(plain, g); diff != "" {
		t.Errorf("the other grant differs:\n%s", diff)
	}
	for _, text := range []string{"", token[:len(token)-1], token + "a", access.CookieOf(access.CookieOf(token)), "' or 1=1 --"} {
		if _, found := find(t, b, text); found {
			t.Errorf("%q is a token", text)
		}
	}
	list, err := b.List(t.Context())
	if diff := difftest.Diff([]access.Grant{plain, want}, list); err != nil || diff != "" {
		t.Errorf("the list differs (%v):\n%s", err, diff)
	}
}

// revoke checks that a revoked token is found as revoked, and that its name is free again.
func revoke(t *testing.T, b access.Book) {
	first := access.Grant{Name: "ci", Created: Now}
	token := add(t, b, 1, first)
	if err := b.Add(t.Context(), access.Grant{Name: "ci"}, access.KeysOf("x")); !errors.Is(err, access.ErrExist) {
		t.Errorf("a second one of the same name: %v", err)
	}
	at := Now.Add(time.Minute)
	if g, err := b.Revoke(t.Context(), "ci", at); err != nil || !g.Revoked.Equal(at) || g.Name != "ci" {
		t.Fatalf(`%+v, %v; want no error, g.Revoked.Equal(at), g.Name == "ci"`, g, err)
	}
	if g, found := find(t, b, token); !found || g.Check(at) == nil {
		t.Errorf("the token is still good: %t %+v", found, g)
	}
	for _, name := range []string{"ci", "none", ""} {
		if _, err := b.Revoke(t.Context(), name, at); !errors.Is(err, access.ErrNoToken) {
			t.Errorf("revoking %q: %v", name, err)
		}
	}
	again := add(t, b, 2, access.Grant{Name: "ci", Created: at})
	if g, _ := find(t, b, again); !g.Revoked.IsZero() {
		t.Error("the new token is revoked")
	}
	if list, err := b.List(t.Context()); err != nil || len(list) != 2 || list[0].Revoked.IsZero() || !list[1].Revoked.IsZero() {
		t.Errorf("%v: %+v; want no error, len(list) == 2, not list[0].Revoked.IsZero(), list[1].Revoked.IsZero()", err, list)
	}
}

// touch checks that only a later use counts.
func touch(t *testing.T, b access.Book) {
	token := add(t, b, 1, access.Grant{Name: "ci", Created: Now})
	for _, at := range []time.Time{Now.Add(time.Hour), Now} {
		if err := b.Touch(t.Context(), map[string]time.Time{"ci": at, "none": at}); err != nil {
			t.Fatal(err)
		}
	}
	if g, _ := find(t, b, token); !g.Used.Equal(Now.Add(time.Hour)) {
		t.Errorf("last used %s", g.Used)
	}
}

// records checks that the newest come first, and that queries select records.
func records(t *testing.T, b access.Book) {
	if list, err := b.Records(t.Context(), access.Query{}); err != nil || len(list) != 0 {
		t.Fatalf("an empty log: %v, %v", list, err)
	}
	all := []access.Record{
		{Time: Now, Token: "ci", User: "ann", Machine: "box", Address: "10.0.0.1", Action: "append", Target: "/a.jsonl", Project: "/work", Outcome: access.Done, Count: 3},
		{Time: Now.Add(time.Second), Address: "10.0.0.9", Action: "token", Outcome: access.Refused, Reason: "the token is wrong", Count: 1},
		{Time: Now.Add(2 * time.Second), Token: "bob", User: "bob", Action: "fork", Target: "/b'; drop table x; --", Outcome: access.Failed, Reason: "ünklar", Count: 1},
	}
	if err := b.Note(t.Context(), all[:2]...); err != nil {
		t.Fatal(err)
	}
	if err := b.Note(t.Context(), all[2]); err != nil {
		t.Fatal(err)
	}
	for name, one := range map[string]struct {
		query access.Query
		want  []int
	}{
		"all":     {access.Query{}, []int{2, 1, 0}},
		"token":   {access.Query{Token: "ci"}, []int{0}},
		"user":    {access.Query{User: "bob"}, []int{2}},
		"outcome": {access.Query{Outcome: access.Refused}, []int{1}},
		"since":   {access.Query{Since: Now.Add(time.Second)}, []int{2, 1}},
		"until":   {access.Query{Until: Now.Add(time.Second)}, []int{0}},
		"limit":   {access.Query{Limit: 2}, []int{2, 1}},
		"none":    {access.Query{Token: "ci", User: "bob"}, nil},
	} {
		want := []access.Record{}
		for _, i := range one.want {
			want = append(want, all[i])
		}
		list, err := b.Records(t.Context(), one.query)
		if diff := difftest.Diff(want, list); err != nil || diff != "" {
			t.Errorf("%s (%v):\n%s; want no error, diff == \"\"", name, err, diff)
		}
	}
}

// refusals checks that an invalid grant is not added.
func refusals(t *testing.T, b access.Book) {
	for _, g := range []access.Grant{
		{}, {Name: " a"}, {Name: "a\nb"}, {Name: "a", User: "\x1b[31m"}, {Name: "a", Projects: []string{"work"}},
		{Name: "a", Projects: slices.Repeat([]string{"/a"}, 101)}, {Name: string(bytes.Repeat([]byte("a"), 101))},
	} {
		if err := b.Add(t.Context(), g, access.KeysOf("x")); err == nil || errors.Is(err, access.ErrExist) {
			t.Errorf("%+v was added (%v)", g, err)
		}
	}
	if list, err := b.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("%v: %v; want no error, len(list) == 0", err, list)
	}
}
