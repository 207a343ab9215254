package operator_test

import (
	"testing"

	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/dialect/operator"
)

func TestDialect(t *testing.T) {
	dialecttest.Run(t, "testdata", operator.Operator, operator.OperatorDoc)
}

func FuzzDecode(f *testing.F) { dialecttest.Fuzz(f, "testdata", operator.Operator) }
