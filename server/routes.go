package server

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/logtree"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/runs"
	"github.com/treeline-dev/treeline/server/guard"
	"github.com/treeline-dev/treeline/server/logs"
	"github.com/treeline-dev/treeline/server/metrics"
	"github.com/treeline-dev/treeline/server/reply"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

// routes makes the mux from the table of operations and the list of pages.
func (s *Server) routes() {
	s.mux = http.NewServeMux()
	for _, sec := range table() {
		for _, o := range sec.operations {
			call := o.call
			if o.writes {
				call = o.write
			}
			s.handle(o.method+" "+apiPath+o.path, call)
		}
	}
	s.handle("GET /metrics", (*request).metrics)
	s.pages()
}

// handle adds a route. Its pattern is also its name in the metrics.
func (s *Server) handle(pattern string, call func(*request) error) {
	s.patterns = append(s.patterns, pattern)
	method, path, _ := strings.Cut(pattern, " ")
	s.mux.HandleFunc(method+" "+s.base+path, func(w http.ResponseWriter, h *http.Request) {
		r := &request{Request: h, s: s, w: w}
		if in, ok := w.(*admitted); ok {
			in.Route, r.grant = pattern, in.grant
		}
		if err := call(r); err != nil {
			r.fail(err)
		}
	})
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, h *http.Request) {
	began := s.opt.Clock()
	rec := &metrics.Recorder{ResponseWriter: w}
	s.counts.busy.Add(1)
	defer func() {
		s.counts.busy.Add(-1)
		took := s.opt.Clock().Sub(began)
		s.counts.answers.Done(rec, took)
		s.log.Debug("request", "method", h.Method, "path", h.URL.Path, "status", rec.Status, "bytes", rec.Bytes, "took", took, "from", h.RemoteAddr)
	}()
	guard.Protect(w.Header())
	in := &admitted{Recorder: rec}
	r := &request{Request: h, s: s, w: in}
	if err := s.admit(r); err != nil {
		r.fail(err)
		return
	}
	in.grant = r.grant
	if strings.TrimPrefix(h.URL.Path, s.base) == "/healthz" {
		rec.Route = "GET /healthz"
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintln(rec, "ok")
		return
	}
	_, pattern := s.mux.Handler(h)
	if !strings.HasSuffix(pattern, "/events") { // streams have a limit of their own
		if s.busy.Add(1) > int64(s.opt.MaxRequests) {
			s.busy.Add(-1)
			w.Header().Set("Retry-After", "1")
			r.fail(guard.Refuse(http.StatusServiceUnavailable, "the server answers too many requests at the moment"))
			return
		}
		defer s.busy.Add(-1)
	}
	if pattern != "" {
		s.mux.ServeHTTP(in, h)
		return
	}
	s.lost(r)
}

// lost answers a request for which there is no route.
func (s *Server) lost(r *request) {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut} {
		other := r.Request.Clone(r.Context())
		other.Method = method
		if _, pattern := s.mux.Handler(other); pattern != "" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) > 0 {
		r.w.Header().Set("Allow", strings.Join(allowed, ", "))
		r.fail(guard.Refuse(http.StatusMethodNotAllowed, "%s is not possible here", r.Method))
		return
	}
	r.fail(guard.Refuse(http.StatusNotFound, "there is nothing at this path"))
}

// admit decides whether a request is answered. Paths that open reports need no token.
func (s *Server) admit(r *request) error {
	if err := s.guard.Check(r.Request); err != nil {
		return err
	}
	rest, below := strings.CutPrefix(r.URL.Path, s.base)
	if !below || rest != "" && rest[0] != '/' {
		return guard.Refuse(http.StatusNotFound, "there is nothing at this path; everything is below %s/", s.base)
	}
	if open(rest) {
		return nil
	}
	var err error
	if r.grant, err = s.guard.Admit(r.Request); err == nil && r.grant != nil {
		s.journal.Use(r.grant.Name, s.opt.Clock())
	}
	if _, given := guard.Given(r.Request); err != nil && given {
		r.note("token", err)
	}
	return err
}

// open reports whether a path, below the base path, needs no token: the health check, and what a browser needs to log in.
func open(path string) bool {
	return path == "/healthz" || path == "/login" || strings.HasPrefix(path, "/assets/")
}

