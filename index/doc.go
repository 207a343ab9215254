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
//	signatures-<n>     pieces of signatures, appended, with a checksum for each 128 bytes; the catalogue says which of them count
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
// # What a query finds
//
// A query is a row of terms. It finds an entry if every term occurs in one of the entry's texts (of the fields that were
// asked for) and no excluded term does. Letters are compared by Unicode's simple case folding unless case matters.
//
//   - word: its characters, beginning and ending at a boundary. It may hold anything but white space, so that
//     parse_header, foo-bar.go/x or 你好 are words; what it holds is found as it is.
//   - word*: beginning at a boundary. *part*: anywhere. *end: ending at a boundary.
//   - "a phrase": its characters, beginning and ending at a boundary, each white space in it standing for any white space.
//     "a phr"* and *"part of a phrase"* work like the same with words.
//   - -word, -"phrase" and so on: excluded.
//
// A quote that begins a term must be closed, and there may be no more than 100 different terms.
//
// Word characters are letters, digits and marks; a boundary is every place that does not lie between two of them. Inside a
// run of word characters there are boundaries between humps: between a small letter and a capital (parse|Header), and
// before the last of several capitals that a small letter follows (HTTP|Header). A run with more than 8 humps or of more
// than 64 characters has none: it is noise, not a name. The characters of scripts that put no spaces between words (Han,
// Hiragana, Katakana, Thai and others) are no word characters in this sense: each has boundaries on both sides. Nor are
// symbols.
//
// A query of which no entry is found may be tried again with its plain words as substrings: see Query.Substrings.
//
// A regular expression (RE2) finds an entry if it matches in one of its texts.
//
// # How it is found
//
// From the coarse to the fine. A Signer makes, while a log is indexed, a signature of every 64 KB or so: a filter of hashes
// that says which words may occur there (Query.May). Of the pieces that are left the bytes are looked at without decoding
// them (Query.Scan), and only the records that may match are decoded and matched exactly (Query.Match). No step but the
// last decides that something matches; each of the others may only say that nothing can.
package index
