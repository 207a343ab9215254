package rawjson

// unescapeAVX2 writes to dst the text of the n bytes at src, 32 at a time, as far as they are plain or simple escapes, and
// returns how many bytes it read and wrote. It stops at everything else, and some bytes before the end. There must be room
// for n bytes.
//
//go:noescape
func unescapeAVX2(dst, src *byte, n int, meanings *[256]byte) (read, written int)

// unescapeFast appends to dst, which has room for all of it, the text of inside from i on as far as vectors can, and returns
// where it stopped.
func unescapeFast(dst, inside []byte, i int) ([]byte, int) {
	const worth = 64
	n := len(inside) - i
	if !haveAVX2 || n < worth || cap(dst)-len(dst) < n {
		return dst, i
	}
	read, written := unescapeAVX2(&dst[:len(dst)+1][len(dst)], &inside[i], n, &meanings)
	return dst[:len(dst)+written], i + read
}
