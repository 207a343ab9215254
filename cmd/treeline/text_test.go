package main

import (
	"testing"
	"time"
)

func TestWordsForPeople(t *testing.T) {
	now := time.Date(2026, 3, 5, 15, 0, 0, 0, time.UTC)
	for _, c := range []struct{ got, want string }{
		{byteSize(0), "0 B"},
		{byteSize(999), "999 B"},
		{byteSize(1000), "1.0 KB"},
		{byteSize(9_960), "10 KB"},
		{byteSize(999_499), "999 KB"},
		{byteSize(999_500), "1.0 MB"},
		{byteSize(5_300_000_000), "5.3 GB"},
		{byteSize(5_300_000_000_000_000), "5300 TB"},
		{grouped(-1234567), "-1,234,567"},
		{grouped(123), "123"},
		{counted(1, "file", "files"), "1 file"},
		{counted(1000, "file", "files"), "1,000 files"},
		{ago(now.Add(-30*time.Second), now), "just now"},
		{ago(now.Add(-30*time.Minute), now), "30 min ago"},
		{ago(now.Add(-14*time.Hour), now), "14 h ago"},
		{ago(now.Add(-20*time.Hour), now), "Wed 19:00"},
		{ago(now.Add(-30*24*time.Hour), now), "3 Feb 15:00"},
		{ago(now.Add(-300*24*time.Hour), now), "9 May 2025"},
		{ago(now.Add(time.Hour), now), "2026-03-05 16:00"},
		{tilde("/home/me/x", "/home/me"), "~/x"},
		{tilde("/home/me", "/home/me"), "~"},
		{tilde("/home/menu", "/home/me"), "/home/menu"},
		{tilde("/x", "/"), "/x"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
