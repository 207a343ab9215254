package remote_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	server "github.com/treeline-dev/treeline/backend/remote"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/index/indextest"
	"github.com/treeline-dev/treeline/index/query"
	"github.com/treeline-dev/treeline/index/remote"
	"github.com/treeline-dev/treeline/index/remote/protocol"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

// stranger answers every question with the same text, or with an error.
type stranger struct {
	says  string
	err   error
	asked int
}

func (s *stranger) Ask(_ context.Context, _ string, _, into any) error {
	if s.asked++; s.err != nil {
		return s.err
	}
	return json.Unmarshal([]byte(s.says), into)
}

func (s *stranger) Close() error { return nil }

// encoded returns a log as a server sends it.
func encoded(t *testing.T, change func(*index.Log)) string {
	t.Helper()
	l := indextest.Log("-p/a.jsonl", 9)
	l.Facts = &index.Facts{When: 5, Used: 5}
	change(&l)
	return base64.StdEncoding.EncodeToString(index.EncodeLog(&l))
}

func page(t *testing.T, p protocol.Page) string {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func same(*index.Log) {}

// An impossible answer of a server is refused, and nothing of it is used.
func TestHostile(t *testing.T) {
	t.Parallel()
	const from = "laptop-00000001/omp"
	one := func(l protocol.Log) protocol.Page { return protocol.Page{Logs: []protocol.Log{l}} }
	spans := func(list ...protocol.Span) protocol.Page {
		return one(protocol.Log{Source: from, Data: encoded(t, same), Spans: list})
	}
	cursor := func(p index.Position) protocol.Page {
		text, err := protocol.Cursor(&p)
		if err != nil {
			t.Fatal(err)
		}
		return protocol.Page{Next: text}
	}
	q, err := query.Parse("tomatoes", query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sel := index.Selection{Below: "laptop-00000001", After: &index.Position{Key: int64(100), When: 100, Name: "m"}, Limit: 10}
	for what, p := range map[string]protocol.Page{
		"no log":                {Logs: []protocol.Log{{Source: from, Data: "no log!!"}}},
		"half a log":            one(protocol.Log{Source: from, Data: encoded(t, same)[:40]}),
		"no source":             one(protocol.Log{Source: "laptop-00000001", Data: encoded(t, same)}),
		"a folder above":        one(protocol.Log{Source: "laptop-00000001/..", Data: encoded(t, same)}),
		"another machine":       one(protocol.Log{Source: "laptop-000000012/omp", Data: encoded(t, same)}),
		"a name above":          one(protocol.Log{Source: from, Data: encoded(t, func(l *index.Log) { l.Name = "../../x" })}),
		"a negative size":       one(protocol.Log{Source: from, Data: encoded(t, func(l *index.Log) { l.Stamp.Size = -1 })}),
		"a parent above":        one(protocol.Log{Source: from, Data: encoded(t, func(l *index.Log) { l.Facts.Parent = protocol.Inside + "../x" })}),
		"bytes before the log":  spans(protocol.Span{From: -1, To: 5}),
		"bytes after the log":   spans(protocol.Span{From: 0, To: 9001}),
		"no bytes":              spans(protocol.Span{From: 5, To: 5}),
		"bytes twice":           spans(protocol.Span{From: 0, To: 10}, protocol.Span{From: 9, To: 20}),
		"no cursor":             {Next: "!"},
		"a cursor of a text":    cursor(index.Position{Key: "a"}),
		"the same page again":   cursor(*sel.After),
		"a page before":         cursor(index.Position{Key: int64(101), When: 0, Name: "z"}),
		"a newer one of equals": cursor(index.Position{Key: int64(100), When: 101, Name: "z"}),
		"an earlier name":       cursor(index.Position{Key: int64(100), When: 100, Name: "a"}),
	} {
		s := &stranger{says: page(t, p)}
		x := remote.New(s, "https://host")
		if list, _, err := x.Search(t.Context(), sel, q); !errors.Is(err, server.ErrNotServer) || list != nil {
			t.Errorf("%s: a search gives %d logs, %v", what, len(list), err)
		}
		if list, err := x.Select(t.Context(), sel); !errors.Is(err, server.ErrNotServer) || list != nil || s.asked != 2 {
			t.Errorf("%s: a page gives %d logs, %v after %d questions", what, len(list), err, s.asked)
		}
	}
	for _, says := range []string{`{"logs":-1,"with":[1]}`, `{"logs":1,"chunks":-1,"with":[1]}`, `{"logs":1}`, `{"logs":1,"with":[1,2]}`} {
		if n, err := remote.New(&stranger{says: says}, "https://host").Count(t.Context(), sel, q); !errors.Is(err, server.ErrNotServer) {
			t.Errorf("%s: %+v, %v; want the error server.ErrNotServer", says, n, err)
		}
	}
}

// Damaged bytes of a log are an error or another log, and never a panic.
func TestDamaged(t *testing.T) {
	t.Parallel()
	whole, err := base64.StdEncoding.DecodeString(encoded(t, same))
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		for _, b := range []byte{0, 0x7f, 0xff} {
			data := append([]byte{}, whole...)
			data[i] = b
			x := remote.New(&stranger{says: page(t, protocol.Page{Logs: []protocol.Log{{Source: "a/b", Data: base64.StdEncoding.EncodeToString(data), Chunks: 1 << 40}}})}, "https://host")
			list, err := x.Select(t.Context(), index.Selection{})
			if err != nil && !errors.Is(err, server.ErrNotServer) {
				t.Fatalf("byte %d is %x: %v", i, b, err)
			}
			for k := range list {
				list[k].Resume()
			}
		}
	}
}

// The parent of a log, if it is in the archive, has the path by which this client knows it.
func TestParent(t *testing.T) {
	t.Parallel()
	data := encoded(t, func(l *index.Log) {
		l.Facts.Parent, l.Summary.Parent = protocol.Inside+"a/omp/x.jsonl", "an id"
	})
	x := remote.New(&stranger{says: page(t, protocol.Page{Logs: []protocol.Log{{Source: "a/omp", Data: data}}})}, "https://host/base")
	list, err := x.Select(t.Context(), index.Selection{})
	if err != nil || len(list) != 1 || list[0].Facts.Parent != "https://host/base/a/omp/x.jsonl" || list[0].Summary.Parent != "an id" {
		t.Errorf(`%v, %v; want no error, len(list) == 1, list[0].Facts.Parent == "https://host/base/a/omp/x.jsonl", list[0].Summary.Parent == "an id"`, list, err)
	}
}

// A server without an index, an older one, and one of another version are distinguished from one that cannot be reached.
func TestNone(t *testing.T) {
	t.Parallel()
	lost := errors.New("connection refused")
	for _, c := range []struct {
		s    stranger
		want error
	}{
		{stranger{err: errors.ErrUnsupported}, index.ErrNone},
		{stranger{err: server.ErrNotServer}, index.ErrNone},
		{stranger{says: `{"version":1}`}, index.ErrNone},
		{stranger{err: server.ErrToken}, server.ErrToken},
		{stranger{err: lost}, lost},
	} {
		if _, err := remote.New(&c.s, "https://host").Changes(t.Context(), 1); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c.s, err, c.want)
		}
	}
	x := remote.New(&stranger{}, "https://host")
	if err := x.Put(t.Context(), "", index.Update{}); !errors.Is(err, index.ErrReadOnly) || !strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("put: %v", err)
	}
}

