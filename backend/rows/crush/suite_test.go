package crush_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/rows/crush"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/internal/started"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(soaktest.Main(m)) }

// Rows of the databases of projects are sessions like any other.
func TestSuite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Place {
		home := t.TempDir()
		opt := world.Options(home, durable.OS{})
		opt.Env.WorkDir = home
		data := filepath.Join(opt.Env.Home, ".local", "share")
		if err := started.Crush(data, started.Project{Dir: filepath.Join(home, "garden")}, started.Project{Dir: filepath.Join(home, "orchard")}); err != nil {
			t.Fatal(err)
		}
		opt.Drivers = append([]backend.Driver{crush.Driver()}, opt.Drivers...)
		return storetest.Place{Options: opt, Dialect: "crush"}
	})
}
