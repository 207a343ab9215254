// Package mcp shows the sessions of a machine, or of an archive, to an agent: it is a server of the Model Context Protocol. An agent can search
// its own past, list sessions, read them in windows, see what the model saw, recall prompts, list runs and sum up usage.
//
// # Read-only
//
// The server gets a [Store], an interface without a method that writes, and opens sessions for reading only. It imports none of the
// packages that change sessions. It stores nothing but the catalogue, which every list of sessions updates.
//
// # Bounded
//
// No result is larger than the caller allows (maxBytes), whatever the sessions contain. The rest is available through a cursor or, for a
// long text, by reading the entry alone: its member "cut" says how many bytes are omitted. A cursor is opaque. If possible, it is a
// position in an order and not a page number, so that all pages together have everything once even while sessions are written.
//
// # Secrets
//
// Keys, tokens and passwords are replaced before anything is searched, cut or encoded. A secret that is recognized once in a session is
// replaced everywhere in that session. In searches and lists, only secrets that a record itself reveals are recognized. No argument of a
// tool turns this off, since a hostile text could ask for that; Options.NoRedact does.
//
// # Hostile text
//
// The text of a session may have been written to mislead the model that reads it. It reaches the client only in JSON strings, with control
// characters escaped, and results say that it is data.
package mcp
