package rawjson

import "golang.org/x/sys/cpu"

var haveAVX2 = cpu.X86.HasAVX2

//go:noescape
func classifyAVX2(p *byte, n int, out *masks)

// classify sorts len(out) blocks of 64 bytes.
func classify(b []byte, out []masks) {
	if haveAVX2 {
		_ = b[len(out)*64-1]
		classifyAVX2(&b[0], len(out), &out[0])
		return
	}
	classifyGo(b, out)
}
