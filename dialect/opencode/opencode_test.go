package opencode_test

import (
	"os"
	"testing"

	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/dialect/opencode"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

func TestMain(m *testing.M) { os.Exit(soaktest.Main(m)) }

func TestDialect(t *testing.T) {
	dialecttest.Run(t, "testdata", opencode.OpenCode, opencode.Storage)
}

func TestContext(t *testing.T) { dialecttest.Seen(t, "testdata", opencode.OpenCode) }

func FuzzDecode(f *testing.F) { dialecttest.Fuzz(f, "testdata", opencode.OpenCode) }
