package convert

import "testing"

// The worst losses come first: what is gone, then what cannot come back as it was.
func TestLossesSorted(t *testing.T) {
	t.Parallel()
	var l ledger
	for _, became := range []Became{Mapped, Carried, Migrated, Dropped} {
		l.note("b", "message", became)
		l.note("a", "message", became)
	}
	got := l.sorted()
	if len(got) != 8 {
		t.Fatalf("%d losses, want 8", len(got))
	}
	for i, became := range []Became{Dropped, Migrated, Carried, Mapped} {
		if first, second := got[2*i], got[2*i+1]; first.Became != became || first.Path != "a" || second.Became != became || second.Path != "b" {
			t.Errorf("at %d: %s %s, %s %s; want a and b %s", 2*i, first.Path, first.Became, second.Path, second.Became, became)
		}
	}
}
