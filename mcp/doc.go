// Package mcp shows the sessions of a machine, or of an archive, to an agent: it is a server of the Model Context Protocol. An agent can search
// its own past, list sessions, read them in windows, see what the model saw, recall prompts, list runs and sum up usage.
//
// # Read-only
//
// The server gets a [Store], an interface without a method that writes, and opens sessions for reading only. It imports none of the packages
// that change sessions. It keeps nothing but the catalogue, which every list of sessions keeps.
//
// # Bounded
//
// No result is larger than what the caller allows (maxBytes), whatever the sessions hold. What does not fit is behind a cursor, or, for a long
// text, behind the member "cut" of its entry, which says how many bytes are left out. A cursor is opaque. It holds a place in an order and not
// a page number where it can, so a walk gives everything once while sessions are written.
//
// # Secrets
//
// Keys, tokens and passwords are replaced before anything is searched, cut or encoded. A secret that a session shows once in a way that gives
// it away is replaced wherever it occurs in that session. In a search and in lists only what a record itself gives away is known. No argument
// of a tool turns this off, since a hostile text could ask for that; Options.NoRedact does.
//
// # Hostile text
//
// Session text may have been written to mislead the model that reads it. It reaches the client inside of JSON strings alone, with control
// characters escaped, and results say that it is data.
package mcp
