package claude

import "testing"

// TestDay: the time of an entry does not depend on the entry before it.
func TestDay(t *testing.T) {
	stamps := []string{`"2026-05-01T10:00:01.000Z"`, `"2026-05-01T10:00:01.007Z"`, `"2026-05-01T23:59:59.999Z"`, `"2026-05-02T00:00:00.000Z"`, `"2026-05-01T24:00:00.000Z"`,
		`"2026-05-01T24:00:00.001Z"`, `"2026-02-31T10:00:00.000Z"`, `"2026-02-31T11:00:00.500Z"`, `"2026-13-01T10:00:00.000Z"`, `"2026-05-01T10:60:00.000Z"`, `"2026-05-01T1x:00:00.000Z"`,
		`"2026-05-01T10:00:01.00xZ"`, `"2026-05-01 10:00:01.000Z"`, `"2026-05-01 11:00:01.000Z"`, `"2026-05-01T10:00:01+02:00"`, `"2026-05-01T10:00:01Z"`, `"2026-05-01"`,
		`"yesterday"`, `""`, `7`, `1777629601000`, `null`, ``}
	for _, first := range stamps {
		for _, second := range stamps {
			var d day
			d.millis([]byte(first))
			got, ok := d.millis([]byte(second))
			if want, is := millis([]byte(second)); got != want || ok != is {
				t.Errorf("%s after %s is %d, %v, not %d, %v", second, first, got, ok, want, is)
			}
		}
	}
}
