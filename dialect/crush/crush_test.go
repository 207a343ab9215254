package crush_test

import (
	"os"
	"testing"

	"github.com/treeline-dev/treeline/dialect/crush"
	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

func TestMain(m *testing.M) { os.Exit(soaktest.Main(m)) }

func TestDialect(t *testing.T) { dialecttest.Run(t, "testdata", crush.Crush) }

func TestContext(t *testing.T) { dialecttest.Seen(t, "testdata", crush.Crush) }

func FuzzDecode(f *testing.F) { dialecttest.Fuzz(f, "testdata", crush.Crush) }
