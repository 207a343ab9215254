package gen

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
)

// A text writes words, code and the output of commands, escaped as inside a JSON string. Methods with a length n write until
// the first line or word that reaches n bytes.
type text struct {
	buf   []byte
	src   *rand.PCG
	vocab *vocabulary
	focus []string // the names this session is about
	pool  uint64   // random bits that are left
	left  int      // number of random bits left
}

// newText has a random stream of its own, so that a change of a vocabulary does not change every session.
func newText(seed uint64, v *vocabulary) *text {
	src := rand.NewPCG(seed, 0x73657373696f6e)
	t := &text{src: src, vocab: v, focus: make([]string, 48)}
	for i := range t.focus {
		t.focus[i] = v.names[t.pick(len(v.names))]
	}
	return t
}

// bits returns n random bits. Several calls share one draw of the generator.
func (t *text) bits(n int) int {
	if t.left < n {
		t.pool, t.left = t.src.Uint64(), 64
	}
	b := int(t.pool & (1<<n - 1))
	t.pool >>= n
	t.left -= n
	return b
}

// pick returns a number below n, nearly uniform for n up to some thousands.
func (t *text) pick(n int) int { return t.bits(20) * n >> 20 }

// chance returns true in p of 1,024 cases.
func (t *text) chance(p int) bool { return t.bits(10) < p }

// size draws a length with the distribution of text lengths (log-normal): two thirds are within spread hundredths of a
// doubling or halving of the median. It uses integers, since floating point may differ in the last bit between processors.
func (t *text) size(median, spread, limit int) int {
	sum := 0 // sum of eight bytes: a bell curve around 1,020, two thirds of it within 209
	for r := t.src.Uint64(); r != 0; r >>= 8 {
		sum += int(r & 255)
	}
	doublings := (sum - 1020) * spread * 256 / (209 * 100) // in units of 1/256
	n := median * int(powers()[doublings&255]) >> 16
	if whole := doublings >> 8; whole >= 0 {
		n <<= whole
	} else {
		n >>= -whole
	}
	return min(n, limit)
}

// powers are the powers of two between 1 and 2, in 256 steps, times 65,536.
var powers = sync.OnceValue(func() (table [256]uint32) {
	for i := range table {
		table[i] = uint32(math.Round(65536 * math.Exp2(float64(i)/256)))
	}
	return table
})

func (t *text) add(s string)      { t.buf = append(t.buf, s...) }
func (t *text) number(n int)      { t.buf = strconv.AppendInt(t.buf, int64(n), 10) }
func (t *text) word() string      { return t.vocab.words[t.vocab.wordRanks[t.bits(pickBits)]] }
func (t *text) file() string      { return t.vocab.files[t.pick(len(t.vocab.files))] }
func (t *text) newline()          { t.add(`\n`) }
func (t *text) room(end int) bool { return len(t.buf) < end }

// fill writes a template: %n is a name, %f a file, %w a word, %3w three words, %90d a number below 90, %60t the same in two
// digits, and %v the next argument: a string, int, bool or float64.
func (t *text) fill(template string, args ...any) {
	for {
		before, rest, more := strings.Cut(template, "%")
		t.add(before)
		if !more {
			return
		}
		k := 0
		for rest[0] <= '9' {
			k = 10*k + int(rest[0]-'0')
			rest = rest[1:]
		}
		switch rest[0] {
		case 'n':
			t.add(t.name())
		case 'f':
			t.add(t.file())
		case 'w':
			t.words(max(k, 1))
		case 'd':
			t.number(t.pick(k))
		case 't':
			n := t.pick(k)
			t.buf = append(t.buf, byte('0'+n/10), byte('0'+n%10))
		case 'v':
			t.value(args[0])
			args = args[1:]
		}
		template = rest[1:]
	}
}

func (t *text) value(v any) {
	switch v := v.(type) {
	case string:
		t.add(v)
	case int:
		t.number(v)
	case bool:
		t.buf = strconv.AppendBool(t.buf, v)
	case float64:
		t.buf = strconv.AppendFloat(t.buf, v, 'f', -1, 64)
	}
}

// name returns an identifier: half of the time one of this session, otherwise one of the project by frequency.
func (t *text) name() string {
	if t.bits(1) == 0 {
		return t.focus[t.pick(len(t.focus))]
	}
	return t.vocab.names[t.vocab.nameRanks[t.bits(pickBits)]]
}

// plain writes words and spaces, exactly n bytes: the last word may be cut.
func (t *text) plain(n int) {
	end := len(t.buf) + n
	for t.room(end) {
		if t.chance(100) {
			t.add(t.name())
		} else {
			t.add(t.word())
		}
		t.add(" ")
	}
	t.buf = t.buf[:end]
}

// words writes k words without punctuation.
func (t *text) words(k int) {
	for i := range k {
		if i > 0 {
			t.add(" ")
		}
		t.add(t.word())
	}
}

