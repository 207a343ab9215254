package pi

import (
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/dialect"
)

func TestJSString(t *testing.T) {
	for value, want := range map[string]string{
		``: "undefined", `null`: "null", `true`: "true", `false`: "false", `"a\u0062"`: "ab", `{"a":1}`: "[object Object]",
		`[]`: "", `[1]`: "1", `[1,null,"x",[2,3],{}]`: "1,,x,2,3,[object Object]",
		`0`: "0", `-0`: "0", `1.0`: "1", `1e3`: "1000", `-1.50`: "-1.5", `0.1`: "0.1", `1e-6`: "0.000001", `1e-7`: "1e-7",
		`123456789012345680000`: "123456789012345680000", `1e21`: "1e+21", `12345678901234567890`: "12345678901234567000",
		`5e-324`: "5e-324", `1e400`: "Infinity", `-1e400`: "-Infinity", `1.5e+2`: "150",
	} {
		raw := []byte(value)
		if value == "" {
			raw = nil
		}
		if got := jsString(raw); got != want {
			t.Errorf("%s is %q, not %q", value, got, want)
		}
	}
}

// TestDates has the times that both programs' engines find in these spellings, on a machine that runs on UTC.
func TestDates(t *testing.T) {
	const invalid = -1 << 60
	for value, want := range map[string]int64{
		`"2026-01-02T03:04:05.678Z"`: 1767323045678, `"2026-01-02T03:04:05Z"`: 1767323045000, `"2026-01-02T03:04Z"`: 1767323040000,
		`"2026-01-02T03:04:05.1Z"`: 1767323045100, `"2026-01-02T03:04:05.123456Z"`: 1767323045123, `"2026-01-02T03:04:05"`: 1767323045000,
		`"2026-01-02T03:04:05+02:00"`: 1767315845000, `"2026-01-02T03:04:05.678-11:30"`: 1767364445678, `"2026-01-02T03:04:05+0200"`: 1767315845000,
		`"2026-01-02"`: 1767312000000, `"2026-01"`: 1767225600000, `"2026"`: 1767225600000,
		`"2026-01-02T24:00:00Z"`: 1767398400000, `"2026-02-30T00:00:00Z"`: 1772409600000,
		`"+012026-01-02T03:04:05Z"`: 317336843045000, `"-000001-01-01T00:00:00Z"`: -62198755200000,
		`"2026-01-02t03:04:05z"`: 1767323045000, `"2026-01-02 03:04:05"`: 1767323045000,
		`1700000000000`: 1700000000000, `1700000000000.75`: 1700000000000, `-5`: -5, `null`: 0, `false`: 0, `true`: 1,
		`["2026-01-02T03:04:05Z"]`: 1767323045000,
		`"2026-01-02T24:00:01Z"`:   invalid, `"2026-13-02"`: invalid, `"2026-00-02"`: invalid, `"2026-01-32"`: invalid, `"2026-01-00"`: invalid,
		`"2026-01-02T25:00Z"`: invalid, `"2026-01-02T03:60Z"`: invalid, `"2026-01-02T03:04:60Z"`: invalid, `"2026-01-02T03:04:05+24:00"`: invalid,
		`"-000000-01-01"`: invalid, `" 2026-01-02T03:04:05Z"`: invalid, `"2026-01-02T03:04:05.Z"`: invalid, `"2026-01-02T03:04:05,5Z"`: invalid,
		`"20260102T030405Z"`: invalid, `"1700000000000"`: invalid, `"garbage"`: invalid, `""`: invalid, `{}`: invalid, `[]`: invalid, `1e20`: invalid,
		`["2026","2027"]`: invalid, ``: invalid,
	} {
		raw := []byte(value)
		if value == "" {
			raw = nil
		}
		got, ok := jsMillis(raw)
		if !ok {
			got = invalid
		}
		if got != want {
			t.Errorf("%s is %d, not %d", value, got, want)
		}
	}
}

func TestTidy(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"ends of lines", "a  \nb\t\u00a0\nc\r", "a\nb\nc"},
		{"blank lines", "\n\na\n\n\n\nb\n\n", "a\n\nb"},
		{"before a list", "a\n\n- b\n\n* c\n\n12. d\n\n-e", "a\n- b\n* c\n12. d\n\n-e"},
		{"around tags", "<a_b x=\"1\">\n\nin\n\n\n</a_b>\n\nout", "<a_b x=\"1\">\nin\n</a_b>\n\nout"},
		{"no tags", "<A>\n\nin\n\n</A>\n\n<a b\n\nx>", "<A>\n\nin\n\n</A>\n\n<a b\n\nx>"},
		{"table", "| a |  b |\n| :- | -: |\n|---|:-:|\n  | x |", "|a|b|\n|:---|---:|\n|---|:---:|\n  |x|"},
		{"bars", "|\n||\n| |\n||||", "|\n||\n||\n||"},
		{"line separator in a row", "| a\u2028 | b |", "| a\u2028 | b |"},
		{"code", "```\n| a |  \n\n\n- b\n  ```  \n\n\n- c", "```\n| a |\n\n\n- b\n  ```\n\n- c"},
		{"nothing", "", ""},
		{"only blanks", " \n\t\n", ""},
	} {
		if got := tidy(tc.text); got != tc.want {
			t.Errorf("%s: %q, not %q", tc.name, got, tc.want)
		}
	}
}

func TestByteSize(t *testing.T) {
	for n, want := range map[float64]string{
		0: "0B", 1023: "1023B", 1024: "1.0KB", 1280: "1.3KB", 51200: "50.0KB", 1 << 20: "1.0MB", 1 << 30: "1.0GB", 5 << 40: "5120.0GB",
	} {
		if got := byteSize(n); got != want {
			t.Errorf("%v is %q, not %q", n, got, want)
		}
	}
}

func TestBeginning(t *testing.T) {
	whole := `"tab\t quote\" back\\ slash \u00e4 pair \ud83d\ude00 ä end"`
	text := "tab\t quote\" back\\ slash ä pair 😀 ä end"
	if got := dialect.Beginning([]byte(whole + `}],"more`)); got != text {
		t.Errorf("whole: %q", got)
	}
	for n := 1; n < len(whole); n++ {
		got := strings.TrimRight(dialect.Beginning([]byte(whole[:n])), "\ufffd")
		if !strings.HasPrefix(text, got) || len(got) < min(n-14, len(text)-6) && n < 30 {
			t.Errorf("cut at %d: %q", n, got)
		}
	}
	if got := dialect.Beginning([]byte(`"` + strings.Repeat("ä", 1000))); len(got) > 700 || len(got) < 500 {
		t.Errorf("a long text gives %d bytes", len(got))
	}
}
