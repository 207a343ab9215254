package treeline_test

import (
	"testing"

	"github.com/treeline-dev/treeline/backend"
	"github.com/treeline-dev/treeline/backend/all"
)

// Every driver can be found, and a root that it opens is empty until something is created in it.
func TestDrivers(t *testing.T) {
	for root, want := range map[string]string{"memory://here": "memory", t.TempDir() + "/not/there": "file"} {
		d, err := backend.FindDriver(all.Drivers(), root)
		if err != nil || d.Name != want {
			t.Fatalf("%s: %q, %v; want %s", root, d.Name, err, want)
		}
		b, err := d.Open(root, backend.OpenOptions{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		for at, err := range b.List(t.Context(), "") {
			t.Errorf("%s has %v, %v", root, at, err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}
