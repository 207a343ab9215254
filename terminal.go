package treeline

import (
	"os"
	"runtime"
	"strings"
)

// terminal names the terminal that the process runs in, as omp does: by the device of standard input, otherwise by what
// the terminal program left in the environment; "" if there is none.
func terminal(getenv func(string) string) string {
	if info, err := os.Stdin.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 && runtime.GOOS == "linux" {
		if device, err := os.Readlink("/proc/self/fd/0"); err == nil {
			if name, ok := strings.CutPrefix(device, "/dev/"); ok && name != "null" {
				return safeName(strings.ReplaceAll(name, "/", "-"))
			}
		}
	}
	for _, v := range []struct{ variable, prefix string }{
		{"ZELLIJ_PANE_ID", "zellij-" + getenv("ZELLIJ_SESSION_NAME") + "-"},
		{"TMUX_PANE", "tmux-"},
		{"CMUX_SURFACE_ID", "cmux-"},
		{"KITTY_WINDOW_ID", "kitty-"},
		{"WEZTERM_PANE", "wezterm-"},
		{"TERM_SESSION_ID", "apple-"},
		{"WT_SESSION", "wt-"},
	} {
		if id := getenv(v.variable); id != "" {
			return safeName(v.prefix + id)
		}
	}
	return ""
}

// safeName makes a name that cannot leave its folder: the environment is not to be trusted with paths.
func safeName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`/\:`, r) {
			return '-'
		}
		return r
	}, name)
	if name == "." || name == ".." || strings.HasPrefix(name, ".treeline-") || len(name) > 200 {
		return ""
	}
	return name
}
