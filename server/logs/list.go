package logs

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/remote/protocol"
	"github.com/treeline-dev/treeline/server/guard"
)

type listParams struct {
	Prefix string `query:"prefix" doc:"only logs whose name begins with this"`
	After  string `query:"after" doc:"only logs whose name comes after this"`
	Limit  int    `query:"limit" doc:"at most so many; the default is all"`
	Marks  bool   `query:"marks" doc:"with marks and removed logs"`
}

// list sends the rows of all logs while they are found. A slow caller is cut off, and continues with the parameter after.
func (l *Logs) list(c *Call, p listParams) error {
	if len(p.Prefix) > protocol.NameMost || len(p.After) > protocol.NameMost {
		return guard.Refuse(http.StatusBadRequest, "a name has at most %d bytes", protocol.NameMost)
	}
	found, err := l.found(c.ctx(), p)
	if err != nil {
		return err
	}
	out := &rows{sender: l.begin(c, protocol.Lines, -1)}
	n, last := 0, protocol.Row{End: true}
	for row, err := range found {
		if err != nil && row.Name == "" {
			if out.begun {
				abort(err)
			}
			return err
		}
		if err != nil {
			row = protocol.Row{Name: row.Name, Problem: err.Error()}
		}
		if row.Name <= p.After || !l.shows(c, row) {
			continue
		}
		if last.More = p.Limit > 0 && n == p.Limit; last.More {
			break
		}
		if n++; out.add(row) != nil {
			abort(nil)
		}
	}
	if out.add(last) != nil || out.flush() != nil {
		abort(nil)
	}
	return nil
}

// found yields the rows of a list or of marks.
func (l *Logs) found(ctx context.Context, p listParams) (iter.Seq2[protocol.Row, error], error) {
	if !p.Marks {
		return func(yield func(protocol.Row, error) bool) {
			for at, err := range l.b.List(ctx, p.Prefix) {
				if !yield(protocol.NewRow(backend.Marked{Log: at}), err) {
					return
				}
			}
		}, nil
	}
	m, ok := l.b.(backend.Mirror)
	if !ok {
		return nil, fmt.Errorf("marks of copies: %w", errors.ErrUnsupported)
	}
	return func(yield func(protocol.Row, error) bool) {
		for at, err := range m.Marks(ctx, p.Prefix) {
			if !yield(protocol.NewRow(at), err) {
				return
			}
		}
	}, nil
}

// shows reports whether the caller may see a row. Problems of folders are shown only to callers that may see everything.
func (l *Logs) shows(c *Call, row protocol.Row) bool {
	at := backend.Log{Name: row.Name, Generation: row.Generation}
	if row.Removed != "" {
		at.Generation = "" // a removed log has no content
	}
	return c.May == nil || row.Problem == "" && c.mayRead(at)
}

type folderParams struct {
	Below string `query:"below" doc:"the folder; the default is the root"`
}

// folders lists folders. A limited caller sees those with a log that it may read.
func (l *Logs) folders(c *Call, p folderParams) error {
	if p.Below != "" {
		if err := (nameParams{p.Below}).check(); err != nil {
			return err
		}
	}
	list, err := backend.Folders(c.ctx(), l.b, p.Below)
	if err != nil {
		return err
	}
	if c.May != nil {
		if p.Below != "" {
			p.Below += "/"
		}
		list = slices.DeleteFunc(list, func(name string) bool { return !l.readable(c, p.Below+name+"/") })
	}
	if list == nil {
		list = []string{}
	}
	return l.Answer(c, list)
}

// readable reports whether the caller may read a log below a folder.
func (l *Logs) readable(c *Call, prefix string) bool {
	for at, err := range l.b.List(c.ctx(), prefix) {
		if err == nil && c.mayRead(at) {
			return true
		}
	}
	return false
}

// stat describes a log.
func (l *Logs) stat(c *Call, p nameParams) error {
	if err := p.check(); err != nil {
		return err
	}
	at, err := l.seen(c, p.Name, false)
	if err == nil && c.May == nil {
		at, err = l.b.Stat(c.ctx(), p.Name)
	}
	if err != nil {
		return err
	}
	return l.Answer(c, protocol.NewRow(backend.Marked{Log: at}))
}

// identity sends the identity of the archive.
func (l *Logs) identity(c *Call, _ noParams) error {
	i, ok := l.b.(backend.Identified)
	if !ok {
		return fmt.Errorf("the identity of this archive: %w", errors.ErrUnsupported)
	}
	id, err := i.Identity(c.ctx())
	if err != nil {
		return err
	}
	return l.Answer(c, protocol.Identity{ID: id})
}
