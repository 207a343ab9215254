// Package rawjson looks into JSON texts without decoding them: it finds the members of an object, checks that a value
// is well formed, and changes one member while every other byte stays what it was.
//
// Session stores need this more than a decoder. A record that passes through must come out byte for byte (key order,
// number spellings, lone surrogates, members nobody knows), and of most records only a handful of members is ever
// looked at. The scanner allocates nothing and returns slices of its input.
//
// What counts as JSON is RFC 8259, checked in full, with two liberties that the programs whose files we read take too:
// strings may hold bytes that are not UTF-8, and an object may repeat a key (the last one wins).
package rawjson
