// Package server is the store over HTTP: pages for people and an API for programs.
//
// A request passes the guard (server/guard): host, origin, token, length. Then the mux chooses a page or an operation of the API.
// table.go is the one list of operations; operation.go makes the mux from it, and openapi.go the OpenAPI document.
//
// Nothing is read that did not change. The catalogue is listed again only after a change (view.Catalogue), which one
// watch for the whole server tells (watch.go). Sessions stay open between requests and read on as they grow (document.go).
// Events are kept in one bounded log with numbers (server/feed), so all clients see the same events in the same order, also
// after a reconnect (events.go).
//
// An archive with an index of its own is not listed. The index makes each page, and finds the sessions that a request names
// (view.Archive, archivelist.go), so that both cost the same for any number of sessions. Only sums of all sessions read all of them.
//
// A client with the token of a user sees its projects: every request has a list of the sessions that it may see, and finds
// sessions in no other way (grant.go).
//
// Answers are sent by package server/reply: a slow client holds a small buffer and no lock.
package server