// form distinguishes answers of the same resource in their tags. Another process, which may be another version, makes all tags new.
func (r *request) form() string {
	return r.s.feed.Epoch + strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(r.URL.RequestURI()))), 36)
}

// status returns the HTTP status of an error. code is an exit code of package wire: 2 means a mistake of the client.
func status(err error) (status, code int) {
	var refused *guard.Refusal
	var unchecked *guard.Unchecked
	var wrong *badRequest
	var odd *store.RefusedError
	var veto *store.VetoError
	var problem *session.Problem
	switch {
	case errors.As(err, &refused):
		return refused.Status, 2
	case errors.As(err, &unchecked):
		return http.StatusServiceUnavailable, 1
	case errors.As(err, &wrong), errors.Is(err, treeline.ErrNoProvider):
		return http.StatusBadRequest, 2
	case errors.Is(err, place.ErrNoSession), errors.Is(err, runs.ErrNoRun), errors.Is(err, session.ErrUnknownEntry), errors.Is(err, backend.ErrNotExist):
		return http.StatusNotFound, 2
	case errors.Is(err, backend.ErrHeld), errors.Is(err, backend.ErrConflict), errors.Is(err, store.ErrForeign), errors.Is(err, backend.ErrChanged),
		errors.Is(err, backend.ErrLocked):
		return http.StatusConflict, 1
	case errors.As(err, &odd), errors.As(err, &veto), errors.As(err, &problem), errors.Is(err, logtree.ErrNotSession), errors.Is(err, store.ErrNotEntry),
		errors.Is(err, store.ErrNewer), errors.Is(err, store.ErrUnsupported), errors.Is(err, dialect.ErrSilent), errors.Is(err, backend.ErrReadOnly),
		errors.Is(err, backend.ErrCompressed):
		return http.StatusUnprocessableEntity, 1
	}
	return http.StatusInternalServerError, 1
}

// unsent reports whether the operation was carried out, but its answer did not reach the client.
func unsent(err error) bool { return errors.Is(err, reply.ErrGone) || errors.Is(err, logs.ErrUnsent) }

// fail sends an error. Failures, and refusals for safety, are logged.
func (r *request) fail(err error) {
	h := r.w.Header()
	switch {
	case errors.Is(err, errNotModified):
		h.Del("Content-Type")
		r.w.WriteHeader(http.StatusNotModified)
		return
	case errors.Is(err, context.Canceled) && r.Context().Err() != nil:
		return // the client is gone
	case unsent(err):
		panic(http.ErrAbortHandler)
	}
	code, exit := status(err)
	var no *guard.Refusal
	var unchecked *guard.Unchecked
	if errors.As(err, &no) && no.Wait > 0 {
		h.Set("Retry-After", strconv.Itoa(int(no.Wait/time.Second)+1))
	}
	switch {
	case code == http.StatusForbidden || code == http.StatusUnauthorized || code == http.StatusTooManyRequests:
		r.s.log.Warn("refused", "method", r.Method, "path", r.URL.Path, "host", r.Host, "from", r.RemoteAddr, "reason", err)
	case errors.As(err, &unchecked):
		r.s.log.Error("the tokens", "error", unchecked.Err)
	case code >= http.StatusInternalServerError:
		r.s.log.Error("request", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	if in, ok := r.w.(*admitted); ok && in.Status != 0 {
		panic(http.ErrAbortHandler) // a part of the answer has been sent
	}
	h.Del("Etag")
	h.Del("Content-Disposition")
	h.Set("Cache-Control", "no-store")
	if code == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="treeline"`)
	}
	if r.isPage() {
		r.sayPage(code, err)
		return
	}
	r.sayFailure(code, exit, err)
}

// sayFailure writes the reason for which a request failed. A guard.Refusal has no kind, so what a limited token may not know has none.
func (r *request) sayFailure(code, exit int, err error) {
	r.w.Header().Set("Content-Type", jsonMedia)
	r.w.WriteHeader(code)
	if r.Method != http.MethodHead {
		e := wire.NewError(err, exit, "").Error
		if kind := wire.ErrorKind(err); kind != "" {
			e.Kind = session.ProblemKind(kind)
		}
		_ = wire.Write(r.w, failure{e}) // the client may be gone
	}
}
