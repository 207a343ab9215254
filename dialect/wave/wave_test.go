package wave_test

import (
	"testing"

	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/dialect/wave"
)

func TestDialect(t *testing.T) { dialecttest.Run(t, "testdata", wave.Wave, wave.Doc, wave.Legacy) }

func FuzzDecode(f *testing.F) { dialecttest.Fuzz(f, "testdata", wave.Wave) }

func FuzzDecodeLegacy(f *testing.F) { dialecttest.Fuzz(f, "testdata", wave.Legacy) }
