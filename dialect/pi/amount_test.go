package pi

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestAmount: amounts are what strconv makes of them.
func TestAmount(t *testing.T) {
	values := []string{"0", "0.1", "1.5", "123456789012345", "1234567890123456", "0.00000000000001", "0.000000000000001", "9007199254740993", "99999999.9999999",
		"1e3", "-1.5", "1.", ".5", ".", "", "1.2.3", "null", "007", "0.30000000000000004", "1e999", `"1"`}
	rnd := rand.New(rand.NewPCG(7, 8))
	for range 100_000 {
		values = append(values, strconv.FormatFloat(rnd.Float64()*[]float64{1e-6, 1e-3, 1, 1e6}[rnd.IntN(4)], 'f', rnd.IntN(15), 64))
	}
	for _, v := range values {
		want, err := strconv.ParseFloat(v, 64)
		if err != nil {
			want = 0
		}
		if got := amount([]byte(v)); got != want {
			t.Errorf("%s is %v, not %v", v, got, want)
		}
	}
}
