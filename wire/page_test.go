package wire

import (
	"testing"
	"time"

	"github.com/treeline-dev/treeline/internal/difftest"
)

func TestWordsForPeople(t *testing.T) {
	now := time.Date(2026, 3, 5, 15, 0, 0, 0, time.UTC)
	for _, c := range []struct{ got, want string }{
		{Size(0), "0 B"},
		{Size(999), "999 B"},
		{Size(1000), "1.0 KB"},
		{Size(9_960), "10 KB"},
		{Size(999_499), "999 KB"},
		{Size(999_500), "1.0 MB"},
		{Size(5_300_000_000), "5.3 GB"},
		{Size(5_300_000_000_000_000), "5300 TB"},
		{Number(-1234567), "-1,234,567"},
		{Number(123), "123"},
		{Count(1, "file", "files"), "1 file"},
		{Count(1000, "file", "files"), "1,000 files"},
		{Ago(now.Add(-30*time.Second), now), "just now"},
		{Ago(now.Add(-30*time.Minute), now), "30 min ago"},
		{Ago(now.Add(-14*time.Hour), now), "14 h ago"},
		{Ago(now.Add(-20*time.Hour), now), "Wed 19:00"},
		{Ago(now.Add(-30*24*time.Hour), now), "3 Feb 15:00"},
		{Ago(now.Add(-300*24*time.Hour), now), "9 May 2025"},
		{Ago(now.Add(time.Hour), now), "2026-03-05 16:00"},
		{Tilde("/home/me/x", "/home/me"), "~/x"},
		{Tilde("/home/me", "/home/me"), "~"},
		{Tilde("/home/menu", "/home/me"), "/home/menu"},
		{Tilde("/x", "/"), "/x"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// A cursor can identify any row: its time may be far away, and its path need not be UTF-8.
func TestCursor(t *testing.T) {
	t.Parallel()
	rows := []Cursor{
		{When: time.UnixMilli(8.64e15), Path: "a"}, {When: time.Unix(1, 7), Path: "b\xff"}, {When: time.Unix(1, 7), Path: "c"}, {Path: "d"},
	}
	var got []Cursor
	after := ""
	for range rows {
		part, next, err := PageOf(rows, func(c *Cursor) Cursor { return *c }, 1, after)
		if err != nil || len(part) != 1 {
			t.Fatal(part, err)
		}
		if got = append(got, *part[0]); next == nil {
			break
		}
		after = *next
	}
	if diff := difftest.Diff(rows, got); diff != "" {
		t.Error(diff)
	}
}
