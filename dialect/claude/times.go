package claude

import (
	"strings"
	"time"
)

// looseLayouts are the other forms in which JavaScript reads a time.
var looseLayouts = []string{
	time.RFC1123, time.RFC1123Z, "Mon Jan 2 2006 15:04:05 GMT-0700", "Jan 2, 2006 15:04:05", "Jan 2, 2006", "2 Jan 2006 15:04:05", "1/2/2006 15:04:05",
	"1/2/2006", "2006/1/2 15:04:05", "2006/1/2", time.RFC3339Nano,
}

// looseMillis reads a time that is not in the form of ISO 8601, but that the program reads. One without a zone is taken for
// UTC; the program takes it for local time.
func looseMillis(text string) (at int64, ok bool) {
	text, _, _ = strings.Cut(text, " (") // the name of the zone
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
	// A day that the month does not have is one of the next month.
	if s := strings.TrimSuffix(text, "Z"); len(s) == len("2006-01-02T15:04:05") {
		return plainMillis([]byte(`"` + s + `.000Z"`))
	}
	return 0, false
}
