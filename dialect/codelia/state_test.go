package codelia_test

import (
	"testing"

	"github.com/treeline-dev/treeline/dialect/codelia"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
)

func TestState(t *testing.T) {
	dialecttest.Run(t, "testdata-state", codelia.State, codelia.StateDoc)
}

func FuzzDecodeState(f *testing.F) { dialecttest.Fuzz(f, "testdata-state", codelia.State) }
