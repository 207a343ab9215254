package cli

import (
	"runtime/debug"
	"testing"

	"github.com/treeline-dev/treeline/internal/difftest"
	"github.com/treeline-dev/treeline/wire"
)

// TestBuiltFrom reads what the go command records in a build of a checkout, and in one of a module from a proxy.
func TestBuiltFrom(t *testing.T) {
	checkout := &debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20260102030405-0123456789ab+dirty"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"},
		{Key: "vcs.modified", Value: "true"},
	}}
	for _, c := range []struct {
		name string
		info *debug.BuildInfo
		want wire.Version
		line string
	}{
		{
			"checkout", checkout, wire.Version{Version: "1.0.0", Revision: "0123456789ab", Date: "2026-01-02T03:04:05Z", Modified: true},
			"treeline 1.0.0 (commit 0123456789ab, 2026-01-02T03:04:05Z, with changes) go1 linux/amd64",
		},
		{"proxy", &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, wire.Version{Version: "1.2.3"}, "treeline 1.2.3 go1 linux/amd64"},
		{"nothing", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, wire.Version{Version: "1.0.0"}, "treeline 1.0.0 go1 linux/amd64"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := wire.Version{Version: "1.0.0"}
			builtFrom(&got, c.info)
			if diff := difftest.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			got.Go, got.OS, got.Arch = "go1", "linux", "amd64"
			if line := VersionLine(got); line != c.line {
				t.Errorf("got %q, want %q", line, c.line)
			}
		})
	}
}
