package redact

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
)

// Version must grow with the rules: copies of sessions record the version with which they were redacted.
func TestVersion(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, k := range kinds() {
		fmt.Fprintln(&all, k.name, k.shapes, k.keywords)
	}
	const want = "1 9a0f84bf859eeb2f"
	if got := fmt.Sprintf("%d %.8x", Version, sha256.Sum256([]byte(all.String()))); got != want {
		t.Errorf("the rules are %s, and were %s: raise Version, and put this here", got, want)
	}
}

// A record is redacted in one way: JSON stays JSON with the same members, anything else is text, and no newline is added.
func TestRecord(t *testing.T) {
	t.Parallel()
	key := "AKIA" + "QYLPMN5HHHFPZAM2"
	mark := Mark("aws access key")
	for record, want := range map[string]string{
		`{"a":"` + key + `"}`:                  `{"a":"` + mark + `"}`,
		`{"a":"nothing"}`:                      `{"a":"nothing"}`,
		`[INFO] ` + key:                        `[INFO] ` + mark,
		`{"torn":"` + key:                      `{"torn":"` + mark,
		"":                                     "",
		`{"a":"` + key + `"}{"b":1}`:           `{"a":"` + mark + `"}{"b":1}`,
		"\ufeff" + `{"a":"` + key + `","n":1}`: "\ufeff" + `{"a":"` + mark + `","n":1}`,
	} {
		got, n := Record([]byte(record))
		if string(got) != want || (n > 0) != (record != want) {
			t.Errorf("%q becomes %q (%d), want %q", record, got, n, want)
		}
	}
}
