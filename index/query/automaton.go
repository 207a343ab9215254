package query

import (
	"encoding/binary"
	"regexp"
	"regexp/syntax"
	"slices"
	"sync"
	"unicode/utf8"
)

// Package regexp takes tens of nanoseconds for a byte, which is most of the time of a search that no literal helps. Whether an
// expression matches at all is said by an automaton that takes one look at a table for a byte. Its states are made when they
// are first met: they are sets of places in the program that package regexp/syntax compiles an expression to.

// automatons are those of one expression, one for each goroutine that asks.
type automatons struct {
	re   *regexp.Regexp
	prog *syntax.Prog
	// exact: the automaton says just what the expression says. It passes over assertions (\b, ^, $); with such ones it may
	// only say that nothing matches.
	exact bool
	idle  sync.Pool
}

// newAutomatons compiles a parsed expression.
func newAutomatons(re *regexp.Regexp, tree *syntax.Regexp) (*automatons, error) {
	prog, err := syntax.Compile(tree)
	if err != nil {
		return nil, err
	}
	a := &automatons{re: re, prog: prog, exact: true}
	for i := range prog.Inst {
		a.exact = a.exact && prog.Inst[i].Op != syntax.InstEmptyWidth
	}
	a.idle.New = func() any { return newAutomaton(prog) }
	return a, nil
}

// match says whether the expression matches in a text.
func (a *automatons) match(text string) bool {
	m := a.idle.Get().(*automaton)
	found, ok := m.run(text)
	a.idle.Put(m)
	if ok && (a.exact || !found) {
		return found
	}
	// What the automaton found across an assertion, and what it gave up on, package regexp decides.
	return a.re.MatchString(text)
}

// Limits of an automaton: with more states it begins anew, and if it did not go far with them, they are no help.
const (
	// A state takes half a kilobyte, so that an automaton stays at about a megabyte. bytesPerState is how many bytes a
	// state must have served on average to have been worth making.
	statesMost    = 2000
	bytesPerState = 16
)

// automaton is a machine that says whether an expression matches.
type automaton struct {
	prog *syntax.Prog
	// next is, for each state, the state behind each character of ASCII; stateUnknown where nobody has asked yet.
	next [][utf8.RuneSelf]int32
	wide map[wideStep]int32 // the same for other characters
	ids  map[string]int32   // states by what is in them
	sets [][]uint32         // what is in each state: the places that wait for a character
	// plain are the bytes, other than backslashes, with which nothing begins, as far as that is known.
	plain [256]bool
	seen  int // bytes since it began anew
	// always: it matches the empty text. hopeless: there are too many states.
	always, hopeless bool

	// What follows is room for one step, kept so that steps need no memory of their own.
	marked  []uint32 // by place: the step in which it was last added
	step    uint32
	pending []uint32
	set     []uint32
	key     []byte
	text    []byte // of a record that is looked at a second time
}

type wideStep struct {
	state int32
	r     rune
}

// The first states. Every set has the places where a match may begin, so that there is no state without a way out.
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

// forget begins anew.
func (m *automaton) forget() {
	m.next, m.sets, m.seen = m.next[:0], m.sets[:0], 0
	m.wide, m.ids = map[wideStep]int32{}, map[string]int32{}
	for range stateStart {
		m.addState(nil) // unknown, and found: nobody goes on from there
	}
	m.begin()
	m.always = m.finish() == stateFound
}

// run goes through a text. ok is false where the automaton cannot tell.
func (m *automaton) run(text string) (found, ok bool) {
	if m.hopeless {
		return false, false
	}
	if m.always {
		return true, true
	}
	s, from := stateStart, 0
	for i := 0; i < len(text); {
		c := text[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(text[i:])
			next, known := m.wide[wideStep{s, r}]
			if i += n; !known {
				if next, ok = m.move(s, r, i-from); !ok {
					return false, false
				}
				from = i
			}
			s = next
		} else {
			next := m.next[s][c]
			if i++; next == stateUnknown {
				if next, ok = m.move(s, rune(c), i-from); !ok {
					return false, false
				}
				from = i
			}
			s = next
		}
		if s == stateFound {
			return true, true
		}
	}
	m.seen += len(text) - from
	return false, true
}

// move finds the state behind a character, after so many bytes more. ok is false where there are too many states.
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
		// That holds for ever, also after forget: the first state is the same each time. A backslash is not passed over
		// because in a record it begins an escape, whose second half must not be taken for text.
		if s == stateStart && next == stateStart && r != '\\' {
			m.plain[r] = true
		}
	} else if len(m.wide) < statesMost*bytesPerState {
		m.wide[wideStep{s, r}] = next
	}
	return next, true
}

// begin begins a set: with the places where a match may begin.
func (m *automaton) begin() {
	m.set = m.set[:0]
	if m.step++; m.step == 0 { // after four thousand million steps
		clear(m.marked)
		m.step = 1
	}
	m.add(uint32(m.prog.Start))
}

// add adds a place, and all that can be reached from it without a character.
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
		// An assertion counts as fulfilled: so the automaton may find too much, never too little.
		case syntax.InstCapture, syntax.InstNop, syntax.InstEmptyWidth:
			m.pending = append(m.pending, inst.Out)
		case syntax.InstFail:
		default:
			m.set = append(m.set, pc)
		}
	}
}

// finish gives the state of the set that was made.
func (m *automaton) finish() int32 {
	for _, pc := range m.set {
		if m.prog.Inst[pc].Op == syntax.InstMatch {
			return stateFound
		}
	}
	return m.stateOf(m.set)
}

// stateOf gives the state of a set, a new one where it was never met.
func (m *automaton) stateOf(set []uint32) int32 {
	// The order in which places were added says which match is preferred. Whether there is one does not depend on it, and
	// sorted sets are met again more often.
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
