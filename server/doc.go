// Package server is the store over HTTP: pages for people and an API for programs.
//
// A request passes the guard (server/guard): host, origin, token, length. Then the mux chooses a page or an operation of the API.
// table.go is the one list of operations; operation.go makes the mux from it, and openapi.go the OpenAPI document.
//
// Nothing is read that did not change. The catalogue is listed again only after a change (view.Catalogue), which one watch for the whole
// server reports (watch.go). Sessions stay open between requests and read what is appended to them (document.go). Events are kept in one
// bounded, numbered log (server/feed), so all clients see the same events in the same order, also after a reconnect (events.go).
//
// An archive with an index of its own is not listed. The index makes each page and finds the sessions that a request names (view.Archive,
// archivelist.go), so the cost does not depend on the number of sessions. Only sums over all sessions read all of them.
//
// A client with a user's token sees only that user's projects: each request has a list of the sessions that it may see, and finds sessions
// only through that list (grant.go).
//
// Package server/reply sends the answers: a slow client holds a small buffer and no lock.
package server
