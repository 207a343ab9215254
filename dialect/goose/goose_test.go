package goose_test

import (
	"testing"

	"github.com/treeline-dev/treeline/dialect/dialecttest"
	"github.com/treeline-dev/treeline/dialect/goose"
)

func TestDialect(t *testing.T) { dialecttest.Run(t, "testdata", goose.Goose) }

func TestContext(t *testing.T) { dialecttest.Seen(t, "testdata", goose.Goose) }

func FuzzDecode(f *testing.F) { dialecttest.Fuzz(f, "testdata", goose.Goose) }
