package main

import (
	"strings"
	"testing"
	"time"

	"github.com/clipperhouse/displaywidth"
)

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		line  string
		width int
		want  string
	}{
		{"short", 10, "short"},
		{"no limit at all", 0, "no limit at all"},
		{"one two three", 7, "one two|three"},
		{"one two three", 8, "one two|three"},
		{"abcdefghij", 4, "abcd|efgh|ij"},
		{"  - an indented point", 12, "  - an|  indented|  point"},
		{"日本語日本語", 5, "日本|語日|本語"},
		{"👩‍👩‍👧👩‍👩‍👧", 3, "👩‍👩‍👧|👩‍👩‍👧"},
		{"a\tb", 20, "a    b"},
		{"                    deep", 12, "       deep"},
		{"wide 語 word", 3, "wid|e|語|wor|d"},
	} {
		got := strings.Join(wrap(c.line, c.width), "|")
		if got != c.want {
			t.Errorf("wrap(%q, %d) = %q, want %q", c.line, c.width, got, c.want)
		}
	}
}

// FuzzWrap: no line is too wide, and nothing but spaces is lost.
func FuzzWrap(f *testing.F) {
	f.Add("  some text with 日本語 and 👩‍👩‍👧", 9)
	f.Fuzz(func(t *testing.T, s string, width int) {
		width = 4 + abs(width)%80
		line := strings.ReplaceAll(clean(s), "\n", "")
		bare := func(s string) string { return strings.NewReplacer(" ", "", "\t", "").Replace(s) }
		all := ""
		for _, piece := range wrap(line, width) {
			if w := displaywidth.String(piece); w > width {
				t.Errorf("%q takes %d columns of %d", piece, w, width)
			}
			all += bare(piece)
		}
		if all != bare(line) {
			t.Errorf("wrap(%q, %d) has other text: %q", line, width, all)
		}
	})
}

func abs(n int) int { return max(n, -(n + 1)) }

func TestOneLine(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"plain", 10, "plain"},
		{"  a\n\n b\tc ", 0, "a b c"},
		{"too long by far", 8, "too lon…"},
		{"日本語日本語", 5, "日本…"},
		{"\x1b[31mred", 0, `\x1b[31mred`},
		{"not \xff UTF-8", 0, "not \ufffd UTF-8"},
		{strings.Repeat("x", 1<<20), 4, "xxx…"},
	} {
		if got := oneLine(c.text, c.most); got != c.want {
			t.Errorf("oneLine(%.40q, %d) = %q, want %q", c.text, c.most, got, c.want)
		}
	}
}

func TestCutPath(t *testing.T) {
	for _, c := range []struct {
		path string
		most int
		want string
	}{
		{"/home/me/app", 20, "/home/me/app"},
		{"/home/me/app", 9, "…/me/app"},
		{"/home/me/app", 5, "…/app"},
		{"/home/me/application", 8, "…ication"},
		{"/日本/語", 5, "…/語"},
	} {
		if got := cutPath(c.path, c.most); got != c.want {
			t.Errorf("cutPath(%q, %d) = %q, want %q", c.path, c.most, got, c.want)
		}
	}
}

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
