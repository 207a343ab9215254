//go:build !amd64

package rawjson

func unescapeFast(dst, _ []byte, i int) ([]byte, int) { return dst, i }
