package gen

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

const (
	closingSize = 700     // least size of a last answer in bytes
	flushSize   = 1 << 18 // bytes of one write
)

// A session is being written. state is copied before each step and restored if the step went too far; its bytes are then cut
// from buf.
type session struct {
	*text
	o      Options
	turns  []turn // on the path to the leaf
	kept   int    // turns before this one were compacted away
	fresh  int    // number of entries up to the last compaction
	steps  int    // number of tool steps until the answer
	state         // restored if a step does not fit
	sent   int64  // bytes written to the writer
	model  int
	cwd    string     // escaped for JSON
	called []toolCall // by the last assistant message

	branches, images int // number of those done
}

// A turn begins with a prompt.
type turn struct {
	prompt int // number of its entry
	parent int // number of the entry before
}

// state changes with each record. Entries are numbered from 1; 0 is the parent of a root.
type state struct {
	entries int
	parent  int
	now     int64 // milliseconds
	tokens  int   // in the model's context
}

// newSession draws what the options leave open from the seed. The order of the draws is fixed: it decides every later byte.
func newSession(o Options, v *vocabulary) *session {
	switch {
	case o.Bytes > 0:
		o.Entries = 0
	case o.Entries <= 0:
		o.Entries = 1000
	}
	o.CompactEvery = cmp.Or(o.CompactEvery, 400)
	o.ImageBytes = cmp.Or(o.ImageBytes, 64_000)
	s := &session{text: newText(o.Seed, v), o: o}
	s.buf = make([]byte, 0, flushSize+1<<16)
	if o.Start.IsZero() {
		s.o.Start = time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC).Add(time.Duration(s.pick(1<<20)) * 10 * time.Second)
	}
	if o.Cwd == "" {
		s.o.Cwd = "/opt/work/" + v.project
	}
	s.cwd = escaped(s.o.Cwd)
	s.now = s.o.Start.UnixMilli()
	if o.ID == "" {
		s.o.ID = s.uuid()
	}
	if o.Title == "" {
		s.words(3 + s.bits(2))
		s.o.Title = title(string(s.buf))
		s.buf = s.buf[:0]
	}
	return s
}

// escaped returns a text escaped for a JSON string.
func escaped(text string) string {
	quoted, _ := json.Marshal(text) // encoding a string does not fail
	return string(quoted[1 : len(quoted)-1])
}

// uuid makes a UUID of version 7 from the start of the session and the seed.
func (s *session) uuid() string {
	h := fmt.Appendf(nil, "%012x7", s.now)
	hex := func(n int) {
		for range n {
			h = append(h, "0123456789abcdef"[s.bits(4)])
		}
	}
	hex(3)
	h = append(h, "89ab"[s.bits(2)])
	hex(15)
	return fmt.Sprintf("%s-%s-%s-%s-%s", h[:8], h[8:12], h[12:16], h[16:20], h[20:])
}

// write writes the session and returns the time of its last entry. A step beyond the end is undone, and a last answer fills
// the rest.
func (s *session) write(w io.Writer) (time.Time, error) {
	s.header()
	for {
		before, at := s.state, len(s.buf)
		s.next()
		if s.over() {
			s.state, s.buf = before, s.buf[:at]
			break
		}
		if len(s.buf) >= flushSize {
			if err := s.flush(w); err != nil {
				return time.Time{}, err
			}
		}
	}
	s.closing()
	return time.UnixMilli(s.now), s.flush(w)
}

func (s *session) flush(w io.Writer) error {
	_, err := w.Write(s.buf)
	s.sent += int64(len(s.buf))
	s.buf = s.buf[:0]
	return err
}

// written counts the bytes so far.
func (s *session) written() int64 { return s.sent + int64(len(s.buf)) }

// over reports whether the last step leaves no room for a last answer.
func (s *session) over() bool {
	return s.o.Entries > 0 && s.entries >= s.o.Entries || s.o.Bytes > 0 && s.written() > s.o.Bytes-closingSize
}

// limit bounds the length of a text to half of the bytes left, so that a small session is not one large record.
func (s *session) limit(n int) int {
	if s.o.Bytes <= 0 {
		return n
	}
	return int(min(int64(n), max(80, (s.o.Bytes-s.written()-closingSize)/2)))
}

// length returns a random size within the limit.
func (s *session) length(median, spread, most int) int { return s.limit(s.size(median, spread, most)) }

// due reports whether it is time for one more of count things, which are spread evenly over the session.
func (s *session) due(done, count int) bool {
	if done >= count {
		return false
	}
	share := int64(done + 1) // of count+1
	return s.o.Entries > 0 && int64(s.entries)*int64(count+1) >= share*int64(s.o.Entries) ||
		s.o.Bytes > 0 && s.written()*int64(count+1) >= share*s.o.Bytes
}

// next adds one step: a prompt, a message with its tool results, a compaction, … Branches and images come first: their number
// is fixed.
func (s *session) next() {
	switch {
	case s.due(s.branches, s.o.Branches) && len(s.turns) > 0:
		s.branches++
		s.branch()
	case s.due(s.images, s.o.Images) && len(s.turns) > 0:
		s.images++
		s.toolStep(true)
	case s.steps == 0 && s.o.CompactEvery > 0 && s.entries-s.fresh >= s.o.CompactEvery && len(s.turns) > s.kept+1:
		s.compaction()
	case s.steps == 0:
		s.between()
		s.prompt()
		s.steps = 1 + s.size(5, 140, 40)
	case s.steps == 1:
		s.steps = 0
		s.answer()
	default:
		s.steps--
		s.toolStep(false)
	}
}

// closing ends the session at the requested size, with an answer: only a crash ends it with a prompt.
func (s *session) closing() {
	if s.o.Bytes > 0 {
		s.lastAnswer()
		return
	}
	for s.entries < s.o.Entries {
		if (s.o.Entries-s.entries)%2 == 0 {
			s.prompt()
		} else {
			s.answer()
		}
	}
}

// branch goes back to an earlier prompt and replaces it, now and then with a summary of the abandoned branch. It forgets the
// turns that are no longer on the path, so that labels and compactions do not name them.
func (s *session) branch() {
	back := 1 + s.pick(min(4, len(s.turns)))
	at := s.turns[len(s.turns)-back]
	left := s.parent
	s.turns = s.turns[:len(s.turns)-back]
	s.kept = min(s.kept, len(s.turns))
	s.parent, s.steps = at.parent, 1+s.size(3, 146, 20)
	if s.chance(300) && at.parent != 0 {
		from := at.parent
		if s.o.Pi {
			from = left
		}
		s.branchSummary(from)
	}
	s.prompt()
}
