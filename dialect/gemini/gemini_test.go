package gemini_test

import (
	"testing"

	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/dialect/gemini"
)

func TestDialect(t *testing.T) { dialecttest.Run(t, "testdata", gemini.Gemini) }

func TestContext(t *testing.T) { dialecttest.Seen(t, "testdata", gemini.Gemini) }

func FuzzDecode(f *testing.F) { dialecttest.Fuzz(f, "testdata", gemini.Gemini) }
