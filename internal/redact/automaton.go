package redact

// automaton finds many keywords in one pass (Aho and Corasick, 1975), without regard to the case of ASCII letters. It is a table:
// one row for each prefix of a keyword, one column for each class of bytes. Bytes that no keyword has share a class.
type automaton struct {
	class   [256]uint8
	classes int
	next    []int32   // state*classes + class → the next state's row; negative if keywords end there
	ends    [][]int32 // by state: the keywords that end there
	lengths []int     // by keyword
}

func newAutomaton(words []string) *automaton {
	a := &automaton{classes: 1}
	for _, w := range words {
		a.lengths = append(a.lengths, len(w))
		for i := range len(w) {
			if a.class[w[i]] == 0 {
				a.class[w[i]] = uint8(a.classes)
				a.classes++
			}
		}
	}
	for c := 'A'; c <= 'Z'; c++ {
		a.class[c] = a.class[c+'a'-'A']
	}
	a.grow()
	for id, w := range words {
		state := int32(0)
		for i := range len(w) {
			to := &a.next[int(state)*a.classes+int(a.class[w[i]])]
			if *to == 0 {
				*to = int32(len(a.ends))
				state = *to
				a.grow()
				continue
			}
			state = *to
		}
		a.ends[state] = append(a.ends[state], int32(id))
	}
	a.link()
	return a
}

// grow adds a state.
func (a *automaton) grow() {
	a.next = append(a.next, make([]int32, a.classes)...)
	a.ends = append(a.ends, nil)
}

// link completes the trie: where a keyword does not continue, the longest suffix that begins another one does. States are processed breadth
// first, so that the suffix of a state is complete before the state. Then numbers of states become offsets of rows.
func (a *automaton) link() {
	suffix, queue := make([]int32, len(a.ends)), make([]int32, 0, len(a.ends))
	for c := range a.classes {
		if to := a.next[c]; to != 0 {
			queue = append(queue, to)
		}
	}
	for n := 0; n < len(queue); n++ {
		state := queue[n]
		row, other := a.row(state), a.row(suffix[state])
		for c, to := range row {
			if to == 0 {
				row[c] = other[c]
				continue
			}
			suffix[to] = other[c]
			queue = append(queue, to)
		}
		a.ends[state] = append(a.ends[state], a.ends[suffix[state]]...)
	}
	for i, to := range a.next {
		if len(a.ends[to]) > 0 {
			a.next[i] = ^(to * int32(a.classes))
		} else {
			a.next[i] = to * int32(a.classes)
		}
	}
}

func (a *automaton) row(state int32) []int32 {
	return a.next[int(state)*a.classes:][:a.classes]
}

func (a *automaton) length(id int) int { return a.lengths[id] }

// scan calls hit for each keyword in text, with the position after it.
func (a *automaton) scan(text string, hit func(id, end int)) {
	row := int32(0)
	for i := range len(text) {
		row = a.next[int(row)+int(a.class[text[i]])]
		if row < 0 {
			row = ^row
			for _, id := range a.ends[int(row)/a.classes] {
				hit(int(id), i+1)
			}
		}
	}
}

// lower lowers ASCII letters only, as the automaton does.
func lower(s string) string {
	for i := range len(s) {
		if 'A' <= s[i] && s[i] <= 'Z' {
			b := []byte(s)
			for i, c := range b {
				if 'A' <= c && c <= 'Z' {
					b[i] = c + 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}
