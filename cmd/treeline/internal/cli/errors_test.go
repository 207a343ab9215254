package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/runs"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/trash"
)

// TestHint: errors of the library get the command that helps.
func TestHint(t *testing.T) {
	a := &App{Console: console.Console{Getenv: func(string) string { return "" }}}
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("%q: %w", "x", place.ErrNoSession), "'treeline ls --all' lists them"},
		{fmt.Errorf("%q: %w", "x", trash.ErrNotInTrash), "'treeline rm --list' lists those that are"},
		{fmt.Errorf("@last: %w for /w", place.ErrNoSession), "'treeline ls --all' lists those of other directories"},
		{fmt.Errorf("%q: %w", "x", place.ErrUnknownSource), "'treeline sources' lists them"},
		{fmt.Errorf("%q: %w", "x", runs.ErrNoRun), "'treeline run ls --all' lists them"},
		{&store.ReadOnlyError{Dialect: "d"}, "'treeline convert' makes a session of it"},
		{fmt.Errorf("x: %w", &store.ReadOnlyError{Dialect: "d", Run: true}), "'treeline run record' records one"},
	} {
		if err := a.Hint(c.err); !strings.HasPrefix(err.Error(), c.err.Error()+"; "+c.want) || !errors.Is(err, c.err) {
			t.Errorf(`%v; want strings.HasPrefix(err.Error(), c.err.Error()+"; "+c.want), the error c.err`, err)
		}
	}
	for _, err := range []error{nil, errors.New("other"), store.ErrUnsupported} {
		if a.Hint(err) != err {
			t.Errorf("%v has a hint: %v", err, a.Hint(err))
		}
	}
}

// TestOncePath: an error names a path once.
func TestOncePath(t *testing.T) {
	t.Parallel()
	denied := &fs.PathError{Op: "open", Path: "/dir/sub/a.jsonl", Err: fs.ErrPermission}
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("/dir/sub/a.jsonl: %w", denied), "/dir/sub/a.jsonl: permission denied"},
		{fmt.Errorf("sub/a.jsonl: %w", denied), "/dir/sub/a.jsonl: permission denied"},
		{fmt.Errorf("it is gone: a.jsonl: %w", denied), "it is gone: /dir/sub/a.jsonl: permission denied"},
		{fmt.Errorf("b/a.jsonl: %w", denied), "b/a.jsonl: open /dir/sub/a.jsonl: permission denied"},
		{fmt.Errorf("sub/a.jsonl: %w; try again", denied), "sub/a.jsonl: open /dir/sub/a.jsonl: permission denied; try again"},
		{denied, "open /dir/sub/a.jsonl: permission denied"},
		{errors.New("a: a"), "a: a"},
	} {
		if got := OncePath(c.err); got.Error() != c.want || errors.Is(c.err, fs.ErrPermission) && !errors.Is(got, fs.ErrPermission) {
			t.Errorf("%v: %v, want %s", c.err, got, c.want)
		}
	}
}

// TestMoreProblems: the command that lists the problems which are not printed lists those of all files.
func TestMoreProblems(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		files int
		want  string
	}{{1, "'treeline check 0.jsonl' lists them"}, {3, "'treeline check --all' lists them"}} {
		var said bytes.Buffer
		a := &App{Console: console.Console{Getenv: func(string) string { return "" }}}
		a.Stderr = &said
		var list []session.Problem
		for i := range 20 {
			list = append(list, session.Problem{File: fmt.Sprintf("%d.jsonl", i%c.files), Line: i + 1})
		}
		a.Problems(list)
		if lines := strings.Count(said.String(), "\n"); lines != MostProblems+1 || !strings.Contains(said.String(), c.want) {
			t.Errorf("%d files: %d lines, not %d with %q:\n%s", c.files, lines, MostProblems+1, c.want, said.String())
		}
	}
}
