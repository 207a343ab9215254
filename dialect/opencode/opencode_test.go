package opencode_test

import (
	"testing"

	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/dialect/opencode"
)

func TestDialect(t *testing.T) {
	dialecttest.Run(t, "testdata", opencode.OpenCode, opencode.Storage)
}

func TestContext(t *testing.T) { dialecttest.Seen(t, "testdata", opencode.OpenCode) }

func FuzzDecode(f *testing.F) { dialecttest.Fuzz(f, "testdata", opencode.OpenCode) }
