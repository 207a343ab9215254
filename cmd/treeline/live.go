package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/screen"
	runlog "github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// live prints changes for people: a line that names the session where it is another than before, then what is said.
type live struct {
	a    *app
	out  *output
	text bytes.Buffer // what t writes of one entry
	t    *transcript
	path string // of the session that was printed last
	ids  map[session.ID]string
}

// Labels are not known while a session is followed: see changeJSON.
func newLive(a *app, out *output) *live {
	l := &live{a: a, out: out, ids: map[session.ID]string{}}
	l.t = &transcript{
		out:   &output{Writer: bufio.NewWriter(&l.text), style: out.style, width: out.width},
		label: func(session.EntryID) string { return "" },
	}
	return l
}

// tell prints one change.
// Problems go to stderr, so that a pipe has entries alone.
func (l *live) tell(ctx context.Context, c store.Change) error {
	switch c.Kind {
	case store.ChangeStart:
	case store.ChangeEntry:
		return l.entry(ctx, c)
	case store.ChangeSession:
		// Its name stands before what is said in it. Who is told of a new title sees it there.
		l.path = ""
	case store.ChangeProblem:
		fmt.Fprintf(l.a.stderr, "treeline: %s\n", screen.Clean(c.Err.Error()))
	default:
		l.begin(c)
		l.t.last = note
		what := map[store.ChangeKind]string{
			store.ChangeReplaced:  "the file was replaced",
			store.ChangeTruncated: "the end of the file was cut off",
			store.ChangeRemoved:   "the file was removed",
		}[c.Kind]
		fmt.Fprintln(l.out, l.out.style.yellow("┄ "+what))
	}
	return nil
}

// begin names the session where it is another than before.
func (l *live) begin(c store.Change) {
	if l.path == c.Path {
		return
	}
	if l.path != "" || l.t.last != nothing {
		fmt.Fprintln(l.out)
	}
	l.path = c.Path
	st := l.out.style
	id := screen.OneLine(l.short(c), 40)
	name := screen.OneLine(orElse(strings.TrimSpace(c.Title), c.Prompt), titleColumns)
	cwd := tilde(screen.OneLine(c.Header.CWD, 0), l.a.home())
	if l.out.width > 0 {
		name = screen.Cut(name, max(l.out.width-displayWidth("━━  "+id), 8))
		cwd = screen.CutPath(cwd, max(l.out.width-displayWidth("━━   · "+id+name), 12))
	}
	line := "━━ " + st.yellow(id)
	if name != "" {
		line += " " + st.bold(name)
	}
	if cwd != "" {
		line += " " + st.dim("· "+cwd)
	}
	fmt.Fprintln(l.out, line)
}

// short is the beginning of a session's id that no other one has that was shown; of a file without an id its path.
// What was shown once keeps its name, also when a later id begins alike.
func (l *live) short(c store.Change) string {
	const least = 8
	id := c.Header.ID
	if id == "" {
		return c.Path
	}
	if _, ok := l.ids[id]; !ok {
		n := min(least, len(id))
		for other := range l.ids {
			for n < len(id) && strings.HasPrefix(string(other), string(id[:n])) {
				n++
			}
		}
		l.ids[id] = string(id[:n])
	}
	return l.ids[id]
}

// entry prints an entry, if people see such entries.
// The entry is written to a buffer first: one that people do not see must not bring the session's name with it.
func (l *live) entry(ctx context.Context, c store.Change) error {
	write, err := l.writer(c)
	if err != nil {
		return err
	}
	l.t.blobSize = func(ref string) int64 { return blobSize(ctx, c, ref) }
	l.t.cwd = c.Header.CWD
	before := l.t.last
	if l.path != c.Path {
		l.t.last = nothing
	}
	l.text.Reset()
	write()
	if err := l.t.out.Flush(); err != nil {
		return err
	}
	if l.text.Len() == 0 {
		l.t.last = before
		return nil
	}
	last := l.t.last
	l.t.last = before
	l.begin(c)
	l.t.last = last
	_, err = l.out.Write(l.text.Bytes())
	return err
}

// writer gives what writes an entry. A record of a run is one that the user saw or one that says how far the run is: unlike
// a session, whose records are there for its words, a run is followed for what happens.
func (l *live) writer(c store.Change) (func(), error) {
	if _, ok := c.Dialect.(dialect.Runs); ok {
		if body, err := runlog.Decode(c.Raw); err == nil {
			return func() {
				if !l.t.record(body) {
					l.t.aside(body)
				}
			}, nil
		}
	}
	v, err := lookInto(c.Dialect.Codec(), c.Entry, c.Raw)
	return func() { l.t.entry(v) }, err
}
