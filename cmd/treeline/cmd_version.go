package main

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/wire"
)

// Releases set these with -ldflags -X (internal/dist). Other builds have what Go notes about the checkout.
var (
	version  = "0.1.0-dev"
	revision = "" // the commit
	date     = "" // of the commit, as RFC 3339
)

// versionCommand touches no file.
func (a *app) versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Show the version",
		Long:    "Show the version of treeline, the commit and its date, and the Go toolchain and the system that it was built for.",
		Example: "  treeline version\n  treeline version --json",
		Args:    args(),
		RunE:    func(*cobra.Command, []string) error { return a.say(thisVersion(), versionLine(thisVersion())) },
	}
	a.addJSON(cmd)
	return cmd
}

// thisVersion is what this program was built from.
func thisVersion() wire.Version {
	v := wire.Version{Version: version, Revision: revision, Date: date, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok && revision == "" {
		builtFrom(&v, info)
	}
	return v
}

// builtFrom adds what the Go command noted: the version of a module that was installed by its path, or the commit of a checkout.
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

// versionLine is a version as text. What the build does not know is left out.
func versionLine(v wire.Version) string {
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

// addVersion adds --version. Cobra's own flag needs a template, and a program with templates keeps every exported method.
func (a *app) addVersion(root *cobra.Command) {
	version := root.Flags().BoolP("version", "v", false, "version for treeline")
	rest := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if *version {
			return a.say(thisVersion(), versionLine(thisVersion()))
		}
		return rest(cmd, args)
	}
}
