// Package query is the query language: what a query means, and whether a text, a record or a signature matches it. It reads
// no files.
//
// # What a query finds
//
// A query is a list of terms. It finds an entry if every term occurs in one of the entry's texts (of the fields that were
// asked for) and no excluded term does. Letters are compared by Unicode's simple case folding unless case matters.
//
//   - word: its characters, beginning and ending at a boundary (see package word). A word may contain anything but white
//     space, so parse_header, foo-bar.go/x and 你好 are words.
//   - word*: beginning at a boundary. *part*: anywhere. *end: ending at a boundary.
//   - "a phrase": its characters, beginning and ending at a boundary; white space in it matches any white space.
//     "a phr"* and *"part of a phrase"* work as they do for words.
//   - -word, -"phrase" and so on: excluded.
//
// A quote that begins a term must be closed, and a query has at most 100 different terms. If nothing is found, the query
// can be tried again with its plain words as substrings: see Query.Substrings.
//
// A regular expression (RE2) finds an entry if it matches in one of its texts.
//
// # How it is found
//
// From coarse to fine. Query.May excludes chunks of logs by their signatures. Query.Scan looks at the undecoded bytes of the
// chunks that remain. Query.Match decides on the decoded texts. The first two never exclude an entry that matches.
package query
