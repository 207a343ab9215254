package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/wire"
)

// version is set by releases with -ldflags.
var version = "0.1.0-dev"

// versionCommand touches no file.
func (a *app) versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Show the version",
		Long:    "Show the version of treeline and of the Go toolchain that built it.",
		Example: "  treeline version",
		Args:    args(),
		RunE:    func(*cobra.Command, []string) error { return a.say(thisVersion(), versionLine()) },
	}
	a.addJSON(cmd)
	return cmd
}

// thisVersion is what this program was built from.
func thisVersion() wire.Version {
	v := wire.Version{Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.Revision = s.Value[:min(len(s.Value), 12)]
			}
		}
	}
	return v
}

// versionLine is thisVersion as text.
func versionLine() string {
	v := thisVersion()
	return fmt.Sprintf("treeline %s %s %s/%s", strings.TrimSpace(v.Version+" "+v.Revision), v.Go, v.OS, v.Arch)
}

// addVersion adds --version. Cobra's own flag needs a template, and a program with templates keeps every exported method.
func (a *app) addVersion(root *cobra.Command) {
	version := root.Flags().BoolP("version", "v", false, "version for treeline")
	rest := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if *version {
			return a.say(thisVersion(), versionLine())
		}
		return rest(cmd, args)
	}
}
