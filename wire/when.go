package wire

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// ParseWhen parses a time. A date is its first moment or, if it ends a span, the first moment of the next day. A time without a zone is
// local.
func ParseWhen(text string, now time.Time, ends bool) (time.Time, error) {
	if t, err := time.ParseInLocation("2006-01-02", text, now.Location()); err == nil {
		if ends {
			t = t.AddDate(0, 0, 1)
		}
		return t, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	d, err := ParseAge(text)
	return now.Add(-d), err
}

// ParseAge parses an age: a duration, possibly with days or weeks, or a fraction of them. It refuses one that does not fit into a
// time.Duration, which is 292 years.
func ParseAge(text string) (time.Duration, error) {
	for suffix, unit := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if number, ok := strings.CutSuffix(text, suffix); ok {
			n, err := strconv.ParseFloat(number, 64)
			d := n * float64(unit)
			if err != nil || !(d >= 0 && d < 1<<63) {
				return 0, errors.New("not a duration")
			}
			return time.Duration(d), nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, errors.New("not a duration")
	}
	return d, nil
}
