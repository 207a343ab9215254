package server

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/access"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/server/guard"
	"github.com/treeline-dev/treeline/server/metrics"
	"github.com/treeline-dev/treeline/server/view"
)

// admitted is how the mux passes on what is known of a request that was let in.
type admitted struct {
	*metrics.Recorder
	grant *access.Grant
}

// mustSeeAll refuses a token that is limited to projects: the answer would be about all of them.
func (r *request) mustSeeAll() error {
	if r.grant.Limited() {
		return guard.Refuse(http.StatusForbidden, "the token %q is limited to projects, and this is about all of them", r.grant.Name)
	}
	return nil
}

// mayWrite refuses a request that would change something and may not.
func (r *request) mayWrite() error {
	switch {
	case !r.s.opt.Write:
		return guard.Refuse(http.StatusForbidden, "this server only reads; start it with --write to change sessions")
	case r.grant != nil && !r.grant.Write:
		return guard.Refuse(http.StatusForbidden, "the token %q may only read", r.grant.Name)
	}
	return nil
}

// remains reports whether a stream may go on: its token has neither been revoked nor expired since. A book that cannot be read ends
// no stream.
func (r *request) remains() bool {
	_, err := r.s.guard.Admit(r.Request)
	var no *guard.Refusal
	return !errors.As(err, &no)
}

// write carries an operation out that changes sessions, and notes it.
func (o *operation) write(r *request) error {
	q := r.URL.Query()
	r.target = cmp.Or(r.PathValue("session"), q.Get("name"), q.Get("log"))
	err := r.mayWrite()
	if err == nil {
		err = r.discreet(o.call(r))
	}
	r.note(o.name, err)
	return err
}

// discreet takes names out of an error that a limited token must not learn.
func (r *request) discreet(err error) error {
	var needed *treeline.NeededError
	if r.grant.Limited() && errors.As(err, &needed) {
		return guard.Refuse(http.StatusConflict, "other sessions go on from it, and would lose what comes before; nothing was removed")
	}
	return err
}

// note adds to the audit log what became of a request.
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

// listing gives the list of sessions as far as the request may see it.
func (r *request) listing() (*listing, error) {
	l, err := r.s.list.get(r.Context())
	if err != nil || !r.grant.Limited() {
		return l, err
	}
	return l.limited(r.grant), nil
}

// viewsMost is how many limited views of one list are kept.
const viewsMost = 32

// limited gives the rows of a grant's projects as a list of their own. Nothing in it depends on other rows: keys, relatives,
// counts and the tag are made of these alone. What could not be read belongs to no project.
func (l *listing) limited(g *access.Grant) *listing {
	scope := strings.Join(g.Projects, "\x00")
	l.viewing.Lock()
	defer l.viewing.Unlock()
	if v := l.views[scope]; v != nil {
		return v
	}
	v, sum := &listing{}, sha256.New()
	rows := view.Rows(l.rows, g.Allows)
	for i := range rows {
		log := &rows[i].Log
		fmt.Fprintf(sum, "%s\x00%s\x00%d\x00%d\n", rows[i].Path, log.Generation, log.Size, log.Time.UnixNano())
	}
	v.fill(rows)
	for i, parent := range place.Parents(v.rows) {
		if parent < 0 {
			v.rows[i].Parent = "" // it may be another project's
		}
	}
	fmt.Fprint(sum, scope)
	v.tag = hex.EncodeToString(sum.Sum(nil)[:12])
	if l.views == nil || len(l.views) >= viewsMost {
		l.views = map[string]*listing{}
	}
	l.views[scope] = v
	return v
}

// session finds the session of a key. Paths come from the catalogue alone: nothing of a request is ever a path.
func (r *request) session(key string) (*place.Row, error) {
	l, err := r.listing()
	if err != nil {
		return nil, err
	}
	row, _, err := r.find(l, key)
	return row, err
}

// find finds the session of a key in the list of the request. Another project's session does not exist for the client; that it
// was asked for is noted.
func (r *request) find(l *listing, key string) (*place.Row, string, error) {
	row, key, err := l.find(key)
	if err == nil {
		r.about = row
		return row, key, nil
	}
	if r.grant.Limited() {
		if all, e := r.s.list.get(r.Context()); e == nil {
			if hidden, _, e := all.find(r.PathValue("session")); e == nil {
				one := *r
				one.about = hidden
				one.note(r.Pattern, guard.Refuse(http.StatusNotFound, "it belongs to another project"))
			}
		}
	}
	return nil, "", err
}

// checkSource refuses a source that does not exist, or of which the client may see nothing.
func (r *request) checkSource(l *listing, source string) error {
	if err := r.s.store.CheckSource(source); err != nil {
		return bad("%v", err)
	}
	if !r.grant.Limited() || source == "" || !strings.ContainsAny(source, `/\`) {
		return nil
	}
	for i := range l.rows {
		if place.Clean(l.rows[i].Source.Root.Sessions) == place.Clean(source) {
			return nil
		}
	}
	return bad("%q: %v", source, place.ErrUnknownSource)
}

// projectOf is the project of the session at a path, "" if the list as it was last read does not know it.
func (c *catalogue) projectOf(path string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now == nil {
		return ""
	}
	if i, ok := c.now.byPath[path]; ok {
		return c.now.rows[i].CWD
	}
	return ""
}
