package session

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestTimeOf: the spelling is that of the layout, for every year and zone.
func TestTimeOf(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	times := []time.Time{{}, time.Unix(0, 999_999), time.Unix(-1, 1_000_000), time.UnixMilli(1_782_864_000_007)}
	for range 1000 {
		at := time.Unix(r.Int64N(1<<39)-1<<38, r.Int64N(1_000_000_000)) // years before 0 and after 9999
		times = append(times, at.In(time.FixedZone("", r.IntN(86400)-43200)))
	}
	for _, at := range times {
		if want, got := at.UTC().Format(`"2006-01-02T15:04:05.000Z"`), TimeOf(at).Text; got != want {
			t.Errorf("%d: %s, want %s", at.UnixNano(), got, want)
		}
	}
}
