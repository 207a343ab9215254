package qwen_test

import (
	"os"
	"testing"

	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/dialect/qwen"
	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

func TestMain(m *testing.M) { os.Exit(soaktest.Main(m)) }

func TestDialect(t *testing.T) { dialecttest.Run(t, "testdata", qwen.Qwen) }

func TestContext(t *testing.T) { dialecttest.Seen(t, "testdata", qwen.Qwen) }

func FuzzDecode(f *testing.F) { dialecttest.Fuzz(f, "testdata", qwen.Qwen) }

func BenchmarkDecode(b *testing.B) {
	dialecttest.BenchmarkGenerated(b, qwen.Qwen, gen.Qwen, 0)
}
