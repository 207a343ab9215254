package treeline

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/treeline-dev/treeline/place"
)

// terminal names the terminal that the process runs in, as omp does: by the device of standard input, otherwise by what
// the terminal program left in the environment; "" if there is none. If piped is set, standard input is a pipe, but the
// program may still run in a terminal: then the controlling terminal is tried last.
func terminal(getenv func(string) string, piped bool) string {
	if info, err := os.Stdin.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 && runtime.GOOS == "linux" {
		if device, err := os.Readlink("/proc/self/fd/0"); err == nil && strings.HasPrefix(device, "/dev/") && device != os.DevNull {
			return place.TerminalName(device)
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
			return place.TerminalName(v.prefix + id)
		}
	}
	if !piped {
		return ""
	}
	stat, err := os.ReadFile("/proc/self/stat") // Linux only; elsewhere the caller names the terminal
	if err != nil {
		return ""
	}
	return place.TerminalName(controlling(stat, func(major, minor uint32) ([]byte, error) {
		return os.ReadFile(fmt.Sprintf("/sys/dev/char/%d:%d/uevent", major, minor))
	}))
}

// controlling finds the controlling terminal in /proc/self/stat; "" for none. Pseudo terminals have numbers from major 136
// on; uevent tells the names of other devices.
func controlling(stat []byte, uevent func(major, minor uint32) ([]byte, error)) string {
	// The name of the program is in parentheses and may hold anything. After it come state, ppid, pgrp, session, tty_nr.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 5 {
		return ""
	}
	n, err := strconv.ParseInt(fields[4], 10, 32)
	if err != nil || n == 0 {
		return ""
	}
	dev := uint32(n)
	major, minor := dev>>8&0xfff, dev&0xff|dev>>12&0xfff00
	const pseudo, pseudoLast = 136, 143
	if major >= pseudo && major <= pseudoLast {
		return fmt.Sprintf("pts/%d", minor+(major-pseudo)<<8)
	}
	text, err := uevent(major, minor)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "DEVNAME="); ok {
			return strings.TrimSpace(name)
		}
	}
	return ""
}
