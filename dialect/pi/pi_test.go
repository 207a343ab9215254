package pi_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/dialect/pi"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

func TestMain(m *testing.M) { os.Exit(soaktest.Main(m)) }

func TestDialect(t *testing.T) { dialecttest.Run(t, "testdata", pi.Omp, pi.Pi, pi.OmpDoc, pi.Omp18) }

func FuzzDecode(f *testing.F) { dialecttest.Fuzz(f, "testdata", pi.Omp) }

func BenchmarkDecode(b *testing.B) { dialecttest.BenchmarkGenerated(b, pi.Omp, bytes.Clone, 1) }
