// Package wire holds the stable forms in which treeline shows what it knows: JSON for programs and text for people.
// The command line, the server, the terminal interface and JSON-RPC print with it, so that an entry, a row or a hit
// looks the same in all of them.
//
// # JSON
//
// Each shape is a struct with a constructor: [Entry], [Row], [SearchResult], [Change], [Run], [Session] and so on.
// [Write] prints a value on one line, [Array] prints a list without holding it in memory.
//
// The JSON is a stable interface:
//
//   - A member keeps its name, type and meaning. New members may be added.
//   - Lists are never null. A member that is null or absent for lack of a value is documented as such.
//   - Times are UTC with milliseconds (2026-03-02T14:00:00.000Z), sizes are bytes, offsets in text count Unicode code
//     points.
//   - Pieces of a log (tool arguments, records of a run) are passed on byte for byte. A piece that encoding/json cannot
//     read is passed on as a string.
//   - Characters that could control a terminal or hide text are escaped, and bytes that are not UTF-8 are replaced.
//
// The golden files in testdata pin every shape. docs/json.md and docs/json.schema.json describe them, and are made from
// the comments and tags here.
//
// # Text
//
// Text forms write to a [Page], which knows how wide a line may be and how to paint a [Style]. They know no terminal
// and no colour. Everything that comes from a log is cleaned of control characters first. Texts are for people: their
// wording may change in any release.
package wire
