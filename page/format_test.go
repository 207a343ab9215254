package page

import "testing"

// TestShortID: an id is cut between characters, not inside one.
func TestShortID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"":                                     "",
		"0123456789ab":                         "0123456789ab",
		"0123456789abc":                        "0123…789abc",
		"0199a7c1-2f10-7a41-9a6e-2b7c5d1e9f30": "0199…1e9f30",
		"aäöü€€€€€€€b":                         "aäöü€€€€€€€b",
		"aäöü€€€€€€€€b":                        "aäöü…€€€€€b",
		"日本語日本語日本語日本語語": "日本語日…本語日本語語",
	} {
		if got := shortID(id); got != want {
			t.Errorf("shortID(%q) = %q, want %q", id, got, want)
		}
	}
}
