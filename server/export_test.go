package server

import (
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/access"
)

// Patterns returns the routes of a server.
func (s *Server) Patterns() []string { return s.patterns }

// Tire prevents the list of sessions from being read again for some time, as after a slow reading.
func (s *Server) Tire(rest time.Duration) { s.list.Tire(s.opt.Clock().Add(rest)) }

// OpenRow opens and closes the run of a row for a client with a grant.
func OpenRow(s *Server, g *access.Grant, row *treeline.RunRow) error {
	r := &request{Request: httptest.NewRequest(http.MethodGet, "/", nil), s: s, grant: g}
	log, err := r.openRow(row)
	if err != nil {
		return err
	}
	return log.Close()
}
