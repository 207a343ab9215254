package query

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"regexp/syntax"
	"slices"
	"sync"
	"unicode/utf8"
	"unsafe"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// Package regexp takes tens of nanoseconds per byte, which is most of the time of a search without literals. An automaton with one table
// lookup per byte decides whether an expression matches at all. Its states are created when they are first reached: they are sets of
// positions in the program to which package regexp/syntax compiles the expression.

// automatons are the automatons of one expression, one for each goroutine that uses it.
type automatons struct {
	re *regexp.Regexp
	// exact: the automaton decides. Otherwise the expression has assertions (\b, ^, $), which the automaton ignores, and it
	// can only exclude a match.
	exact bool
	idle  sync.Pool
}

// newAutomatons compiles a parsed expression.
func newAutomatons(re *regexp.Regexp, tree *syntax.Regexp) (*automatons, error) {
	prog, err := syntax.Compile(tree)
	if err != nil {
		return nil, err
	}
	a := &automatons{re: re, exact: true}
	for i := range prog.Inst {
		a.exact = a.exact && prog.Inst[i].Op != syntax.InstEmptyWidth
	}
	a.idle.New = func() any { return newAutomaton(prog) }
	return a, nil
}

// match reports whether the expression matches in a text.
func (a *automatons) match(text string) bool {
	m := a.idle.Get().(*automaton)
	found, _, ok := m.run(unsafe.Slice(unsafe.StringData(text), len(text)), false)
	a.idle.Put(m)
	if ok && (a.exact || !found) {
		return found
	}
	// Package regexp decides if there are assertions, and if the automaton gave up.
	return a.re.MatchString(text)
}

// Limits of an automaton. With more states it drops them and starts again; if they did not last for long, it gives up.
const (
	// A state takes half a kilobyte, so an automaton takes about a megabyte. bytesPerState is how many bytes a state must
	// serve on average to be worth creating.
	statesMost    = 2000
	bytesPerState = 16
)

// automaton says whether an expression matches.
type automaton struct {
	prog *syntax.Prog
	// next is, for each state, the state after each ASCII character; stateUnknown if it is not known yet.
	next [][utf8.RuneSelf]int32
	wide map[wideStep]int32 // the same for other characters
	ids  map[string]int32   // states by their sets
	sets [][]uint32         // of each state: the positions that wait for a character
	// plain are the bytes with which no match begins, as far as known, without the backslash.
	plain [256]bool
	seen  int // bytes since the last forget
	// always: it matches the empty text. hopeless: it has too many states.
	always, hopeless bool

	// Buffers of one step.
	marked  []uint32 // by position: the step in which it was last added
	step    uint32
	pending []uint32
	set     []uint32
	key     []byte
	text    []byte // of a record that is decoded for a second pass
}

type wideStep struct {
	state int32
	r     rune
}

// The first states. Every set has the positions where a match may begin, so every state has successors.
const (
	stateUnknown int32 = iota
	stateFound
	stateStart
)

func newAutomaton(prog *syntax.Prog) *automaton {
	m := &automaton{prog: prog, marked: make([]uint32, len(prog.Inst))}
	m.forget()
	return m
}

// forget drops all states.
func (m *automaton) forget() {
	m.next, m.sets, m.seen = m.next[:0], m.sets[:0], 0
	m.wide, m.ids = map[wideStep]int32{}, map[string]int32{}
	for range stateStart {
		m.addState(nil) // unknown and found, which have no successors
	}
	m.begin()
	m.always = m.finish() == stateFound
}

// run reads a text, or a record without decoding it. escaped is set if a text of the record contains a backslash. ok is false if the
// automaton gave up.
func (m *automaton) run(b []byte, record bool) (found, escaped, ok bool) {
	if m.hopeless || m.always {
		return m.always, false, m.always
	}
	s, from := stateStart, 0
	for i := 0; i < len(b); {
		r, n := rune(b[i]), 1
		switch {
		case r == '\\' && record:
			r, n = rawRune(b[i:])
			escaped = escaped || r == '\\'
		case r >= utf8.RuneSelf:
			r, n = utf8.DecodeRune(b[i:])
		}
		var next int32
		if r < utf8.RuneSelf {
			next = m.next[s][r]
		} else {
			next = m.wide[wideStep{s, r}]
		}
		switch i += n; next {
		case stateStart:
			if s == stateStart {
				i = m.skip(b, i)
			}
		case stateUnknown:
			if next, ok = m.move(s, r, i-from); !ok {
				return false, false, false
			}
			from = i
		}
		if s = next; s == stateFound {
			return true, false, true
		}
	}
	m.seen += len(b) - from
	return false, escaped, true
}

// skip returns the first position at or after i where a match may begin.
func (m *automaton) skip(b []byte, i int) int {
	plain := &m.plain
	for ; len(b)-i >= 8; i += 8 {
		p := b[i : i+8]
		if !(plain[p[0]] && plain[p[1]] && plain[p[2]] && plain[p[3]] && plain[p[4]] && plain[p[5]] && plain[p[6]] && plain[p[7]]) {
			break
		}
	}
	for i < len(b) && plain[b[i]] {
		i++
	}
	return i
}

