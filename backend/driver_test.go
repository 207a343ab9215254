package backend_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/backend"
)

func TestFindDriver(t *testing.T) {
	drivers := []backend.Driver{
		{Name: "rows", Claims: func(dir string) bool { return strings.HasSuffix(dir, "/rows") }},
		{Name: "team", Scheme: "postgres"},
		{Name: "late", Scheme: "postgres"},
		{Name: "file"},
	}
	for _, tc := range []struct{ root, want string }{
		{"/home/rows", "rows"},
		{"/home/sessions", "file"},
		{"", "file"},
		{"postgres://db/sessions", "team"}, // the first one
		{"postgres://db/rows", "team"},     // Claims is not asked about URLs
		{"https://team", ""},
		{`C:\sessions`, "file"},
		{"c://sessions", "file"}, // a drive, not a scheme
		{"./a://b", "file"},
	} {
		d, err := backend.FindDriver(drivers, tc.root)
		if d.Name != tc.want || (tc.want == "") != errors.Is(err, backend.ErrNoDriver) {
			t.Errorf("%s: %q, %v; want %q", tc.root, d.Name, err, tc.want)
		}
	}
	for _, root := range []string{"/home", "https://team"} {
		if _, err := backend.FindDriver(nil, root); !errors.Is(err, backend.ErrNoDriver) || !strings.HasPrefix(err.Error(), root[:5]) {
			t.Errorf("%s without drivers: %v", root, err)
		}
	}
}

func TestDurability(t *testing.T) {
	for _, d := range []backend.Durability{"", backend.DurabilityNone, backend.DurabilityFlush, backend.DurabilityAlways} {
		if err := d.Check(); err != nil {
			t.Error(err)
		}
	}
	if backend.Durability("often").Check() == nil {
		t.Error("an unknown level is valid")
	}
}
