package opencode_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/rows/opencode"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/internal/started"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(soaktest.Main(m)) }

// Rows of the database are sessions like any other.
func TestSuite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Place {
		home := t.TempDir()
		opt := world.Options(home, durable.OS{})
		if _, err := started.OpenCode(filepath.Join(opt.Env.Home, ".local", "share")); err != nil {
			t.Fatal(err)
		}
		opt.Drivers = append([]backend.Driver{opencode.Driver()}, opt.Drivers...)
		return storetest.Place{Options: opt, Dialect: "opencode"}
	})
}
