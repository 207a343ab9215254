package gemini

import (
	"strings"
	"testing"
)

// TestUpdate: only a line that has a time and nothing else is recognized by its spelling.
func TestUpdate(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		`{"$set":{"lastUpdated":"2026-03-02T14:00:00.000Z"}}`:               true,
		`{"$set":{"lastUpdated":""}}`:                                       true,
		`{"$set":{"lastUpdated":"2026-03-02T14:00:00.000Z","summary":"s"}}`: false,
		`{"$set":{"lastUpdated":"","messages":[]}}`:                         false,
		`{"$set":{"lastUpdated":"\u0032026"}}`:                              false,
		`{"$set":{"lastUpdated":"\"}}`:                                      false,
		"{\"$set\":{\"lastUpdated\":\"2026\t\"}}":                           false,
		"{\"$set\":{\"lastUpdated\":\"2026\u2028\"}}":                       false,
		`{"$set":{"lastUpdated":"2026-03-02T14:00:00.000Z"}} `:              false,
		`{"$set":{"lastUpdated":"` + strings.Repeat("1", 50) + `"}}`:        false,
		`{"$set":{"lastUpdated":1}}`:                                        false,
	} {
		if got := isUpdate([]byte(line)); got != want {
			t.Errorf("%s: %v, want %v", line, got, want)
		}
	}
}
