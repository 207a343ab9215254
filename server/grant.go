package server

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/access"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/server/guard"
	"github.com/treeline-dev/treeline/server/logs"
	"github.com/treeline-dev/treeline/server/metrics"
	"github.com/treeline-dev/treeline/server/view"
	"github.com/treeline-dev/treeline/session"
)

// admitted passes the grant of an admitted request to the mux.
type admitted struct {
	*metrics.Recorder
	grant *access.Grant
}

// mustSeeAll refuses a token that is limited to projects, because the answer would cover all of them.
func (r *request) mustSeeAll() error {
	if r.grant.Limited() {
		return guard.Refuse(http.StatusForbidden, "the token %q is limited to projects, and this is about all of them", r.grant.Name)
	}
	return nil
}

// mayWrite refuses a request to change something if the server or the token may only read.
func (r *request) mayWrite() error {
	switch {
	case !r.s.opt.Write:
		return guard.Refuse(http.StatusForbidden, "this server only reads; start it with --write to change sessions")
	case r.grant != nil && !r.grant.Write:
		return guard.Refuse(http.StatusForbidden, "the token %q may only read", r.grant.Name)
	}
	return nil
}

// remains reports whether a stream may go on: its token has been neither revoked nor expired. It is true if the book of tokens cannot be
// read.
func (r *request) remains() bool {
	_, err := r.s.guard.Admit(r.Request)
	var no *guard.Refusal
	return !errors.As(err, &no)
}

// write carries out an operation that changes sessions, and notes it in the audit log.
func (o *operation) write(r *request) error {
	q := r.URL.Query()
	r.target = cmp.Or(r.PathValue("session"), q.Get("name"), q.Get("log"))
	err := r.mayWrite()
	switch {
	case err == nil:
		err = r.discreet(o.call(r))
	case o.body != "": // a log or a blob of the archive
		logs.ReadOnly(r.w.Header())
	}
	if unsent(err) {
		r.note(o.name, nil) // it was carried out, even if the client does not know
	} else {
		r.note(o.name, err)
	}
	return err
}

// discreet replaces an error whose text has names that a limited token must not learn.
func (r *request) discreet(err error) error {
	var needed *treeline.NeededError
	if r.grant.Limited() && errors.As(err, &needed) {
		return guard.Refuse(http.StatusConflict, "other sessions go on from it, and would lose what comes before; nothing was removed")
	}
	return err
}

// note adds the outcome of a request to the audit log.
func (r *request) note(action string, err error) {
	if r.s.journal == nil {
		return
	}
	one := access.Record{Time: r.s.opt.Clock(), Address: r.s.guard.Address(r.Request), Action: action, Outcome: access.Done}
	if g := r.grant; g != nil {
		one.Token, one.User, one.Machine = g.Name, g.User, g.Machine
	}
	one.Target, one.Project = r.target, r.project
	if r.about != nil {
		one.Target, one.Project = r.about.Path, r.about.CWD
	}
	var no *guard.Refusal
	switch {
	case errors.As(err, &no) && no.Status < http.StatusInternalServerError:
		one.Outcome, one.Reason = access.Refused, no.Message
		if g := no.Grant; g != nil {
			one.Token, one.User, one.Machine = g.Name, g.User, g.Machine
		}
	case err != nil:
		one.Outcome, one.Reason = access.Failed, err.Error()
	}
	r.s.journal.Note(one)
}

// listing returns the list of the sessions that the request may see.
func (r *request) listing() (*view.List, error) {
	if r.paged() && r.grant.Limited() {
		return r.archive().All(r.Context())
	}
	return r.limited(r.s.list.Get(r.Context()))
}

// limited reduces a list to what the request may see. It passes on err.
func (r *request) limited(l *view.List, err error) (*view.List, error) {
	if err != nil || !r.grant.Limited() {
		return l, err
	}
	return l.Limited(r.grant), nil
}

// paged reports whether the index of an archive makes the lists, with only what each request needs.
func (r *request) paged() bool { return r.s.store.Paged() }

