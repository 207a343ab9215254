// Package index keeps what was derived from logs, so that lists and searches need not read them again: a catalogue with a
// summary of each session, and signatures that say which words may occur in which piece of a log.
//
// All of it can be thrown away at any time. The index knows no formats and no places: who drives it (package store) lists
// the logs, compares their stamps with those in the catalogue, reads what changed and puts what it found here.
//
// # Files
//
// An Index lies in a folder of its own, and consists of two files and a lock:
//
//	catalogue          all summaries, replaced as a whole by a rename; it has a version and a checksum
//	signatures-<n>     pieces of signatures, appended, each with a checksum; the catalogue says which of them count
//	lock               held (flock) by whoever changes the two others
//
// Texts of sessions (titles, first prompts, models, working directories) stand in the catalogue alone, so they are gone
// with the next update after they are gone from the logs. Signatures hold hashes and no text. When more than half of the
// signatures count no more, those that do are copied to a file of the next number.
//
// # Crashes and company
//
// Nothing is synced: what a crash leaves is recognised by its checksum and made anew. Whoever changes the files takes the
// lock, reads the catalogue again if somebody replaced it meanwhile, adds what he found out himself, and replaces it. The
// signatures are appended first, behind the last byte that the catalogue knows of: what a crash left there is cut off.
// Since every summary has the stamp of the log that it was made from, it does not matter whose summary wins: one that is
// out of date is recognised at the next look.
//
// Where the folder cannot be written, or not be locked, the index works in memory: as correct, and not kept.
//
// # Search
//
// A search goes from the coarse to the fine. A Signer makes, while a log is indexed, a signature of every 32 KB or so: a
// filter of hashes that says which words may occur there (Query.May). Of the pieces that are left the bytes are looked at
// without decoding them, and only the records that may match are decoded and matched exactly. No step but the last decides
// that something matches; each of the others may only say that nothing can.
package index
