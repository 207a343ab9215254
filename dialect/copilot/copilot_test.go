package copilot_test

import (
	"os"
	"testing"

	"github.com/treeline-dev/treeline/dialect/copilot"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

func TestMain(m *testing.M) { os.Exit(soaktest.Main(m)) }

func TestDialect(t *testing.T) { dialecttest.Run(t, "testdata", copilot.Copilot) }

func TestContext(t *testing.T) { dialecttest.Seen(t, "testdata", copilot.Copilot) }

func FuzzDecode(f *testing.F) { dialecttest.Fuzz(f, "testdata", copilot.Copilot) }
