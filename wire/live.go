package wire

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/watch"
)

// Live writes the changes of sessions that are followed: a line that names the session, unless it is the same as before, then the entry.
type Live struct {
	page Page
	home string
	text bytes.Buffer // one entry, as t writes it
	t    Transcript
	path string // of the session that the last change belongs to
	ids  map[session.ID]string
}

// NewLive returns a Live that writes to a page. It shortens paths in home.
func NewLive(p Page, home string) *Live {
	l := &Live{page: p, home: home, ids: map[session.ID]string{}}
	l.t.Page = p
	l.t.Writer = bufio.NewWriter(&l.text)
	return l
}

// Tell writes one change. It does not write problems: the caller may want them elsewhere.
func (l *Live) Tell(ctx context.Context, c watch.Change) error {
	switch c.Kind {
	case watch.KindStart, watch.KindProblem:
	case watch.KindEntry:
		return l.entry(ctx, c)
	case watch.KindSession:
		l.path = "" // the next entry names the session again, with its new title
	default:
		l.begin(c)
		l.t.Section()
		what := map[watch.Kind]string{
			watch.KindReplaced:  "the file was replaced",
			watch.KindTruncated: "the file was truncated",
			watch.KindRemoved:   "the file was removed",
		}[c.Kind]
		l.page.line(l.page.paint(StyleLabel, "┄ "+what))
	}
	return nil
}

// titleWidth is the number of columns of a title that are shown.
const titleWidth = 120

// begin names the session, unless it is the same as before.
func (l *Live) begin(c watch.Change) {
	if l.path == c.Path {
		return
	}
	p := &l.page
	if l.path != "" || l.t.last != nothing {
		p.line("")
	}
	l.path = c.Path
	id := screen.OneLine(l.short(c), 40)
	name := screen.OneLine(cmp.Or(strings.TrimSpace(c.Title), c.Prompt), titleWidth)
	cwd := Tilde(screen.OneLine(c.Header.CWD, 0), l.home)
	if p.Width > 0 {
		name = screen.Cut(name, max(p.Width-columnsOf("━━  "+id), 8))
		cwd = screen.CutPath(cwd, max(p.Width-columnsOf("━━   · "+id+name), 12))
	}
	line := "━━ " + p.paint(StyleLabel, id)
	if name != "" {
		line += " " + p.paint(StyleStrong, name)
	}
	if cwd != "" {
		line += " " + p.paint(StyleFaint, "· "+cwd)
	}
	p.line(line)
}

// short returns a prefix of the session's id that no session shown before has. Once shown, it stays the same, even if a later id has the
// same prefix. A file without an id is named by its path.
func (l *Live) short(c watch.Change) string {
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

// entry writes an entry, unless it is hidden from people. It writes to a buffer first, because a hidden entry must not name the session.
func (l *Live) entry(ctx context.Context, c watch.Change) error {
	write, err := l.writer(c)
	if err != nil {
		return err
	}
	l.t.BlobSize = func(ref string) int64 { return changeBlob(ctx, c, ref) }
	l.t.Dir = c.Header.CWD
	before := l.t.last
	if l.path != c.Path {
		l.t.last = nothing
	}
	l.text.Reset()
	write()
	if err := l.t.Flush(); err != nil {
		return err
	}
	after := l.t.last
	l.t.last = before
	if l.text.Len() == 0 {
		return nil
	}
	l.begin(c)
	l.t.last = after
	_, err = l.page.Write(l.text.Bytes())
	return err
}

// writer returns the function that writes an entry. Records of a run are always shown: people follow a run to see that it makes progress.
func (l *Live) writer(c watch.Change) (func(), error) {
	if _, ok := c.Dialect.(dialect.Runs); ok {
		if body, err := run.Decode(c.Raw); err == nil {
			if d, ok := c.Dialect.(interface{ MessageParts([]byte) []session.Part }); ok {
				l.t.MessageParts = d.MessageParts
			}
			return func() {
				if !l.t.Record(body) {
					l.t.Aside(body)
				}
			}, nil
		}
	}
	v, err := Decode(c.Dialect.Codec(), c.Entry, c.Raw)
	return func() { l.t.Entry(v) }, err
}

// Change is an event while sessions are followed. Members that do not apply to the event are absent.
type Change struct {
	Event watch.Kind `json:"event"`
	// Sessions is the number of sessions that are watched, for start.
	Sessions *int `json:"sessions,omitempty"`
	// Session is the id, Path the file. Both are absent for a problem with neither.
	Session session.ID `json:"session,omitempty"`
	Path    string     `json:"path,omitempty"`
	Dialect string     `json:"dialect,omitempty"`
	// CWD and Title are present when a session appears or its header changes.
	CWD   *string `json:"cwd,omitempty"`
	Title *string `json:"title,omitempty"`
	// Entry has no label: an entry is reported before anything can be said about it.
	Entry *Entry `json:"entry,omitempty"`
	// Message, Kind, Line and Offset describe a problem.
	Message string              `json:"message,omitempty"`
	Kind    session.ProblemKind `json:"kind,omitempty"`
	Line    int                 `json:"line,omitempty"`
	Offset  *int64              `json:"offset,omitempty"`
}

// NewChange returns one event. It fails if the entry cannot be decoded.
func NewChange(ctx context.Context, c watch.Change) (Change, error) {
	j := Change{Event: c.Kind, Session: c.Header.ID, Path: c.Path}
	if c.Dialect != nil {
		j.Dialect = c.Dialect.Name()
	}
	switch c.Kind {
	case watch.KindStart:
		j.Sessions = &c.Sessions
	case watch.KindSession:
		j.CWD, j.Title = &c.Header.CWD, &c.Title
	case watch.KindProblem:
		j.Message = c.Err.Error()
		var p *session.Problem
		if errors.As(c.Err, &p) {
			j.Message, j.Kind, j.Line, j.Offset = p.Message, p.Kind, p.Line, &p.Offset
		}
	case watch.KindEntry:
		v, err := Decode(c.Dialect.Codec(), c.Entry, c.Raw)
		if err != nil {
			return j, err
		}
		e := NewEntry(v, "", func(ref string) int64 { return changeBlob(ctx, c, ref) })
		j.Entry = &e
	}
	return j, nil
}

// changeBlob returns the size of a blob that an entry names, or -1 if it cannot be read.
func changeBlob(ctx context.Context, c watch.Change, ref string) int64 {
	data, p := c.Blob(ctx, ref)
	if p != nil {
		return -1
	}
	return int64(len(data))
}
