package wave_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/dialect/pi"
	"github.com/treeline-dev/treeline/dialect/wave"
)

// BenchmarkDecode reads logs of the same size with the same messages, as Wave and, for comparison, as omp.
func BenchmarkDecode(b *testing.B) {
	const entries = 4000
	said := strings.Repeat(`What \"grows\" here, and why?\n`, 30)
	var w, p bytes.Buffer
	w.WriteString(`{"type":"metadata","workdir":"/garden","createdAt":"2026-03-01T08:00:00.000Z"}` + "\n")
	p.WriteString(`{"type":"session","version":3,"id":"5e55","timestamp":"2026-03-01T08:00:00.000Z","cwd":"/garden"}` + "\n")
	for k := range entries {
		fmt.Fprintf(&w, `{"timestamp":"2026-03-01T08:00:00.000Z","id":"msg-0cea9749-5549-481b-8f4f-%012x","role":"assistant","blocks":[{"type":"text","content":"%s"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}`+"\n", k, said)
		fmt.Fprintf(&p, `{"type":"message","id":"%08x","parentId":"%08x","timestamp":"2026-03-01T08:00:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"%s"}],"usage":{"input":1,"output":2,"totalTokens":3}}}`+"\n", k+1, k, said)
	}
	for _, test := range []struct {
		d   dialect.Dialect
		log []byte
	}{{wave.Wave, w.Bytes()}, {wave.Doc, w.Bytes()}, {pi.Omp, p.Bytes()}} {
		b.Run(test.d.Name(), func(b *testing.B) { dialecttest.BenchmarkDecode(b, test.d, test.log, entries) })
	}
}
