package wire

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Size formats a number of bytes in decimal units. From 9.95 and 999.5, rounding would add a digit.
func Size(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10) + " B"
	}
	f := float64(n)
	for _, unit := range []string{"KB", "MB", "GB", "TB"} {
		if f /= 1000; f < 9.95 {
			return strconv.FormatFloat(f, 'f', 1, 64) + " " + unit
		} else if f < 999.5 || unit == "TB" {
			return strconv.FormatFloat(f, 'f', 0, 64) + " " + unit
		}
	}
	return ""
}

// Number formats a number with separators between thousands.
func Number(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Count formats a number of things: "1 entry", "1,200 entries".
//
//go:noinline // its copies took 10.5 KB
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(int64(n)) + " " + many
}

// Ago formats a time as people say it: hours within a day, the weekday within a week, otherwise the date. A future time is given in full.
func Ago(t, now time.Time) string {
	switch d := now.Sub(t); {
	case d < -time.Minute:
		return t.Format("2006-01-02 15:04")
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 24*time.Hour && now.Day() == t.Day(), d < 6*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	case d < 6*24*time.Hour:
		return t.Format("Mon 15:04")
	case now.Year() == t.Year():
		return t.Format("2 Jan 15:04")
	}
	return t.Format("2 Jan 2006")
}

// Tilde replaces the home directory in a path by ~. A home of "/" replaces nothing.
func Tilde(path, home string) string {
	if home == "" || home == "/" {
		return path
	}
	if rest, ok := strings.CutPrefix(path, home); ok && (rest == "" || rest[0] == '/' || rest[0] == '\\') {
		return "~" + rest
	}
	return path
}

// Short formats a number, such as one of tokens, in few characters: 950, 1.2k, 61.8M.
func Short(n int64) string {
	f := float64(n)
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case f < 99.95e3:
		return strconv.FormatFloat(f/1e3, 'f', 1, 64) + "k"
	case f < 999.5e3:
		return strconv.FormatFloat(f/1e3, 'f', 0, 64) + "k"
	case f < 999.5e6:
		return strconv.FormatFloat(f/1e6, 'f', 1, 64) + "M"
	}
	return strconv.FormatFloat(f/1e9, 'f', 1, 64) + "G"
}

// Dollars formats a cost. A small one has more digits.
func Dollars(f float64) string {
	switch {
	case f == 0 || math.IsNaN(f) || math.IsInf(f, 0):
		return "$0"
	case f < 0.0095:
		return "$" + strings.TrimRight(strconv.FormatFloat(f, 'f', 4, 64), "0")
	case f < 1000:
		return fmt.Sprintf("$%.2f", f)
	}
	return "$" + Number(int64(math.Round(f)))
}

// Cost formats a cost in a table. It returns none instead of $0 for an agent that records no costs, since that does not mean free.
func Cost(f float64, none string) string {
	if f == 0 {
		return none
	}
	return Dollars(f)
}

// Took formats a duration as people say it: 0.1 s, 42 s, 3 min.
func Took(d time.Duration) string {
	switch {
	case d == 0:
		return "0 s"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d < 2*time.Minute:
		return strconv.Itoa(int(d.Seconds()+0.5)) + " s"
	case d < 2*time.Hour:
		return strconv.Itoa(int(d.Minutes()+0.5)) + " min"
	}
	return strconv.Itoa(int(d.Hours()+0.5)) + " h"
}
