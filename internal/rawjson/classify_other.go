//go:build !amd64

package rawjson

func classify(b []byte, out []masks) { classifyGo(b, out) }
