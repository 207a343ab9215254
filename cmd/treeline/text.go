package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"
)

// byteSize is a size for people.
// Decimal units, as disks and file managers count. 9.95 and 999.5 are where rounding would give one digit more.
func byteSize(n int64) string {
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

// grouped is a number with its thousands set apart.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// counted says how many there are of something, with its plural.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(int64(n)) + " " + many
}

// ago is a moment as people say it, seen from now.
// Within a day it is hours, within a week the day's name, beyond that a date. Times ahead of the clock are told in
// full.
func ago(t, now time.Time) string {
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

// tilde shortens the home folder in a path.
// A home of "/" would shorten every path to nothing that helps.
func tilde(path, home string) string {
	if home == "" || home == "/" {
		return path
	}
	if rest, ok := strings.CutPrefix(path, home); ok && (rest == "" || rest[0] == '/' || rest[0] == '\\') {
		return "~" + rest
	}
	return path
}

// displayWidth is the columns of a text that may have marks of ours in it.
func displayWidth(s string) int {
	if strings.IndexByte(s, 0x1b) >= 0 {
		return displaywidth.Options{ControlSequences: true}.String(s)
	}
	return displaywidth.String(s)
}

// fromHere shows paths below a directory from there: that is where the agent was.
// A plain replacement, also within words: what is shown is a hint and is not parsed by anybody.
func fromHere(s, dir string) string {
	if len(dir) < 2 {
		return s
	}
	return strings.ReplaceAll(s, dir+"/", "")
}
