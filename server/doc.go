// Package server is the store over HTTP: pages for people and an API for programs.
//
// A request passes the guard (server/guard): host, origin, token, length. Then the mux chooses a page or an operation of the API.
// table.go is the one list of operations; operation.go makes the mux from it, and openapi.go the OpenAPI document.
//
// Nothing is read that did not change. The catalogue is listed again only after a change (catalogue.go), which one
// watch for the whole server tells (feed.go). Sessions stay open between requests and read on as they grow (document.go).
// Events are kept in one bounded log with numbers (feed.go), so all clients see the same events in the same order, also
// after a reconnect (events.go).
//
// An answer is made in memory first, at most as many at a time as there are slots, and then sent (send.go). What a slow client
// has not read after a moment waits in a temporary file: the client holds a small buffer and no lock.
package server
