//go:build !amd64

package rawjson

func (p *Pair) indexVector(_ []byte, from int) (at, done int) { return -1, from }
