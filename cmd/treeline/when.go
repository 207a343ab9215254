package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// whenHelp says how moments are spelled, in the help of flags that take one.
const whenHelp = "a date (2026-11-01), a time (RFC 3339) or how long ago (7d, 12h)"

// parseWhen reads a moment. A date means its beginning or, for a moment that ends something, its end.
// Times without a zone are local, because they are typed by somebody who looks at a clock.
func parseWhen(text string, now time.Time, ends bool) (time.Time, error) {
	if t, err := time.ParseInLocation("2006-01-02", text, now.Location()); err == nil {
		if ends {
			// the end of a day is the beginning of the next
			t = t.AddDate(0, 0, 1)
		}
		return t, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	if d, ok := parseAge(text); ok {
		return now.Add(-d), nil
	}
	return time.Time{}, fmt.Errorf("%q is no time: it takes %s", text, whenHelp)
}

// parseSpan reads --since and --until, each of which may be missing.
// An empty span is refused: it would answer nothing, whatever there is.
func parseSpan(from, to string, now time.Time) (since, until time.Time, err error) {
	if from != "" {
		if since, err = parseWhen(from, now, false); err != nil {
			return since, until, fmt.Errorf("--since: %w", err)
		}
	}
	if to != "" {
		if until, err = parseWhen(to, now, true); err != nil {
			return since, until, fmt.Errorf("--until: %w", err)
		}
	}
	if from != "" && to != "" && !since.Before(until) {
		return since, until, fmt.Errorf("--until %s is not after --since %s: there is nothing between them", to, from)
	}
	return since, until, nil
}

// parseAge reads a duration that may be given in days or weeks, too.
// Fractions are fine ("1.5d"); a hundred thousand days are beyond any session.
func parseAge(text string) (time.Duration, bool) {
	for _, unit := range []struct {
		suffix string
		length time.Duration
	}{{"d", 24 * time.Hour}, {"w", 7 * 24 * time.Hour}} {
		if number, ok := strings.CutSuffix(text, unit.suffix); ok {
			n, err := strconv.ParseFloat(number, 64)
			if err != nil || !(n >= 0 && n < 100_000) {
				return 0, false
			}
			return time.Duration(n * float64(unit.length)), true
		}
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0
}
