package codex_test

import (
	"testing"

	"github.com/treeline-dev/treeline/dialect/codex"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/internal/gen"
)

func TestDialect(t *testing.T) { dialecttest.Run(t, "testdata", codex.Codex) }

func TestContext(t *testing.T) { dialecttest.Seen(t, "testdata", codex.Codex) }

func FuzzDecode(f *testing.F) { dialecttest.Fuzz(f, "testdata", codex.Codex) }

func BenchmarkDecode(b *testing.B) { dialecttest.BenchmarkGenerated(b, codex.Codex, gen.Codex, 1) }
