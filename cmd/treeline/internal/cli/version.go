package cli

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/treeline-dev/treeline/wire"
)

// Releases set these with -ldflags -X (internal/dist). Other builds use what the go command records about the checkout.
var (
	Version  = "0.1.0-dev"
	revision = "" // the commit
	date     = "" // date of the commit, as RFC 3339
)

// ThisVersion returns the version of this program.
func ThisVersion() wire.Version {
	v := wire.Version{Version: Version, Revision: revision, Date: date, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok && revision == "" {
		builtFrom(&v, info)
	}
	return v
}

// builtFrom adds what the go command recorded: the version of a module that was installed by its path, or the commit of a checkout.
func builtFrom(v *wire.Version, info *debug.BuildInfo) {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	v.Revision, v.Date = settings["vcs.revision"], settings["vcs.time"]
	v.Revision = v.Revision[:min(len(v.Revision), 12)]
	v.Modified = settings["vcs.modified"] == "true"
	if number, ok := strings.CutPrefix(info.Main.Version, "v"); ok && v.Revision == "" {
		v.Version = number
	}
}

// VersionLine formats a version as text. It omits what the build does not know.
func VersionLine(v wire.Version) string {
	words := []string{"treeline", v.Version}
	if v.Revision != "" {
		commit := "(commit " + v.Revision
		if v.Date != "" {
			commit += ", " + v.Date
		}
		if v.Modified {
			commit += ", with changes"
		}
		words = append(words, commit+")")
	}
	return strings.Join(append(words, v.Go, v.OS+"/"+v.Arch), " ")
}
