package repair

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/blob"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/session"
)

// Check reports a missing blob at each entry that names it, and only for agents that keep blobs.
func TestCheck(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ref, err := blob.NewDir(b.At(".omp/agent/blobs")).Put(t.Context(), []byte("picture"))
	if err != nil {
		t.Fatal(err)
	}
	missing := blob.Sum([]byte("missing")).String()
	lines := []string{header}
	for i, data := range []string{ref.String(), missing, missing, "blob:sha256:short"} {
		lines = append(lines, fmt.Sprintf(`{"type":"message","id":"e%d","parentId":null,"timestamp":"t","message":{"role":"user","content":[{"type":"image","data":%q}]}}`, i, data))
	}
	log := strings.Join(lines, "\n") + "\n"
	for path, want := range map[string]string{
		".omp/agent/sessions/-x/a.jsonl":   "[missing-blob@3 missing-blob@4 bad-blob-ref@5]",
		".pi/agent/sessions/--x--/a.jsonl": "[]",
	} {
		l := b.open(b.Old(path, log))
		problems, err := Check(t.Context(), l, logtree.Blobs{Path: l.Path, Dialect: l.Dialect, Reader: b.m.Blobs(l.Path, l.Dialect)})
		got := []string{}
		for _, p := range problems {
			got = append(got, fmt.Sprintf("%s@%d", p.Kind, p.Line))
		}
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: %v, %v; want no error, fmt.Sprint(got) == %v", path, got, err, want)
		}
	}
}

// TestCheckLongHeader: a header that is too long for lists is reported.
func TestCheckLongHeader(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	long := strings.Replace(header, "{", `{"note":"`+strings.Repeat("x", place.HeadMost)+`",`, 1) + "\n"
	l := b.open(b.Old(".omp/agent/sessions/-x/a.jsonl", long))
	problems, err := Check(t.Context(), l, logtree.Blobs{})
	if err != nil || len(problems) != 1 || !strings.Contains(problems[0].Message, "64 MB") {
		t.Errorf(`%v, %v; want no error, len(problems) == 1, strings.Contains(problems[0].Message, "64 MB")`, problems, err)
	}
}

// A log may have a problem in every line. In quadratic time half a million of them take minutes.
func TestManyProblems(t *testing.T) {
	t.Parallel()
	const n = 500_000
	problem := func(kind session.ProblemKind, at int) session.Problem {
		return session.Problem{Kind: kind, Offset: int64(at)}
	}
	var known, more []session.Problem
	for i := range n {
		known = append(known, problem(session.ProblemField, i))
		more = append(more, problem(session.ProblemUnseen, i))
	}
	more = append(more, problem(session.ProblemField, 7), problem(session.ProblemUnseen, 7), problem(session.ProblemField, n))
	got := beside(known, more)
	if len(got) != 2*n+1 || got[n-1] != known[n-1] || got[n] != more[0] || got[2*n] != more[n+2] {
		t.Errorf("%d problems, the last: %v; want %d, each place and kind once, in order", len(got), got[len(got)-1], 2*n+1)
	}
}

// The error for a log that cannot be read names it once.
func TestSecretsUnreadable(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.Put("in/loop.jsonl", header+"\n")
	if err := errors.Join(os.Remove(path), os.Symlink("loop.jsonl", path)); err != nil {
		t.Skip(err) // without the right to make links
	}
	_, err := b.Secrets(t.Context(), path, nil)
	if err == nil || !strings.HasPrefix(err.Error(), path+": ") || strings.Contains(err.Error(), ": loop.jsonl") {
		t.Errorf("%v; want an error that begins with %s alone", err, path)
	}
}
