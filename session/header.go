package session

import (
	"strconv"
	"strings"
	"time"
)

// ID names a session.
type ID string

// EntryID names an entry inside one session.
type EntryID string

// Header is what the first record of a session says.
type Header struct {
	ID        ID
	Version   int
	Timestamp Time
	CWD       string
	// Title is the name in the header or in a title slot before it; "" where there is none.
	Title string
	// Parent is the session that this one comes from, as the agent wrote it: an id or a path.
	Parent string
	// Task: another agent began the session to have a task done.
	Task bool
	// Call is the tool call of Parent that began the task; "" where that is not known.
	Call string
	// Raw is the header's record, byte for byte.
	Raw []byte
	// Span and Line say where the record is.
	Span Span
	Line int
	// InEntry is set where the header's record is also the record of the first entry: the log has no separate header.
	InEntry bool
	// Newer is set where Version is higher than this program knows. Reading such a log is best effort; it is never written.
	Newer bool
}

// Time is a moment as a log spells it. The spelling is kept, because rewriting "2026-01-01T00:00:00Z" as
// "2026-01-01T00:00:00.000Z" would change a file that should only pass through.
type Time struct {
	// Text is the JSON value: a string with its quotes, a number, or "" where the record has none.
	Text string
}

// TimeOf returns the usual spelling of a moment: ISO 8601 with milliseconds, UTC.
func TimeOf(t time.Time) Time {
	var room [len(`"2006-01-02T15:04:05.000Z"`) + 8]byte // a year may have more digits
	return Time{Text: string(AppendTime(room[:0], t))}
}

// AppendTime appends the Text of TimeOf.
func AppendTime(dst []byte, t time.Time) []byte {
	t = t.UTC()
	// RFC3339 is written four times as fast as another layout.
	dst = t.AppendFormat(append(dst, '"'), time.RFC3339)
	ms := t.Nanosecond() / int(time.Millisecond)
	return append(dst[:len(dst)-1], '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z', '"')
}

// Time returns the moment; ok is false if the text is absent or not a time.
func (t Time) Time() (at time.Time, ok bool) {
	text := t.Text
	if text == "" || text == "null" {
		return time.Time{}, false
	}
	if text[0] != '"' {
		return numericTime(text)
	}
	text = strings.Trim(text, `"`)
	for _, layout := range timeLayouts {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// Millis returns the moment in milliseconds since 1970, the unit of the agents' messages.
func (t Time) Millis() (ms int64, ok bool) {
	at, ok := t.Time()
	if !ok {
		return 0, false
	}
	return at.UnixMilli(), true
}

var timeLayouts = []string{
	time.RFC3339Nano,
	"2006-01-02T15:04:05.999999999",
	"2006-01-02T15:04Z07:00",
	"2006-01-02T15:04",
	"2006-01-02",
	"2006-01",
	"2006",
	"2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02 15:04:05.999999999",
}

// numericTime reads a number: seconds if it is small, milliseconds if it is large. 1e11 is the year 5138 in seconds and 1973 in
// milliseconds. A number with a fraction is more likely in seconds, so its limit is 1e12.
func numericTime(text string) (time.Time, bool) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != f || f < 0 || f > 8.64e15 {
		return time.Time{}, false
	}
	if f < 1e12 && strings.ContainsAny(text, ".eE") || f < 1e11 {
		sec := int64(f)
		return time.Unix(sec, int64((f-float64(sec))*1e9)).UTC(), true
	}
	return time.UnixMilli(int64(f)).UTC(), true
}
