package server

// Patterns are the routes of a server.
func (s *Server) Patterns() []string { return s.patterns }
