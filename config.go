package treeline

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/treeline-dev/treeline/dialect/all"
	"github.com/treeline-dev/treeline/place"
)

// Config is the user's settings, a TOML file:
//
//	cache = "/fast/disk/treeline"   # where the catalogue is kept
//
//	[[root]]                        # another place with sessions, besides those of the agents; any number
//	path = "~/backup/omp"
//	dialect = "omp"                 # optional: the format of sessions that do not name it themselves; this also applies
//	                                # to an agent's own folder
type Config struct {
	Cache string       `toml:"cache"`
	Roots []ConfigRoot `toml:"root"`
}

// ConfigRoot is a place with sessions: an agent's folder, its folder of sessions, or any folder with logs.
type ConfigRoot struct {
	Path    string `toml:"path"`
	Dialect string `toml:"dialect"`
}

// ConfigPath is the path of the file: $XDG_CONFIG_HOME/treeline/config.toml, or ~/.config/treeline/config.toml. A
// relative path in the variable is ignored.
func ConfigPath(home string, getenv func(string) string) string {
	return filepath.Join(xdg(getenv("XDG_CONFIG_HOME"), home, ".config"), "config.toml")
}

// StateDir is treeline's own folder for the trash and its notes: $XDG_STATE_HOME/treeline, or ~/.local/state/treeline. A relative
// path in the variable is ignored.
func StateDir(home string, getenv func(string) string) string {
	return xdg(getenv("XDG_STATE_HOME"), home, ".local/state")
}

// DataDir is treeline's own folder for sessions that belong to no agent: $XDG_DATA_HOME/treeline, or
// ~/.local/share/treeline. A relative path in the variable is ignored.
func DataDir(home string, getenv func(string) string) string {
	return xdg(getenv("XDG_DATA_HOME"), home, ".local/share")
}

// CacheDir is treeline's own folder for derived data, such as the catalogue: $XDG_CACHE_HOME/treeline, or
// ~/.cache/treeline. A relative path in the variable is ignored.
func CacheDir(home string, getenv func(string) string) string {
	return xdg(getenv("XDG_CACHE_HOME"), home, ".cache")
}

// xdg is treeline's folder in dir or, if that is not absolute, in the usual folder below home.
func xdg(dir, home, usual string) string {
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(home, filepath.FromSlash(usual))
	}
	return filepath.Join(dir, "treeline")
}

// ReadConfig reads the file. A missing file counts as empty. An error names the line. Paths that begin with ~ are below
// home.
func ReadConfig(path, home string) (Config, error) {
	var c Config
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	defer f.Close()
	if err := toml.NewDecoder(f).DisallowUnknownFields().Decode(&c); err != nil {
		return c, configError(path, err)
	}
	if c.Cache, err = configDir(c.Cache, home); err != nil {
		return c, fmt.Errorf("%s: cache: %w", path, err)
	}
	for i := range c.Roots {
		r := &c.Roots[i]
		if r.Path == "" {
			return c, fmt.Errorf("%s: root %d has no path", path, i+1)
		}
		if r.Path, err = configDir(r.Path, home); err != nil {
			return c, fmt.Errorf("%s: root %d: %w", path, i+1, err)
		}
		if _, err := place.FindDialect(all.Dialects(), r.Dialect); err != nil && r.Dialect != "" {
			return c, fmt.Errorf("%s: root %d: %w", path, i+1, err)
		}
	}
	return c, nil
}

// configError names the place in the file where something is wrong.
func configError(path string, err error) error {
	var unknown *toml.StrictMissingError
	if errors.As(err, &unknown) && len(unknown.Errors) > 0 {
		first := unknown.Errors[0]
		line, _ := first.Position()
		return fmt.Errorf("%s:%d: unknown setting %q", path, line, strings.Join(first.Key(), "."))
	}
	var wrong *toml.DecodeError
	if errors.As(err, &wrong) {
		line, _ := wrong.Position()
		return fmt.Errorf("%s:%d: %s", path, line, strings.TrimPrefix(wrong.Error(), "toml: "))
	}
	var unread *fs.PathError
	if errors.As(err, &unread) {
		return unread // it names the file
	}
	return fmt.Errorf("%s: %w", path, err)
}

// configDir expands ~ and refuses a relative path, which would mean another folder in every working directory.
func configDir(dir, home string) (string, error) {
	if dir == "~" || strings.HasPrefix(dir, "~/") {
		dir = filepath.Join(home, dir[1:])
	}
	if dir != "" && !filepath.IsAbs(dir) {
		return "", fmt.Errorf("%q is not an absolute path", dir)
	}
	return dir, nil
}

// Extra returns the roots in the form that package place takes.
func (c Config) Extra() []place.ExtraRoot {
	var list []place.ExtraRoot
	for _, r := range c.Roots {
		list = append(list, place.ExtraRoot{Path: r.Path, Dialect: r.Dialect})
	}
	return list
}
