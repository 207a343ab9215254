package access_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/treeline-dev/treeline/access"
	"github.com/treeline-dev/treeline/access/accesstest"
	"github.com/treeline-dev/treeline/internal/difftest"
)

func TestMemory(t *testing.T) {
	accesstest.Run(t, func(*testing.T) access.Book { return &access.Memory{} })
}

func TestMatch(t *testing.T) {
	for _, one := range []struct {
		pattern string
		yes, no []string
	}{
		{"/home/*/work/**", []string{"/home/ann/work", "/home/ann/work/", "/home/ann/work/api", "/home/bob/work/a/b/c"},
			[]string{"/home/work", "/home/ann/workshop", "/home/ann/private", "/home/ann/work/../private", "/x/home/ann/work", "", "home/ann/work", "/"}},
		{"/work/api", []string{"/work/api", "/work/api/", "/work/./api"}, []string{"/work/api/sub", "/work", "/work/API", "/work/apis"}},
		{"/work/api-*", []string{"/work/api-a", "/work/api-"}, []string{"/work/api", "/work/api-a/b"}},
		{"/w?rk", []string{"/work", "/wörk"}, []string{"/wrk", "/wo/rk"}},
		{"/**/api", []string{"/api", "/a/api", "/a/b/api"}, []string{"/a/api/b", "/a/papi"}},
		{"/a/**/b/**/c", []string{"/a/b/c", "/a/x/b/y/z/c"}, []string{"/a/c/b", "/a/b"}},
		{"/**", []string{"/", "/a", "/a/b"}, []string{"", `C:\a`, "a"}},
		{"**", []string{"/a", `C:\a`, `\\server\share`}, []string{"", "a"}},
		{`C:\Users\*\work\**`, []string{`c:\users\Ann\work\x`, `C:/Users/ann/Work`}, []string{`D:\Users\ann\work`, "/C:/Users/ann/work", `C:\Users\ann\work\..\private`}},
		{`\\server\share\**`, []string{`\\SERVER\share\a`}, []string{"/server/share/a", `\\server\other`}},
		{"/a[b]", []string{"/a[b]"}, []string{"/ab"}},
		{`/a\*`, []string{`/a\b`}, []string{"/a/b"}},
		{"/*a*a*a*a*a*a*a*a*b", nil, []string{"/" + strings.Repeat("a", 5000)}},
	} {
		for _, dir := range one.yes {
			if !access.Match(one.pattern, dir) {
				t.Errorf("%s does not match %q", one.pattern, dir)
			}
		}
		for _, dir := range one.no {
			if access.Match(one.pattern, dir) {
				t.Errorf("%s matches %.50q", one.pattern, dir)
			}
		}
	}
}

func TestCheckPattern(t *testing.T) {
	for pattern, good := range map[string]bool{
		"/work": true, "/": true, "**": true, `C:\`: true, "c:/x/**": true, `\\server\share`: true,
		"": false, "work": false, "~/work": false, "/a**": false, "/a/**b/c": false, "C:work": false, "/a\x00": false, "/" + strings.Repeat("a", 2000): false,
	} {
		if err := access.CheckPattern(pattern); (err == nil) != good {
			t.Errorf("%.40q: %v; want (err == nil) == %v", pattern, err, good)
		}
	}
}

func TestAllows(t *testing.T) {
	var none *access.Grant
	limited := &access.Grant{Projects: []string{"/work/**"}}
	for _, one := range []struct {
		grant   *access.Grant
		project string
		want    bool
	}{
		{none, "/x", true}, {none, "", true}, {&access.Grant{}, "", true}, {&access.Grant{}, "/x", true},
		{limited, "/work/a", true}, {limited, "/x", false}, {limited, "", false},
	} {
		if got := one.grant.Allows(one.project); got != one.want {
			t.Errorf("%+v allows %q: %t", one.grant, one.project, got)
		}
	}
}

// A token has all of its 32 bytes and its prefix, and its cookie does not reveal it.
func TestToken(t *testing.T) {
	one, err := access.NewToken(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	two, err := access.NewToken(rand.Reader)
	if err != nil || one == two || !strings.HasPrefix(one, "treeline_") || len(one) != len("treeline_")+52 {
		t.Errorf("%q and %q (%v)", one, two, err)
	}
	if _, err := access.NewToken(bytes.NewReader(make([]byte, 31))); err == nil {
		t.Error("a token of 31 bytes")
	}
	if cookie := access.CookieOf(one); strings.Contains(cookie, one) || access.SumOf(cookie) == access.SumOf(one) {
		t.Error("the cookie is the token")
	}
}

func TestWriter(t *testing.T) {
	for want, g := range map[string]access.Grant{
		"ann@laptop (token a)": {Name: "a", User: "ann", Machine: "laptop"},
		"ann (token b)":        {Name: "b", User: "ann"},
		"@box (token c)":       {Name: "c", Machine: "box"},
		"(token d)":            {Name: "d"},
	} {
		if got := g.Writer(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// failing is a book that cannot be written for a while.
type failing struct {
	access.Memory
	mu   sync.Mutex
	down bool
}

func (f *failing) Note(ctx context.Context, records ...access.Record) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return errors.New("down")
	}
	return f.Memory.Note(ctx, records...)
}

// Equal records become one, uses are written once a minute, and what could not be written is written later.
func TestJournal(t *testing.T) {
	t.Parallel()
	b := &failing{down: true}
	if err := b.Add(t.Context(), access.Grant{Name: "ci"}, access.KeysOf("x")); err != nil {
		t.Fatal(err)
	}
	problems := make(chan error, 100)
	j := access.NewJournal(b, func(err error) { problems <- err })
	at := accesstest.Now
	for i := range 5 {
		j.Note(access.Record{Time: at.Add(time.Duration(i) * time.Second), Token: "ci", Action: "append", Target: "/a\x1b[31m", Outcome: access.Done})
	}
	j.Note(access.Record{Time: at, Token: "ci", Action: "fork", Outcome: access.Done})
	j.Use("ci", at)
	j.Use("ci", at.Add(30*time.Second)) // within the minute
	select {
	case <-problems:
	case <-time.After(20 * time.Second):
		t.Fatal("the problem is not told")
	}
	b.mu.Lock()
	b.down = false
	b.mu.Unlock()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := b.Records(t.Context(), access.Query{})
	want := []access.Record{
		{Time: at, Token: "ci", Action: "fork", Outcome: access.Done, Count: 1},
		{Time: at, Token: "ci", Action: "append", Target: "/a_[31m", Outcome: access.Done, Count: 5},
	}
	if diff := difftest.Diff(want, list); err != nil || diff != "" {
		t.Errorf("%v\n%s; want no error, diff == \"\"", err, diff)
	}
	if g, err := b.Find(t.Context(), access.SumOf("x")); err != nil || !g.Used.Equal(at) {
		t.Errorf("last used %s (%v)", g.Used, err)
	}
}

// A flood of different records does not grow without bound.
func TestJournalBound(t *testing.T) {
	t.Parallel()
	b := &access.Memory{}
	j := access.NewJournal(b, func(err error) { t.Error(err) })
	const n = 10000
	for i := range n {
		j.Note(access.Record{Time: accesstest.Now, Action: strings.Repeat("x", i%400) + string(rune('a'+i/400)), Outcome: access.Refused})
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := b.Records(t.Context(), access.Query{})
	total := 0
	for _, r := range list {
		total += r.Count
	}
	if err != nil || total != n || len(list) > 8200 {
		t.Errorf("%d records of %d notes (%v)", len(list), total, err)
	}
}
