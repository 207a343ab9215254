package gen

import (
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
)

// A text writes words, code and the output of commands, escaped as inside a JSON string. Each method appends about n
// bytes: it ends with the first line or word at which n is reached.
// Everything is written as it stands in a JSON string, so nothing needs to be escaped afterwards.
type text struct {
	buf   []byte
	src   *rand.PCG
	vocab *vocabulary
	focus []string // the names this session is about
	pool  uint64   // random bits not used yet
	left  int      // how many of them
}

// The stream is of its own, so that a vocabulary can change without changing every session.
func newText(seed uint64, v *vocabulary) *text {
	src := rand.NewPCG(seed, 0x73657373696f6e)
	t := &text{src: src, vocab: v, focus: make([]string, 48)}
	for i := range t.focus {
		t.focus[i] = v.names[t.pick(len(v.names))]
	}
	return t
}

// bits gives n random bits; a draw of the generator is shared by several calls.
func (t *text) bits(n int) int {
	if t.left < n {
		t.pool, t.left = t.src.Uint64(), 64
	}
	b := int(t.pool & (1<<n - 1))
	t.pool >>= n
	t.left -= n
	return b
}

// pick gives a number below n, for n up to some thousands; that it is not perfectly even does not matter here.
// Products instead of a modulus: fast, and bits are taken from the top.
func (t *text) pick(n int) int { return t.bits(20) * n >> 20 }

// chance is true in p of 1,024 cases.
func (t *text) chance(p int) bool { return t.bits(10) < p }

// size draws a length as lengths of texts are distributed (log-normal): as often above the median as below, two thirds
// within spread hundredths of a doubling or halving, up to a limit. It works on integers, since functions of floating
// point numbers may differ in the last bit from one processor to the next.
func (t *text) size(median, spread, limit int) int {
	sum := 0 // of eight bytes: a bell curve around 1,020, two thirds of it within 209
	for r := t.src.Uint64(); r != 0; r >>= 8 {
		sum += int(r & 255)
	}
	doublings := (sum - 1020) * spread * 256 / (209 * 100) // in parts of 256
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
func (t *text) digits(k int)      { t.number(t.pick(k)) }
func (t *text) padded(n int)      { t.buf = append(t.buf, byte('0'+n/10%10), byte('0'+n%10)) }
func (t *text) room(end int) bool { return len(t.buf) < end }

// name gives an identifier: half of them those of this session, the others by frequency in the project.
func (t *text) name() string {
	if t.bits(1) == 0 {
		return t.focus[t.pick(len(t.focus))]
	}
	return t.vocab.names[t.vocab.nameRanks[t.bits(pickBits)]]
}

// plain writes words and blanks alone, exactly n bytes.
// Cutting the last word is fine: nobody reads it.
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

// words writes k words without punctuation, as in a title or a message of an error.
func (t *text) words(k int) {
	for i := range k {
		if i > 0 {
			t.add(" ")
		}
		t.add(t.word())
	}
}

// prose writes sentences, with names, paths, lists and paragraphs as assistants like them.
// The proportions (names in backticks, lists, paragraphs) are those of assistants' messages.
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
				t.add(" `")
				t.add(t.name())
				t.add("`")
				continue
			case c == 8:
				t.add(" ")
				t.add(t.file())
				continue
			case c == 9:
				t.add(` \"`)
				t.words(2)
				t.add(`\"`)
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

// codeLine writes one line at a depth of indentation, and gives the depth of the next.
// Lines are templates; blocks are opened and closed so that the indentation looks like that of code.
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
			t.digits(4096)
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

// output writes what a command prints: one of several kinds.
// One kind for a whole output, as a command prints one kind of thing.
func (t *text) output(n int) {
	kinds := [...]func(*text){(*text).logLine, (*text).grepLine, (*text).pathLine, (*text).testLine, (*text).jsonLine, (*text).compilerLine}
	kind := kinds[t.pick(len(kinds))]
	end := len(t.buf) + n
	for t.room(end) {
		kind(t)
		t.newline()
	}
}

// clock writes a time of day; none is after another on purpose.
func (t *text) clock() {
	t.padded(t.pick(24))
	t.add(":")
	t.padded(t.pick(60))
	t.add(":")
	t.padded(t.pick(60))
}

// logLine has names and values as structured logs have them, some in quotes.
func (t *text) logLine() {
	levels := [...]string{"INFO ", "INFO ", "DEBUG", "WARN ", "ERROR"}
	t.add("2026-02-")
	t.padded(1 + t.pick(28))
	t.add("T")
	t.clock()
	t.add("Z ")
	t.add(levels[t.pick(len(levels))])
	t.add(" ")
	t.words(3 + t.bits(2))
	for range 1 + t.bits(1) {
		t.add(" ")
		t.add(t.name())
		if t.bits(1) == 0 {
			t.add(`=\"`)
			t.add(t.name())
			t.add(`\"`)
		} else {
			t.add("=")
			t.digits(100000)
		}
	}
}

// grepLine is a match in a file, with its line number.
func (t *text) grepLine() {
	t.add(t.file())
	t.add(":")
	t.digits(900)
	t.add(":")
	t.codeLine(t.bits(1))
}

// pathLine has tabs, which are escapes in JSON.
func (t *text) pathLine() {
	t.add(`-rw-r--r--\t`)
	t.digits(90000)
	t.add(`\t./`)
	t.add(t.file())
}

// testLine has escapes of terminals, which real outputs of tests are full of.
func (t *text) testLine() {
	switch t.bits(3) {
	case 0:
		t.add(`ok  \t`)
		t.add(t.file())
		t.add(`\t0.`)
		t.digits(1000)
		t.add("s")
	case 1:
		t.add(`\u001b[31m✗\u001b[0m `)
		t.words(5)
		t.newline()
		t.add(`\texpected \"`)
		t.words(2)
		t.add(`\", got \"`)
		t.words(2)
		t.add(`\"`)
	case 2, 3:
		t.add(`\u001b[32m✓\u001b[0m `)
		t.words(4)
		t.add(" (")
		t.digits(300)
		t.add("ms)")
	default:
		t.add("    --- PASS: Test")
		t.add(title(t.name()))
		t.add("/")
		t.add(t.word())
		t.add(" (0.")
		t.padded(t.pick(100))
		t.add("s)")
	}
}

// jsonLine is JSON within JSON: every quote of it is escaped.
func (t *text) jsonLine() {
	t.add(`  {\"id\": `)
	t.digits(100000)
	t.add(`, \"`)
	t.add(t.name())
	t.add(`\": \"`)
	t.words(2)
	t.add(`\", \"path\": \"`)
	t.add(t.file())
	t.add(`\"},`)
}

// compilerLine takes three lines, as compilers do.
func (t *text) compilerLine() {
	t.add(t.file())
	t.add(":")
	t.digits(900)
	t.add(":")
	t.digits(80)
	t.add(`: undefined: `)
	t.add(t.name())
	t.newline()
	t.codeLine(2)
	t.newline()
	t.add(`\t\t^~~~`)
}

// diff writes changed lines among unchanged ones, numbered.
func (t *text) diff(n int) {
	signs := [...]string{" ", " ", " ", "-", "+", "+"}
	end, line, depth := len(t.buf)+n, 1+t.pick(800), 1
	for t.room(end) {
		t.add(signs[t.pick(len(signs))])
		t.number(line)
		t.add(" ")
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

const hexDigits = "0123456789abcdef"

// hex writes n hexadecimal digits.
func (t *text) hex(n int) {
	for range n {
		t.buf = append(t.buf, hexDigits[t.bits(4)])
	}
}
