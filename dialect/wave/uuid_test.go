package wave_test

import (
	"bytes"
	"crypto/rand"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/uuid/v5"
	"github.com/treeline-dev/treeline/dialect/wave"
)

// TestUUIDStandard: an independent library reads our UUIDs, and we read the example of the standard.
func TestUUIDStandard(t *testing.T) {
	var g wave.Generator
	for _, at := range []time.Time{
		time.Date(2026, 11, 15, 1, 30, 26, 240_123_400, time.UTC), time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2299, 12, 31, 23, 59, 59, 999_999_900, time.UTC),
	} {
		u, err := g.New(at, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		std, err := uuid.FromString(u.String())
		if err != nil || std.Version() != uuid.V6 || std.Variant() != uuid.VariantRFC9562 {
			t.Fatalf("%s: version %d, variant %d, %v", u, std.Version(), std.Variant(), err)
		}
		ticks, err := uuid.TimestampFromV6(std)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ticks.Time(); err != nil || !got.Equal(at) {
			t.Errorf("%s: the time is %s, not %s, %v", u, got.UTC(), at, err)
		}
		if got, ok := u.Time(); !ok || !got.Equal(at) {
			t.Errorf("%s: we read the time %s", u, got)
		}
	}
	// The example of RFC 9562, appendix A.5.
	u, err := wave.ParseUUID("1ec9414c-232a-6b00-b3c8-9f6bdeced846")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2022, 2, 22, 19, 22, 22, 0, time.UTC)
	if got, ok := u.Time(); !ok || !got.Equal(at) {
		t.Errorf("%s: %s; want ok, got.Equal(at)", u, got)
	}
	if made, err := g.New(at, rand.Reader); err != nil || made.String()[:18] != u.String()[:18] {
		t.Errorf("the same moment is %s, %v", made, err)
	}
}

// TestUUIDMany: eight goroutines make many ids; none occurs twice, and those of each goroutine are in order.
func TestUUIDMany(t *testing.T) {
	const each = 20_000
	stopped := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, clock := range map[string]func() time.Time{"clock": time.Now, "stopped clock": func() time.Time { return stopped }} {
		t.Run(name, func(t *testing.T) {
			var g wave.Generator
			all := make([][]wave.UUID, 8)
			var wg sync.WaitGroup
			for k := range all {
				wg.Go(func() {
					for range each {
						u, err := g.New(clock(), rand.Reader)
						if err != nil {
							t.Error(err)
							return
						}
						all[k] = append(all[k], u)
					}
				})
			}
			wg.Wait()
			for _, list := range all {
				if !slices.IsSortedFunc(list, func(a, b wave.UUID) int { return bytes.Compare(a[:8], b[:8]) }) {
					t.Error("not in the order of their making")
				}
			}
			one := slices.Concat(all...)
			slices.SortFunc(one, func(a, b wave.UUID) int { return bytes.Compare(a[:], b[:]) })
			if n := len(slices.Compact(one)); n != 8*each {
				t.Errorf("%d differ of %d", n, 8*each)
			}
		})
	}
}

// TestUUIDClockBack: a clock that was set back a little has no effect; one that was set back a lot is followed.
func TestUUIDClockBack(t *testing.T) {
	var g wave.Generator
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	before := ""
	for _, back := range []time.Duration{0, time.Second, 2 * time.Second, 0} {
		u, err := g.New(now.Add(-back), rand.Reader)
		if err != nil || u.String()[:18] <= before {
			t.Errorf("%s after %s, %v", u, before, err)
		}
		before = u.String()[:18]
	}
	u, _ := g.New(now.AddDate(-1, 0, 0), rand.Reader)
	if at, _ := u.Time(); at.Year() != 2025 {
		t.Errorf("a year back it is %s", at)
	}
}

func TestParseUUID(t *testing.T) {
	for _, bad := range []string{"", "x", "643C4BF3-840b-489d-a501-9e9ff8cc3499", "643c4bf3840b489da5019e9ff8cc3499", "../../../../../../../../../../etc/pas",
		"643c4bf3-840b-489d-a501-9e9ff8cc349g", "643c4bf3-840b-489d-a501-9e9ff8cc3499 "} {
		if u, err := wave.ParseUUID(bad); err == nil {
			t.Errorf("%q is read as %s", bad, u)
		}
	}
	u, err := wave.ParseUUID("643c4bf3-840b-489d-a501-9e9ff8cc3499")
	if err != nil || u.Version() != 4 {
		t.Errorf("%v, %v; want no error, u.Version() == 4", u, err)
	}
	if at, ok := u.Time(); ok {
		t.Errorf("an id of version 4 has the time %s", at)
	}
}
