package codelia_test

import (
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/rows/codelia"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/store/storetest"
)

// The agent's states are sessions like any other: only the driver knows that they are rows.
func TestSuite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Place {
		opt := world.Options(t.TempDir(), durable.OS{})
		opt.Drivers = append([]backend.Driver{codelia.Driver()}, opt.Drivers...)
		return storetest.Place{Options: opt, Dialect: "codelia-state"}
	})
}
