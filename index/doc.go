// Package index holds what is derived from sessions and can be thrown away at any time: here, what makes search fast.
//
// A search goes from the coarse to the fine. A Signer makes, while a log is indexed, a signature of every 32 KB or so: a
// filter of hashes that says which words may occur there (Query.May). Of the pieces that are left the bytes are looked at
// without decoding them, and only the records that may match are decoded and matched exactly. No step but the last decides
// that something matches; each of the others may only say that nothing can.
package index
