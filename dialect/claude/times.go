package claude

import (
	"math"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// millis reads the time of an entry; ok is false if it is not a string with a valid time.
func millis(timestamp []byte) (at int64, ok bool) {
	if !rawjson.IsString(timestamp) {
		return 0, false
	}
	if at, ok = plainMillis(timestamp); ok {
		return at, true
	}
	if at, ok = (session.Time{Text: string(timestamp)}).Millis(); ok {
		return at, true
	}
	text, _ := rawjson.Unquote(timestamp)
	return looseMillis(text)
}

// day caches the day of the last entry. Most entries have the same day as the one before, so that only the time of day is read.
type day struct {
	date  [len(dateForm)]byte
	begin int64
}

const dateForm = `"0000-00-00T`

// millis is the function millis for the time of the next entry.
func (d *day) millis(timestamp []byte) (at int64, ok bool) {
	n := len(d.date)
	if len(timestamp) < n {
		return millis(timestamp)
	}
	since, plain := timeOfDay(timestamp[n:])
	if plain && string(timestamp[:n]) == string(d.date[:]) {
		return d.begin + since, true
	}
	if at, ok = millis(timestamp); ok && plain && timestamp[n-1] == 'T' {
		copy(d.date[:], timestamp)
		d.begin = at - since
	}
	return at, ok
}

// timeOfDay reads a time in the program's own spelling, 10:00:01.000Z, followed by a quote.
func timeOfDay(s []byte) (millis int64, ok bool) {
	const form = `00:00:00.000Z"`
	if len(s) != len(form) || s[2] != ':' || s[5] != ':' || s[8] != '.' || s[12] != 'Z' {
		return 0, false
	}
	hour, minute, second := twoDigits(s[0], s[1]), twoDigits(s[3], s[4]), twoDigits(s[6], s[7])
	hundredth, last := twoDigits(s[9], s[10]), s[11]-'0'
	if hour > 23 || minute > 59 || second > 59 || hundredth > 99 || last > 9 {
		return 0, false
	}
	return ((hour*60+minute)*60+second)*1000 + 10*hundredth + int64(last), true
}

// twoDigits reads a number of two digits. The result is above 99 if a byte is not a digit.
func twoDigits(tens, ones byte) int64 {
	if tens-'0' > 9 || ones-'0' > 9 {
		return 100
	}
	return 10*int64(tens-'0') + int64(ones-'0')
}

// plainMillis reads a time in the program's own spelling only, "2026-05-01T10:00:01.000Z" with its quotes. It is fast, because
// every line has a time.
func plainMillis(s []byte) (int64, bool) {
	const form = `"0000-00-00T00:00:00.000Z"`
	if len(s) != len(form) {
		return 0, false
	}
	var n [7]int // year, month, day, hour, minute, second, millisecond
	k := 0
	for i := 1; i < len(form)-1; i++ {
		switch c := s[i]; {
		case form[i] == '0' && c >= '0' && c <= '9':
			n[k] = 10*n[k] + int(c-'0')
		case form[i] != '0' && c == form[i]:
			k = min(k+1, len(n)-1)
		default:
			return 0, false
		}
	}
	// A day that is too large for the month counts into the next month.
	midnight := n[3] == 24 && n[4]+n[5]+n[6] == 0
	if n[1] < 1 || n[1] > 12 || n[2] < 1 || n[2] > 31 || n[3] > 23 && !midnight || n[4] > 59 || n[5] > 59 {
		return 0, false
	}
	return time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], n[6]*1e6, time.UTC).UnixMilli(), true
}

// noTime is the time of an entry whose timestamp is absent or not a string with a valid time.
const noTime = math.MinInt64

// looseLayouts are the other formats in which JavaScript reads a time.
var looseLayouts = []string{
	time.RFC1123, time.RFC1123Z, "Mon Jan 2 2006 15:04:05 GMT-0700", "Jan 2, 2006 15:04:05", "Jan 2, 2006", "2 Jan 2006 15:04:05", "1/2/2006 15:04:05",
	"1/2/2006", "2006/1/2 15:04:05", "2006/1/2", time.RFC3339Nano,
}

// looseMillis reads a time that is not in ISO 8601 but that the program reads. A time without a zone is taken as
// UTC; the program takes it as local time.
func looseMillis(text string) (at int64, ok bool) {
	text, _, _ = strings.Cut(text, " (") // removes the name of the zone
	if year, signed := strings.CutPrefix(text, "+00"); signed {
		text = year
	}
	if len(text) > 10 && text[10] == 't' {
		text = strings.ToUpper(text)
	}
	for _, layout := range looseLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UnixMilli(), true
		}
	}
	// A day that is too large for the month counts into the next month.
	if s := strings.TrimSuffix(text, "Z"); len(s) == len("2006-01-02T15:04:05") {
		return plainMillis([]byte(`"` + s + `.000Z"`))
	}
	return 0, false
}
