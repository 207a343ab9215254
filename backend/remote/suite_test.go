package remote_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/store/storetest"
)

// What a store promises holds on a server, for every dialect.
func TestSuite(t *testing.T) {
	t.Parallel()
	dialects := []string{"omp", "codex", "pi", "operator", "wave", "claude"}
	if !soaktest.Every() {
		dialects = dialects[:2] // the requests are the same for every dialect
	}
	b := newBox(t)
	for _, d := range dialects {
		t.Run(d, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(t *testing.T) storetest.Place {
				opt := world.Options(filepath.FromSlash("/home/user"), nil)
				opt.Env.Realpath = func(dir string) (string, error) { return filepath.Clean(dir), nil }
				opt.OpenBlobs, opt.WriteBlobs = nil, nil
				opt.Drivers = []backend.Driver{driver(b.opt)}
				opt.Origin = fmt.Sprintf("suite-%08x", places.Add(1))
				opt.Roots = []string{b.URL + "/" + opt.Origin}
				return storetest.Place{Options: opt, Dialect: d}
			})
		})
	}
}