// prose writes sentences with names, paths, lists and paragraphs, in the proportions of assistant messages.
func (t *text) prose(n int) {
	end := len(t.buf) + n
	for t.room(end) {
		first := t.word()
		t.buf = append(t.buf, first[0]&^0x20)
		t.add(first[1:])
		for range 4 + t.bits(4) {
			switch c := t.bits(6); {
			case c == 0:
				t.add(",")
			case c == 1:
				t.add(" —")
			case c < 8:
				t.fill(" `%n`")
				continue
			case c == 8:
				t.fill(" %f")
				continue
			case c == 9:
				t.fill(` \"%2w\"`)
				continue
			}
			t.add(" ")
			t.add(t.word())
		}
		switch c := t.bits(4); {
		case c < 2:
			t.add(`:\n\n- `)
		case c < 4:
			t.add(`.\n\n`)
		case c == 4:
			t.add(`?\n`)
		default:
			t.add(`. `)
		}
	}
}

// code writes a listing of source code.
func (t *text) code(n int) {
	end, depth := len(t.buf)+n, t.bits(1)
	for t.room(end) {
		depth = t.codeLine(depth)
		t.newline()
		if t.chance(60) {
			t.newline()
		}
	}
}

// codeLine writes one line at a depth of indentation, and returns the depth of the next. See language for the lines.
func (t *text) codeLine(depth int) int {
	lines := t.vocab.lang.lines
	line := lines[t.pick(len(lines))]
	last := line[len(line)-1]
	if line == "}" {
		if depth == 0 {
			line = lines[0]
			last = line[len(line)-1]
		} else {
			depth--
		}
	} else if depth > 4 && last == '{' {
		line, last = "return N", 'N'
	}
	for range depth {
		t.add(t.vocab.lang.indent)
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case 'N':
			t.add(t.name())
		case 'D':
			t.number(t.pick(4096))
		case 'S':
			t.words(3 + t.bits(2))
		default:
			t.buf = append(t.buf, c)
		}
	}
	if last == '{' {
		depth++
	}
	return depth
}

// outputs are the lines that commands print, each kind as a template or a function. Escape sequences, tabs and JSON within JSON are
// included because they must be escaped.
var outputs = [...]func(*text){
	(*text).logLine,
	func(t *text) {
		t.fill("%f:%900d:")
		t.codeLine(t.bits(1))
	},
	func(t *text) { t.fill(`-rw-r--r--\t%90000d\t./%f`) },
	(*text).testLine,
	func(t *text) { t.fill(`  {\"id\": %100000d, \"%n\": \"%2w\", \"path\": \"%f\"},`) },
	func(t *text) { // a compiler error
		t.fill(`%f:%900d:%80d: undefined: %n\n`)
		t.codeLine(2)
		t.add(`\n\t\t^~~~`)
	},
}

// output writes the output of a command: lines of one kind.
func (t *text) output(n int) {
	line := outputs[t.pick(len(outputs))]
	end := len(t.buf) + n
	for t.room(end) {
		line(t)
		t.newline()
	}
}

// logLine writes names and values like a structured log. Times are random.
func (t *text) logLine() {
	levels := [...]string{"INFO ", "INFO ", "DEBUG", "WARN ", "ERROR"}
	t.fill("2026-02-%vT%24t:%60t:%60tZ ", fmt.Sprintf("%02d", 1+t.pick(28)))
	t.fill("%v ", levels[t.pick(len(levels))])
	t.words(3 + t.bits(2))
	for range 1 + t.bits(1) {
		t.fill(" %n")
		if t.bits(1) == 0 {
			t.fill(`=\"%n\"`)
		} else {
			t.fill("=%100000d")
		}
	}
}

// testLine writes a line of a test runner.
func (t *text) testLine() {
	switch t.bits(3) {
	case 0:
		t.fill(`ok  \t%f\t0.%1000ds`)
	case 1:
		t.fill(`\u001b[31m✗\u001b[0m %5w\n\texpected \"%2w\", got \"%2w\"`)
	case 2, 3:
		t.fill(`\u001b[32m✓\u001b[0m %4w (%300dms)`)
	default:
		t.fill("    --- PASS: Test%v/%w (0.%100ts)", title(t.name()))
	}
}

// diff writes changed lines among unchanged ones, numbered.
func (t *text) diff(n int) {
	signs := [...]string{" ", " ", " ", "-", "+", "+"}
	end, line, depth := len(t.buf)+n, 1+t.pick(800), 1
	for t.room(end) {
		t.fill("%v%v ", signs[t.pick(len(signs))], line)
		depth = t.codeLine(depth)
		t.newline()
		line++
	}
}

const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// base64 writes exactly n digits of base64.
func (t *text) base64(n int) {
	for range n {
		t.buf = append(t.buf, base64Digits[t.bits(6)])
	}
}
