package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by releases with -ldflags.
// Builds from a checkout say "-dev" and, where the go command knows it, the revision.
var version = "0.1.0-dev"

// versionJSON is what 'version' says, for programs.
// It is a stable format; revision is absent in a build without version control.
type versionJSON struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// versionCommand is also what scripts call to see whether the program can be run: it touches no file.
func (a *app) versionCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Show the version",
		Long:    "Show the version of treeline, and of what it was built with.",
		Example: "  treeline version",
		Args:    args(),
		RunE: func(*cobra.Command, []string) error {
			v := versionJSON{Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, s := range info.Settings {
					if s.Key == "vcs.revision" {
						// twelve digits tell any two revisions apart
						v.Revision = s.Value[:min(len(s.Value), 12)]
					}
				}
			}
			if asJSON {
				return writeJSON(a.stdout, v)
			}
			revision := v.Revision
			if revision != "" {
				revision = " " + revision
			}
			_, err := fmt.Fprintf(a.stdout, "treeline %s%s %s %s/%s\n", v.Version, revision, v.Go, v.OS, v.Arch)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
