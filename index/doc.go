// Package index keeps what was derived from logs, so that lists and searches need not read them again: a catalogue with a
// summary of each session, and signatures that say which words may occur in which chunk of a log.
//
// Everything here can be deleted at any time. The index knows neither formats nor places: its caller lists the logs, compares
// their stamps with those in the catalogue, reads what changed and puts the result here.
//
// # Files
//
// An Index has a folder of its own with two files and a lock:
//
//	catalogue          all summaries, replaced as a whole by a rename; it has a version and a checksum
//	signatures-<n>     pieces of signatures, appended, with a checksum for each 128 bytes; the catalogue says which of them count
//	lock               held (flock) by the process that changes the two others
//
// Texts of sessions (titles, first prompts, models, working directories) are in the catalogue only, so that they disappear
// with the next update after they disappear from the logs. Signatures hold hashes and no text. When less than half of the
// signatures count, those are copied to a file with the next number.
//
// # Crashes and concurrent processes
//
// Nothing is synced: the checksums detect what a crash leaves, and it is made again. A process that changes the files takes
// the lock, reads the catalogue again if another process has replaced it, adds its own updates, and replaces it. Signatures
// are appended first, after the last byte that the catalogue knows of; what a crash left there is truncated. Every summary
// has the stamp of the log that it was made from, so it does not matter which process wins: an outdated summary is detected
// at the next refresh.
//
// If the folder cannot be written or locked, the index works in memory.
//
// # Signatures
//
// A Signer makes a signature for about every 64 KB of a log: a Bloom filter over the keys of package word. Package query asks
// it which chunks may contain a match (Kept implements query.Signature).
package index
