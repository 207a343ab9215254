// Package session is the model: what a session of a coding agent is, independent of how one agent writes it and where it
// is stored.
//
// A session is a Header and a Tree of entries. Every Entry names its parent; the leaf says where the conversation is
// now. BuildContext computes from the path root → leaf what the language model would see there.
//
// Read Entry first, then Body and Part (what an entry says), Tree, and Context. A Builder makes a Tree while a log is decoded; a
// Problem is something wrong with the log that did not stop the decoder.
//
// # Lazy by construction
//
// Reading a session looks only at the envelope of each record: kind, id, parent, role. The tree keeps the Span of the
// record, about a hundred bytes for an entry of any size. Bytes, Body and Parts of an entry are read on demand, from a
// Source that holds the opened log, with a Codec of the dialect. So an entry that only passes through is never decoded and
// encoded again, and a session of gigabytes opens in the memory of its tree.
//
// The package does no I/O and imports only the standard library and internal/rawjson.
package session
