package operator_test

import (
	"os"
	"testing"

	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/dialect/operator"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

func TestMain(m *testing.M) { os.Exit(soaktest.Main(m)) }

func TestDialect(t *testing.T) {
	dialecttest.Run(t, "testdata", operator.Operator, operator.OperatorDoc)
}

func FuzzDecode(f *testing.F) { dialecttest.Fuzz(f, "testdata", operator.Operator) }
