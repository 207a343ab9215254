package server

import "time"

// Patterns returns the routes of a server.
func (s *Server) Patterns() []string { return s.patterns }

// Tire prevents the list of sessions from being read again for some time, as after a slow reading.
func (s *Server) Tire(rest time.Duration) { s.list.Tire(s.opt.Clock().Add(rest)) }