// script answers one question after the other.
type script struct {
	pages []protocol.Page
	asked []protocol.Question
}

func (s *script) Ask(_ context.Context, _ string, question, into any) error {
	s.asked = append(s.asked, question.(protocol.Question))
	*into.(*protocol.Page) = s.pages[0]
	s.pages = s.pages[1:]
	return nil
}

func (s *script) Close() error { return nil }

// All logs are requested page by page, each after the one before it, and no more than are wanted.
func TestPages(t *testing.T) {
	t.Parallel()
	var pages []protocol.Page
	for i := range 3 {
		next, err := protocol.Cursor(&index.Position{Key: int64(9 - i), When: 5, Name: "a/omp/x"})
		if err != nil {
			t.Fatal(err)
		}
		one := protocol.Log{Source: "a/omp", Data: encoded(t, same)}
		pages = append(pages, protocol.Page{Logs: []protocol.Log{one, one}, Next: next})
	}
	pages[2].Next = ""
	for limit, want := range map[int][]int{0: {0, 0, 0}, 2: {2}, 4: {4, 2}, 100: {100, 98, 96}} {
		s := &script{pages: pages}
		list, err := remote.New(s, "https://host").Select(t.Context(), index.Selection{Limit: limit})
		if err != nil || len(list) != 2*len(want) || len(s.asked) != len(want) {
			t.Fatalf("%d: %d logs of %d pages, %v", limit, len(list), len(s.asked), err)
		}
		for i, q := range s.asked {
			if q.Selection.Limit != want[i] || (q.Selection.After == nil) != (i == 0) || i > 0 && q.Selection.After.Key != int64(10-i) {
				t.Errorf("%d: page %d is asked for as %+v", limit, i, q.Selection)
			}
		}
	}
	if list, err := remote.New(&script{pages: pages}, "https://host").Select(t.Context(), index.Selection{Limit: 3}); !errors.Is(err, server.ErrNotServer) {
		t.Errorf("a page that is too long: %d logs, %v", len(list), err)
	}
}

func TestMain(m *testing.M) { os.Exit(soaktest.Main(m)) }

// endless answers every question with a page that has a successor.
type endless struct {
	asked int
	logs  []protocol.Log
}

func (e *endless) Ask(_ context.Context, _ string, _, into any) (err error) {
	e.asked++
	p := into.(*protocol.Page)
	p.Logs = e.logs
	p.Next, err = protocol.Cursor(&index.Position{Key: int64(-e.asked), Name: "a/omp/x"})
	return err
}

func (e *endless) Close() error { return nil }

// A server that sends logs or pages without end, or too many at once, is refused.
func TestEndless(t *testing.T) {
	t.Parallel()
	one := protocol.Log{Source: "a/omp", Data: encoded(t, same)}
	for what, logs := range map[string][]protocol.Log{
		"no logs":  nil,
		"logs":     slices.Repeat([]protocol.Log{one}, protocol.LogsMost),
		"too many": slices.Repeat([]protocol.Log{one}, protocol.LogsMost+1),
	} {
		if list, err := remote.New(&endless{logs: logs}, "https://host").Select(t.Context(), index.Selection{}); !errors.Is(err, server.ErrNotServer) || list != nil {
			t.Errorf("%s: %d logs, %v", what, len(list), err)
		}
	}
}
