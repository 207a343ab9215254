package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Short is a number in few characters, as for tokens: 950, 1.2k, 61.8M.
func Short(n int64) string {
	f := float64(n)
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case f < 99.95e3:
		return strconv.FormatFloat(f/1e3, 'f', 1, 64) + "k"
	case f < 999.5e3:
		return strconv.FormatFloat(f/1e3, 'f', 0, 64) + "k"
	case f < 999.5e6:
		return strconv.FormatFloat(f/1e6, 'f', 1, 64) + "M"
	}
	return strconv.FormatFloat(f/1e9, 'f', 1, 64) + "G"
}

// Dollars is a cost. A small one has more digits.
func Dollars(f float64) string {
	switch {
	case f == 0 || math.IsNaN(f) || math.IsInf(f, 0):
		return "$0"
	case f < 0.0095:
		return "$" + strings.TrimRight(strconv.FormatFloat(f, 'f', 4, 64), "0")
	case f < 1000:
		return fmt.Sprintf("$%.2f", f)
	}
	return "$" + Number(int64(math.Round(f)))
}

// Cost is a cost in a table. Agents that record none are not free, so their cell is none instead of $0.
func Cost(f float64, none string) string {
	if f == 0 {
		return none
	}
	return Dollars(f)
}

// Took is a duration as people say it: 0.1 s, 42 s, 3 min.
func Took(d time.Duration) string {
	switch {
	case d == 0:
		return "0 s"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d < 2*time.Minute:
		return strconv.Itoa(int(d.Seconds()+0.5)) + " s"
	case d < 2*time.Hour:
		return strconv.Itoa(int(d.Minutes()+0.5)) + " min"
	}
	return strconv.Itoa(int(d.Hours()+0.5)) + " h"
}

// Indent spells JSON on several lines. What encoding/json cannot read stays as it is.
func Indent(raw []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}
