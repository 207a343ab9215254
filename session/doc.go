// Package session is the model: what a session of a coding agent is, apart from how one agent writes it down and from
// where it is kept.
//
// A session is a Header and a Tree of entries. Every Entry names its parent; a leaf says where the conversation is
// now. BuildContext computes from the path root → leaf what the language model would see there.
//
// # Lazy by construction
//
// Reading a session looks at the envelope of each record only: kind, id, parent, role. The tree keeps where the record
// is (its Span), about a hundred bytes for an entry, whatever its size. The bytes, the Body and the Parts of an
// entry come on demand, from a Source that holds the opened log and a Codec that knows the dialect. So nothing that
// passes through is decoded and encoded again, and a session of gigabytes opens in the memory of its tree.
//
// The package does no I/O and imports nothing but the standard library and internal/rawjson.
package session