// move returns the state after a character; bytes is the length of the text since the last call. ok is false if there are
// too many states.
func (m *automaton) move(s int32, r rune, bytes int) (next int32, ok bool) {
	m.seen += bytes
	from := m.sets[s]
	if len(m.sets) >= statesMost {
		if m.seen < statesMost*bytesPerState {
			m.hopeless = true
			return 0, false
		}
		from = slices.Clone(from)
		m.forget()
		s = m.stateOf(from)
	}
	m.begin()
	for _, pc := range from {
		if inst := &m.prog.Inst[pc]; inst.MatchRune(r) {
			m.add(inst.Out)
		}
	}
	next = m.finish()
	if r < utf8.RuneSelf {
		m.next[s][r] = next
		// This holds also after forget: the first state is always the same. A backslash is not skipped, because in a record
		// it begins an escape, whose second half is not text.
		if s == stateStart && next == stateStart && r != '\\' {
			m.plain[r] = true
		}
	} else if len(m.wide) < statesMost*bytesPerState {
		m.wide[wideStep{s, r}] = next
	}
	return next, true
}

// begin begins a set with the positions where a match may begin.
func (m *automaton) begin() {
	m.set = m.set[:0]
	if m.step++; m.step == 0 { // it overflowed
		clear(m.marked)
		m.step = 1
	}
	m.add(uint32(m.prog.Start))
}

// add adds a position, and all that can be reached from it without a character.
func (m *automaton) add(pc uint32) {
	m.pending = append(m.pending[:0], pc)
	for len(m.pending) > 0 {
		pc := m.pending[len(m.pending)-1]
		m.pending = m.pending[:len(m.pending)-1]
		if m.marked[pc] == m.step {
			continue
		}
		m.marked[pc] = m.step
		switch inst := &m.prog.Inst[pc]; inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			m.pending = append(m.pending, inst.Arg, inst.Out)
		// Assertions count as true: the automaton may find too much, never too little.
		case syntax.InstCapture, syntax.InstNop, syntax.InstEmptyWidth:
			m.pending = append(m.pending, inst.Out)
		case syntax.InstFail:
		default:
			m.set = append(m.set, pc)
		}
	}
}

// finish returns the state of the current set.
func (m *automaton) finish() int32 {
	if slices.ContainsFunc(m.set, func(pc uint32) bool { return m.prog.Inst[pc].Op == syntax.InstMatch }) {
		return stateFound
	}
	return m.stateOf(m.set)
}

// stateOf returns the state of a set, and creates it if it is new.
func (m *automaton) stateOf(set []uint32) int32 {
	// The order of positions says which match is preferred, which does not matter here. Sorted sets are found again more
	// often.
	slices.Sort(set)
	m.key = m.key[:0]
	for _, pc := range set {
		m.key = binary.LittleEndian.AppendUint32(m.key, pc)
	}
	if s, ok := m.ids[string(m.key)]; ok {
		return s
	}
	s := m.addState(slices.Clone(set))
	m.ids[string(m.key)] = s
	return s
}

func (m *automaton) addState(set []uint32) int32 {
	m.sets = append(m.sets, set)
	m.next = append(m.next, [utf8.RuneSelf]int32{})
	return int32(len(m.sets) - 1)
}

// The automaton goes through an undecoded record as through its texts, and interprets escapes. It may match outside of the
// texts, but misses nothing in them.

// twiceMost is the longest record that is decoded for a second pass.
const twiceMost = 1 << 20

// mayRecord reports whether the expression may match in a text of a record. The automaton ignores assertions, so the bytes
// around a text do not matter.
func (a *automatons) mayRecord(record []byte) bool {
	m := a.idle.Get().(*automaton)
	defer a.idle.Put(m)
	found, escaped, ok := m.run(record, true)
	if found || !ok || !escaped || !mayHoldJSON(record) {
		return found || !ok
	}
	// A text of the record may itself be JSON whose strings are searched, as the arguments of tools are. Then a backslash in the text
	// begins an escape of the inner JSON.
	if len(record) > twiceMost {
		return true
	}
	m.text = m.text[:0]
	for rest := record; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\\')
		if i < 0 {
			i = len(rest)
		}
		m.text, rest = append(m.text, rest[:i]...), rest[i:]
		if len(rest) > 0 {
			r, n := rawRune(rest)
			m.text, rest = utf8.AppendRune(m.text, r), rest[n:]
		}
	}
	found, _, ok = m.run(m.text, true)
	return found || !ok
}

// mayHoldJSON reports whether a string of a record may be a JSON text with strings: it begins with a bracket or a quote. It
// only saves time.
func mayHoldJSON(b []byte) bool {
	for i := 0; i < len(b); {
		quote := bytes.IndexByte(b[i:], '"')
		if quote < 0 {
			return false
		}
		i += quote + 1
		escaped := false
		for k := i - 2; k >= 0 && b[k] == '\\'; k-- {
			escaped = !escaped
		}
		if escaped {
			continue // inside a string
		}
		k := i
		for k < len(b) && (b[k] == ' ' || b[k] == '\\' && k+1 < len(b) && isSpaceLetter(b[k+1])) {
			if b[k] == '\\' {
				k++
			}
			k++
		}
		if k < len(b) && (b[k] == '{' || b[k] == '[') || k+1 < len(b) && b[k] == '\\' && (b[k+1] == '"' || b[k+1] == 'u') {
			return true
		}
	}
	return false
}

// rawRune returns the next character of a record, and how many bytes spell it. A backslash that begins no escape stands for
// itself.
func rawRune(b []byte) (r rune, n int) {
	if b[0] != '\\' {
		return utf8.DecodeRune(b)
	}
	if r, n = rawjson.Escape(b); n == 0 {
		return '\\', 1
	}
	return r, n
}
