package wire

import (
	"context"
	"errors"

	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/watch"
)

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

// NewChange gives one event. It fails where the entry cannot be decoded.
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

// changeBlob is the size of a blob that an entry names, -1 where it cannot be read.
func changeBlob(ctx context.Context, c watch.Change, ref string) int64 {
	data, p := c.Blob(ctx, ref)
	if p != nil {
		return -1
	}
	return int64(len(data))
}
