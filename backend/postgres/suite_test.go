package postgres_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/postgres"
	"github.com/treeline-dev/treeline/internal/pgtest"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/store/storetest"
)

// What a store promises holds in a database, for every dialect, directly and behind a pooler.
func TestSuite(t *testing.T) {
	t.Parallel()
	var places atomic.Int64
	dialects := []string{"omp", "codex", "pi", "operator", "wave", "claude"}
	urls := map[string]string{"direct": pgtest.Shared(t).URL("")}
	if soaktest.Every() {
		urls["bouncer"] = pgtest.SharedBouncer(t).URL("")
	} else {
		dialects = dialects[:1] // the statements are the same for every dialect, and TestBouncer sends them through a pooler
	}
	for name, url := range urls {
		for _, d := range dialects {
			t.Run(name+"/"+d, func(t *testing.T) {
				t.Parallel()
				storetest.Run(t, func(t *testing.T) storetest.Place {
					opt := world.Options(filepath.FromSlash("/home/user"), nil)
					opt.Env.Realpath = func(dir string) (string, error) { return filepath.Clean(dir), nil }
					opt.OpenBlobs, opt.WriteBlobs = nil, nil
					opt.Drivers = []backend.Driver{postgres.Driver(postgres.Options{})}
					opt.Origin = fmt.Sprintf("suite-%08x", places.Add(1))
					opt.Roots = []string{strings.Replace(url, "?", "/"+opt.Origin+"?", 1)}
					return storetest.Place{Options: opt, Dialect: d}
				})
			})
		}
	}
}
