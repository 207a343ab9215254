package qwen_test

import (
	"testing"

	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/dialect/qwen"
)

func TestDialect(t *testing.T) { dialecttest.Run(t, "testdata", qwen.Qwen) }

func TestContext(t *testing.T) { dialecttest.Seen(t, "testdata", qwen.Qwen) }

func FuzzDecode(f *testing.F) { dialecttest.Fuzz(f, "testdata", qwen.Qwen) }
