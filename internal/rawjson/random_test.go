package rawjson

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/treeline-dev/treeline/internal/soak/soaktest"
)

// maker writes random JSON.
type maker struct {
	*rand.Rand
	b      []byte
	spaces bool // white space between tokens
	keys   []string
}

func (m *maker) pick(list ...string) { m.b = append(m.b, list[m.IntN(len(list))]...) }

func (m *maker) space() {
	if m.spaces && m.IntN(3) == 0 {
		m.pick(" ", "  ", "\t", "\r", "\n")
	}
}

func (m *maker) value(depth int) {
	m.space()
	kind := m.IntN(8)
	if depth > 6 {
		kind %= 5
	}
	switch kind {
	case 0:
		m.pick("true", "false", "null")
	case 1:
		m.pick("0", "7", "-1", "12345678", "123456789012345678901", "0.5", "0.07275575000000001", "12.5e-7", "1E5", "-0", "1763684024900")
	case 2:
		m.pick(`""`, `"a"`, `"\n\t\"\\\/\b\f\r"`, `"\u00e9\ud800"`, `"é \\"`, `"\\\\\\"`)
	case 3, 4:
		m.long()
	case 5:
		m.list('[', ']', func() { m.value(depth + 1) })
	default:
		m.list('{', '}', func() { m.key(); m.value(depth + 1) })
	}
	m.space()
}

// long writes a string that may extend over blocks and windows.
func (m *maker) long() {
	m.b = append(m.b, '"')
	for range m.IntN([]int{10, 100, 3000}[m.IntN(3)]) {
		m.pick("x", "yz", " ", `\n`, `\"`, `\\`, "ö", "{", "[", ",", ":", "12")
	}
	m.b = append(m.b, '"')
}

func (m *maker) key() {
	m.space()
	m.b = append(m.b, '"')
	m.pick(m.keys...)
	m.b = append(m.b, '"')
	m.space()
	m.b = append(m.b, ':')
}

func (m *maker) list(open, end byte, one func()) {
	m.b = append(m.b, open)
	m.space()
	for i := range m.IntN(6) {
		if i > 0 {
			m.b = append(m.b, ',')
		}
		one()
	}
	m.b = append(m.b, end)
}

func newMaker(seed uint64) *maker {
	return &maker{
		Rand: rand.New(rand.NewPCG(seed, 7)),
		keys: []string{"a", "id", "type", "role", "message", "parentId", `r\u006fle`, `\u0072ole`, "role", `\"`, "timestamp", "a longer key than most are"},
	}
}

// rounds returns how often a random test runs: many times if TREELINE_SOAK is set.
func rounds(usual, many int) int {
	if os.Getenv("TREELINE_SOAK") != "" {
		return many
	}
	return usual
}

// Random values are valid, and after the change of a byte the result agrees with encoding/json.
func TestValidRandom(t *testing.T) {
	checkRandom(t, rounds(6_000, 100_000))
}

func checkRandom(t *testing.T, rounds int) {
	m := newMaker(1)
	for range rounds {
		m.b, m.spaces = m.b[:0], m.IntN(4) == 0
		m.value(m.IntN(4))
		if m.IntN(20) == 0 {
			depth := 1 + m.IntN(200)
			m.b = []byte(strings.Repeat(`{"a":[`, depth) + string(m.b) + strings.Repeat(`]}`, depth))
		}
		if !textValid(m.b) {
			t.Fatalf("not valid: %s", m.b)
		}
		for range 4 {
			b := append([]byte(nil), m.b...)
			const signs = "{}[]:,\"\\ \n01.-eEtfnu\x00x"
			switch at := m.IntN(len(b)); m.IntN(3) {
			case 0:
				b[at] = signs[m.IntN(len(signs))]
			case 1:
				b = append(b[:at], b[at+1:]...)
			default:
				b = b[:at]
			}
			if got, want := textValid(b), json.Valid(b); got != want {
				t.Fatalf("valid is %v, want %v: %s", got, want, b)
			}
		}
	}
}

// Outline returns what Fields returns, also one level down; OutlineLists does so for objects in lists.
func TestOutlineRandom(t *testing.T) {
	type pair struct{ key, value string }
	m := newMaker(2)
	var text Text
	for round := range soaktest.Part(5000, 2000) {
		lists := round%2 == 1
		m.b, m.spaces = m.b[:0], m.IntN(4) == 0
		m.list('{', '}', func() { m.key(); m.value(m.IntN(5)) })
		var want, got []pair
		inside := func(object []byte) {
			for key, value := range Fields(object) {
				if key[0]&31 == 'r'&31 {
					want = append(want, pair{"." + key, string(value)})
				}
			}
		}
		for key, value := range Fields(m.b) {
			want = append(want, pair{key, string(value)})
			if !lists {
				inside(value)
				continue
			}
			for item := range Elements(value) {
				inside(item)
			}
		}
		text.Reset(m.b)
		outline := text.Outline
		if lists {
			outline = text.OutlineLists
		}
		members, end, err := outline(0, InitialsOf("role"))
		if err != nil || end != len(m.b) {
			t.Fatalf("%d of %d bytes, %v: %s", end, len(m.b), err, m.b)
		}
		for i := range members {
			p := pair{string(text.Key(&members[i])), string(text.Value(&members[i]))}
			if members[i].Inner {
				if p.key[0]&31 != 'r'&31 { // it is escaped, and its initial differs
					continue
				}
				p.key = "." + p.key
			}
			got = append(got, p)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q, want %q: %s", got, want, m.b)
		}
	}
}
