package store_test

import (
	"path/filepath"
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/memory"
	"github.com/treeline-dev/treeline/internal/durable"
	"github.com/treeline-dev/treeline/internal/soak/soaktest"
	"github.com/treeline-dev/treeline/internal/world"
	"github.com/treeline-dev/treeline/place"
	"github.com/treeline-dev/treeline/store/storetest"
)

// What a store promises holds in files, in memory under a URL, in an archive, and on a backend with only the eight methods.
func TestSuite(t *testing.T) {
	for i, place := range []struct {
		name    string
		options func(t *testing.T) place.Options
	}{{"file", inFiles}, {"memory", inMemory}, {"plain", plainly}, {"archive", archived}} {
		for k, d := range []string{"omp", "pi", "operator", "wave", "claude", "codex", "gemini", "qwen", "copilot"} {
			if !soaktest.Every() && i > 0 && (i+k)%3 != 0 {
				continue // files are tested with every dialect, other places with a third of them
			}
			t.Run(place.name+"/"+d, func(t *testing.T) {
				t.Parallel()
				storetest.Run(t, func(t *testing.T) storetest.Place { return storetest.Place{Options: place.options(t), Dialect: d} })
			})
		}
	}
}

func inFiles(t *testing.T) place.Options { return world.Options(t.TempDir(), durable.OS{}) }

func inMemory(*testing.T) place.Options { return underURL(memory.Driver("box")) }

// archived returns a machine whose sessions are in an archive with those of other machines.
func archived(*testing.T) place.Options {
	opt := underURL(memory.ArchiveDriver("team"))
	opt.Roots, opt.Origin = []string{"team://ann:secret@shelf"}, "here-3f9a2c1b"
	return opt
}

// underURL returns a machine without files: its sessions are under a URL.
func underURL(d backend.Driver) place.Options {
	opt := world.Options(filepath.FromSlash("/home/user"), nil)
	opt.Env.Realpath = func(dir string) (string, error) { return filepath.Clean(dir), nil }
	opt.OpenBlobs, opt.WriteBlobs = nil, nil
	opt.Drivers, opt.Roots = []backend.Driver{d}, []string{d.Scheme + "://shelf"}
	return opt
}

// plainly hides all optional interfaces of memory.
func plainly(*testing.T) place.Options {
	d := memory.Driver("toy")
	open := d.Open
	d.Open = func(root string, opt backend.OpenOptions) (backend.Backend, error) {
		b, err := open(root, opt)
		return struct{ backend.Backend }{b}, err
	}
	return underURL(d)
}
