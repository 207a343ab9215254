package codelia_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/dialect/codelia"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/dialect/pi"
	"github.com/treeline-dev/treeline/run"
)

// BenchmarkDecode reads logs of the same size with the same messages: run logs, read as sessions and as runs, and, for
// comparison, one of omp.
func BenchmarkDecode(b *testing.B) {
	const entries = 4000
	said := strings.Repeat(`What \"grows\" here, and why?\n`, 30)
	var c, p bytes.Buffer
	c.WriteString(`{"type":"header","schema_version":1,"run_id":"0cea9749-5549-481b-8f4f-000000000000","started_at":"2026-03-01T08:00:00.000Z"}` + "\n")
	p.WriteString(`{"type":"session","version":3,"id":"5e55","timestamp":"2026-03-01T08:00:00.000Z","cwd":"/garden"}` + "\n")
	for k := range entries {
		fmt.Fprintf(&c, `{"type":"llm.response","run_id":"0cea9749-5549-481b-8f4f-000000000000","ts":"2026-03-01T08:00:00.000Z","seq":%d,"output":{"messages":[{"role":"assistant","content":"%s"}],"usage":{"model":"m","input_tokens":1,"output_tokens":2,"total_tokens":3}}}`+"\n", k, said)
		fmt.Fprintf(&p, `{"type":"message","id":"%08x","parentId":"%08x","timestamp":"2026-03-01T08:00:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"%s"}],"usage":{"input":1,"output":2,"totalTokens":3}}}`+"\n", k+1, k, said)
	}
	for _, test := range []struct {
		d   dialect.Dialect
		log []byte
	}{{codelia.Codelia, c.Bytes()}, {pi.Omp, p.Bytes()}} {
		b.Run(test.d.Name(), func(b *testing.B) { dialecttest.BenchmarkDecode(b, test.d, test.log, entries) })
	}
	b.Run("run", func(b *testing.B) {
		b.SetBytes(int64(c.Len()))
		for b.Loop() {
			if l, err := run.DecodeBytes(c.Bytes()); err != nil || l.Len() != entries {
				b.Fatal(err)
			}
		}
	})
}
