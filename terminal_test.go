package treeline

import (
	"errors"
	"testing"
)

// The controlling terminal is found whatever the name of the program is.
func TestControllingTerminal(t *testing.T) {
	uevent := func(major, minor uint32) ([]byte, error) {
		if major == 4 && minor == 1 {
			return []byte("MAJOR=4\nMINOR=1\nDEVNAME=tty1\n"), nil
		}
		return nil, errors.New("unknown")
	}
	for stat, want := range map[string]string{
		"7 (treeline) S 6 7 7 34816 7 4194304 1":     "pts/0",
		"7 (a) b) R 6 7 7 34819 7 0":                 "pts/3",
		"7 (treeline) S 6 7 7 35072 7 4194304 1":     "pts/256",
		"7 (treeline) S 6 7 7 1083392 7 4194304 1":   "pts/256", // a minor number of more than eight bits
		"7 (treeline) S 6 7 7 1025 7 4194304 1":      "tty1",
		"7 (treeline) S 6 7 7 1026 7 4194304 1":      "",
		"7 (treeline) S 6 7 7 0 -1 4194304 1":        "",
		"7 (treeline) S 6":                           "",
		"":                                           "",
		"7 (treeline) S 6 7 7 none 7 4194304 1":      "",
		"7 (treeline) S 6 7 7 99999999999 7 4194304": "",
	} {
		if got := controlling([]byte(stat), uevent); got != want {
			t.Errorf("%q: %q, want %q", stat, got, want)
		}
	}
}
