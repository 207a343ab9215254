package gemini_test

import (
	"os"
	"testing"

	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/dialect/gemini"
	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

func TestMain(m *testing.M) { os.Exit(soaktest.Main(m)) }

func TestDialect(t *testing.T) { dialecttest.Run(t, "testdata", gemini.Gemini) }

func TestContext(t *testing.T) { dialecttest.Seen(t, "testdata", gemini.Gemini) }

func FuzzDecode(f *testing.F) { dialecttest.Fuzz(f, "testdata", gemini.Gemini) }

func BenchmarkDecode(b *testing.B) {
	dialecttest.BenchmarkGenerated(b, gemini.Gemini, gen.Gemini, 1)
}
