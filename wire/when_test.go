package wire

import (
	"testing"
	"time"
)

// TestParseAge: an age is never negative, and one that does not fit into a duration is refused in every unit.
func TestParseAge(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"0": 0, "45m": 45 * time.Minute, "36h": 36 * time.Hour, "1.5d": 36 * time.Hour, "2w": 14 * day, "0.5w": 84 * time.Hour,
		"106751d": 106_751 * day, "15250w": 15_250 * 7 * day, "2562047h": 2_562_047 * time.Hour,
	} {
		if got, err := ParseAge(text); got != want || err != nil {
			t.Errorf("%s is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "d", "w", "x", "-1h", "-1d", "-1w", "NaNd", "Infw", "-Infd", "1e400w", "106752d", "15251w", "20000w", "99999w", "1e300d", "2562048h",
		"153722868m", "9223372037s", "9223372036854775808ns",
	} {
		if got, err := ParseAge(text); err == nil {
			t.Errorf("%s is %v; want an error", text, got)
		}
		if at, err := ParseWhen(text, time.Date(2026, 11, 16, 14, 30, 0, 0, time.UTC), false); err == nil {
			t.Errorf("%q is the time %v; want an error", text, at)
		}
	}
	// The longest ages are still before now, and after it for the end of a token.
	now := time.Date(2026, 11, 16, 14, 30, 0, 0, time.UTC)
	for _, text := range []string{"106751d", "15250w", "2562047h"} {
		d, err := ParseAge(text)
		at, errWhen := ParseWhen(text, now, false)
		if err != nil || errWhen != nil || at.Year() != 1734 || now.Add(d).Year() != 2319 {
			t.Errorf("%s ago is %v (%v), in %[1]s it is %v (%v)", text, at, errWhen, now.Add(d), err)
		}
	}
}
