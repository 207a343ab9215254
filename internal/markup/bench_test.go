package markup

import (
	"bytes"
	"strings"
	"testing"
)

// answer is a text as agents write them: half prose, half code.
var answer = strings.Repeat("## What was wrong\n\nPrices are `float64`, so **0.1 + 0.2** is not 0.3. See https://example.org/money and\n"+
	"[the test](pricing/sum_test.go). Three places change:\n\n- `pricing/sum.go`: the total is counted in *cents*\n- `pricing/tax.go`: rounds once, at the end\n- [x] tests\n\n"+
	"| file | before | after |\n|---|---:|---:|\n| sum.go | 0.30000000000000004 | 30 |\n| tax.go | 0.1 | 10 |\n\n"+
	"```go\n// Sum adds up the prices of all items.\nfunc Sum(items []Item) Cents {\n\tvar total Cents\n\tfor _, it := range items {\n"+
	"\t\ttotal += it.Price * Cents(it.Count)\n\t}\n\tif total < 0 {\n\t\treturn 0\n\t}\n\treturn total\n}\n```\n\n"+
	"Run it with:\n\n```sh\ngo test ./pricing/... -run 'Sum|Tax' # both\n```\n\n", 40)

func BenchmarkHTML(b *testing.B) {
	bench(b, answer, func(dst *bytes.Buffer) { HTML(dst, answer, 0) })
}

func BenchmarkPlain(b *testing.B) { bench(b, answer, func(dst *bytes.Buffer) { Plain(dst, answer) }) }

func BenchmarkCode(b *testing.B) {
	source := answer[:maxHighlight]
	bench(b, source, func(dst *bytes.Buffer) { Code(dst, source, "go") })
}

func bench(b *testing.B, text string, write func(*bytes.Buffer)) {
	var dst bytes.Buffer
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		dst.Reset()
		write(&dst)
	}
}
