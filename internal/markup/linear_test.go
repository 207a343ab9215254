package markup

import (
	"bytes"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// hostile are texts for which Markdown parsers are known to take quadratic time, or much more memory than the text.
var hostile = map[string]func(n int) string{
	"brackets":          repeat("["),
	"closed brackets":   func(n int) string { return strings.Repeat("[", n/2) + strings.Repeat("]", n/2) },
	"stars":             repeat("*"),
	"stars and letters": repeat("*a **b "),
	"mixed delimiters":  repeat("*a_ ~~b"),
	"quotes":            repeat(">"),
	"quotes in lines":   repeat("> > > > > > > >\n"),
	"backticks":         repeat("`"),
	"runs of backticks": func(n int) string {
		var b strings.Builder
		for i := 1; b.Len() < n; i++ {
			b.WriteString(strings.Repeat("`", i%2000) + "a")
		}
		return b.String()
	},
	"lists":              repeat("- "),
	"lists and newlines": func(n int) string { return strings.Repeat("- ", 40) + "a" + strings.Repeat("\n", n) },
	"numbered":           repeat("1) "),
	"links":              repeat("[a](b"),
	"links in angles":    repeat("[a](<b"),
	"links with titles":  repeat(`[a](b "`),
	"nested links":       repeat("[[a](https://b)"),
	"images":             repeat("![a]("),
	"definitions":        repeat("[a]: b\n"),
	"entities":           repeat("&"),
	"backslashes":        repeat("\\"),
	"tables":             repeat("a|b\n-|-\n"),
	"pipes":              repeat("|"),
	"columns": func(n int) string {
		return strings.Repeat("|a", 90) + "\n" + strings.Repeat("|-", 90) + "\n" + strings.Repeat("|\n", n/2)
	},
	"tags":       repeat("<a "),
	"autolinks":  repeat("<http://a"),
	"bare links": repeat("http://a.b/(])"),
	"headings":   repeat("#"),
	"underlines": repeat("a\n=\n"),
	"fences":     repeat("```\n~~~\n"),
	"code":       func(n int) string { return "```c\n" + strings.Repeat("/*'\"#", n/5) },
	"controls":   repeat("\x00"),
	"one line":   repeat("a"),
	"spaces":     repeat(" "),
	"newlines":   repeat("\n"),
	"tabs":       repeat("\t\n"),
}

func repeat(s string) func(int) string {
	return func(n int) string { return strings.Repeat(s, n/len(s)+1) }
}

// Time and memory are linear in the text: a hostile text takes at most a few times as long as plain words of that length, at the same load
// of the machine. The limit is about six times that of the slowest text. TREELINE_SOAK tests 5 MB of each.
func TestHostileTextsTakeLinearTime(t *testing.T) {
	size := 3 * maxPiece
	if os.Getenv("TREELINE_SOAK") != "" {
		size = 5 << 20
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	words := repeat("plain words of some length\n")(size)
	var b bytes.Buffer
	render := func(s string) time.Duration {
		b.Reset()
		start := time.Now()
		HTML(&b, s, 0)
		return time.Since(start)
	}
	for name, text := range hostile {
		t.Run(name, func(t *testing.T) {
			const most = 300
			s, ratio := text(size), 0.0
			for range 5 { // the machine may be busy for a moment
				plain := render(words)
				if ratio = float64(render(s)) / float64(plain); ratio <= most {
					break
				}
			}
			t.Logf("%d KB take %.1f times as long as plain words: %d KB", len(s)>>10, ratio, b.Len()>>10)
			if ratio > most {
				t.Errorf("%d bytes take %.1f times as long as plain words, more than %d", len(s), ratio, most)
			}
			if b.Len() > 40*len(s) {
				t.Errorf("%d bytes of text are %d bytes of HTML", len(s), b.Len())
			}
		})
	}
}
