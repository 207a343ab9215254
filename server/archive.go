package server

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"reflect"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/index"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/server/guard"
	"github.com/treeline-dev/treeline/server/indexed"
	"github.com/treeline-dev/treeline/server/logs"
)

// archived returns the operations on the logs, blobs and index of an archive. Packages logs and indexed carry them out.
func archived() (list []*operation) {
	for _, row := range logs.Rows() {
		list = append(list, passed(row, func(r *request, c *logs.Call, p any) error { return row.Answer(r.s.logs, c, p) }))
	}
	for _, row := range indexed.Rows() {
		list = append(list, passed(&row.Row, func(r *request, c *logs.Call, _ any) error { return row.Do(r.indexed(c)) }))
	}
	return list
}

// passed is an operation that another package carries out.
func passed(row *logs.Row, answer func(*request, *logs.Call, any) error) *operation {
	o := &operation{
		method: row.Method, path: row.Path, name: row.Name, doc: row.Doc, media: row.Media, body: row.Body, writes: row.Writes,
		params: row.Params, result: row.Result, fields: fieldsOf(row.Params),
	}
	o.call = func(r *request) error {
		p := reflect.New(o.params)
		if err := r.decodeQuery(p.Elem(), o.fields); err != nil {
			return err
		}
		// Content-Type must be given: a form of another site cannot send these types.
		kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if o.body != "" && kind != o.body {
			return guard.Refuse(http.StatusUnsupportedMediaType, "the body must have the header Content-Type: %s", o.body)
		}
		c := &logs.Call{W: r.w, R: r.Request, Writer: r.writing().Writer, Remains: r.remains}
		if r.grant.Limited() {
			c.May = r.may
		}
		return answer(r, c, p.Interface())
	}
	return o
}

// indexed returns the call of an operation on the index. A limited token sees only the part of the index that its lists show.
func (r *request) indexed(c *logs.Call) *indexed.Call {
	call := &indexed.Call{Call: c, Logs: r.s.logs, Root: r.s.store.ArchivedPath(""), Index: func(ctx context.Context, fresh bool) (index.Shared, error) {
		return r.s.store.Index(ctx, fresh, treeline.RefreshOptions{})
	}}
	if r.grant.Limited() {
		call.View = &indexed.View{
			May:      r.grant.Allows,
			Sessions: r.archive().Shown,
		}
	}
	return call
}

// may decides whether a token that is limited to projects may read or write a log; see logs.Call. To such a token, a log of another project
// does not exist. The catalogue knows the projects of sessions; for any other log, the log itself is read.
func (r *request) may(ctx context.Context, log backend.Log, write bool, head []byte) error {
	name := log.Name
	if err := r.mayWrite(); write && err != nil {
		return err // findMissingBlobs only reads, but counts as a write here: a writer may learn more
	}
	path := r.s.store.ArchivedPath(name)
	switch {
	case head == nil:
		project, err := r.projectAt(ctx, path, log.Generation)
		if err != nil || !r.grant.Allows(project) {
			return fmt.Errorf("%s: %w", name, backend.ErrNotExist)
		}
		if write {
			r.project = project
		}
		return nil
	case len(head) == 0: // a blob of a log that will be written next
		return nil
	}
	// Nothing may be put into the folder of another project's session, whatever it is.
	if owner := r.s.store.OwnerOf(path); owner != "" {
		if of, err := r.projectAt(ctx, owner, ""); err == nil && !r.grant.Allows(of) {
			return guard.Refuse(http.StatusForbidden, "the token %q is not for the session that %s belongs to", r.grant.Name, name)
		}
	}
	project, err := r.s.store.ProjectOf(ctx, path, head)
	if err == nil && !r.grant.Allows(project) {
		err = guard.Refuse(http.StatusForbidden, "the token %q is not for the project %q of %s", r.grant.Name, project, name)
	}
	r.project = project
	return err
}

// projectAt returns the project of the log at a path. generation is the log's generation, or "" if the caller does not know it. What a
// list, the index or an earlier call says about the log holds for one generation; it is used only while the log still has it.
func (r *request) projectAt(ctx context.Context, path, generation string) (project string, err error) {
	if decides := r.s.store.ProjectLog(path); decides != path {
		path, generation = decides, ""
	}
	if generation == "" {
		if generation, err = r.s.generationAt(ctx, path); err != nil {
			return "", err
		}
	}
	if project, known := r.s.projects.Get(path, generation); known {
		return project, nil
	}
	row, err := r.rowAt(ctx, path)
	if err != nil {
		return "", err
	}
	if row != nil && row.Log.Generation == generation {
		project = row.CWD
	}
	if project == "" {
		project, err = r.s.store.ProjectOf(ctx, path, nil)
	}
	if err == nil && project != "" {
		r.s.projects.Put(path, generation, project)
	}
	return project, err
}

// rowAt returns the row of the session at a path from a list or from the index of an archive, or nil if there is none.
func (r *request) rowAt(ctx context.Context, path string) (*place.Row, error) {
	if r.paged() {
		return r.s.lookUp(path), nil
	}
	l, err := r.s.list.Get(ctx)
	if err != nil {
		return nil, err
	}
	if i, ok := l.ByPath[path]; ok {
		return &l.Rows[i], nil
	}
	return nil, nil
}

// generationAt returns the generation of the log at a path.
func (s *Server) generationAt(ctx context.Context, path string) (string, error) {
	at, err := s.store.Locate(path)
	if err != nil {
		return "", err
	}
	log, err := at.Backend.Stat(ctx, at.Name)
	return log.Generation, err
}
