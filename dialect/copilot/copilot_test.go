package copilot_test

import (
	"testing"

	"github.com/treeline-dev/treeline/dialect/copilot"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
)

func TestDialect(t *testing.T) { dialecttest.Run(t, "testdata", copilot.Copilot) }

func TestContext(t *testing.T) { dialecttest.Seen(t, "testdata", copilot.Copilot) }

func FuzzDecode(f *testing.F) { dialecttest.Fuzz(f, "testdata", copilot.Copilot) }
