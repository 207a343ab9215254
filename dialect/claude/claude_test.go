package claude_test

import (
	"os"
	"testing"

	"github.com/treeline-dev/treeline/dialect/claude"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/internal/gen"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

func TestMain(m *testing.M) { os.Exit(soaktest.Main(m)) }

func TestDialect(t *testing.T) { dialecttest.Run(t, "testdata", claude.Claude) }

func TestContext(t *testing.T) { dialecttest.Seen(t, "testdata", claude.Claude) }

func FuzzDecode(f *testing.F) { dialecttest.Fuzz(f, "testdata", claude.Claude) }

func BenchmarkDecode(b *testing.B) { dialecttest.BenchmarkGenerated(b, claude.Claude, gen.Claude, 0) }