// archive returns the archive's lists, limited to what the request may see.
func (r *request) archive() view.Archive { return view.Archive{Store: r.s.store, Grant: r.grant} }

// listOf returns a list that has the sessions named by k, as far as the request may see them. It may have others, too.
func (r *request) listOf(k find.Keys) (*view.List, error) {
	if r.paged() {
		return r.archive().Of(r.Context(), k, false)
	}
	return r.listing()
}

// session returns the session with a key. Paths come only from the catalogue: no part of a request is ever used as a path.
func (r *request) session(key string) (*place.Row, error) {
	_, row, _, err := r.find(key)
	return row, err
}

// find returns the session with a key, and a list that also has its relatives. To a limited client, a session of another project does not
// exist; the attempt is noted in the audit log.
func (r *request) find(key string) (l *view.List, row *place.Row, own string, err error) {
	if r.paged() {
		l, err = r.archive().Find(r.Context(), key)
	} else {
		l, err = r.listing()
	}
	if err != nil {
		return nil, nil, "", err
	}
	if row, own, err = l.Find(key); err != nil && !r.paged() {
		if l, err = r.limited(r.s.list.Missing(r.Context())); err != nil {
			return nil, nil, "", err
		}
		row, own, err = l.Find(key)
	}
	if err == nil {
		r.about = row
		return l, row, own, nil
	}
	if r.grant.Limited() {
		one := *r
		one.grant = nil // to find out whether a session is hidden
		if _, _, _, e := one.find(key); e == nil {
			one.grant = r.grant
			one.note(r.Pattern, guard.Refuse(http.StatusNotFound, "it belongs to another project"))
		}
	}
	return nil, nil, "", err
}

// mayRead refuses a session that was opened, if it has become one of another project since the list was read. A session whose log names no
// directory belongs to the project of its row.
func (r *request) mayRead(h session.Header) error {
	if h.CWD != "" && !r.grant.Allows(h.CWD) {
		return place.ErrNoSession // without the id, which may be another one now
	}
	return nil
}

// hold is documents.hold for a session that the request may see.
func (r *request) hold(ctx context.Context, path string, f, send func(*document) error) error {
	return r.s.docs.hold(ctx, path, func(doc *document) error {
		if err := r.mayRead(doc.sess.Header()); err != nil {
			return err
		}
		return f(doc)
	}, send)
}

// use is hold for a caller that sends nothing before it returns.
func (r *request) use(ctx context.Context, path string, f func(*document) error) error {
	return r.hold(ctx, path, f, func(*document) error { return nil })
}

// checkSource refuses a source that does not exist, or that has no sessions that the client may see.
func (r *request) checkSource(source string) error {
	if err := r.s.store.CheckSource(source); err != nil {
		return bad("%v", err)
	}
	if !r.grant.Limited() || source == "" || !strings.ContainsAny(source, `/\`) {
		return nil
	}
	if r.paged() {
		p, err := r.archive().Page(r.Context(), treeline.Filter{Source: source}, treeline.PageOptions{Limit: 1}, false)
		if err == nil && len(p.Page) == 0 {
			err = bad("%q: %v", source, place.ErrUnknownSource)
		}
		return err
	}
	l, err := r.listing()
	if err != nil {
		return err
	}
	for i := range l.Rows {
		if place.Clean(l.Rows[i].Source.Root.Sessions) == place.Clean(source) {
			return nil
		}
	}
	return bad("%q: %v", source, place.ErrUnknownSource)
}

// projectOf returns the project of the session at a path, or "" if neither the list that was read last nor the index of an archive knows
// it.
func (s *Server) projectOf(path string) string {
	if !s.store.Paged() {
		return s.list.ProjectOf(path)
	}
	if row := s.lookUp(path); row != nil {
		return row.CWD
	}
	return ""
}

// lookUp returns the session at a path from the index of an archive, or nil if it has none.
func (s *Server) lookUp(path string) *place.Row {
	rows, err := s.store.LookUp(s.ctx, find.Keys{Paths: []string{path}})
	if err != nil || len(rows) == 0 {
		return nil
	}
	return &rows[0]
}
