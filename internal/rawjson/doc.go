// Package rawjson looks into JSON texts without decoding them: it finds the members of an object, checks that a value is
// well formed, and changes one member while every other byte stays the same.
//
// A session store needs this more than a decoder. A record that passes through must keep every byte (key order, number
// spellings, lone surrogates, unknown members), and of most records only a few members are looked at. The scanner allocates
// nothing and returns slices of its input.
//
// JSON is RFC 8259, checked in full, with two liberties that the programs that wrote the files also take: strings may
// contain invalid UTF-8, and an object may repeat a key (the last one wins).
package rawjson
