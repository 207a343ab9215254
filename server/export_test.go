package server

import "time"

// Patterns are the routes of a server.
func (s *Server) Patterns() []string { return s.patterns }

// Tire has the list of sessions not read again for some time, as if that took long.
func (s *Server) Tire(rest time.Duration) { s.list.Tire(s.opt.Clock().Add(rest)) }
