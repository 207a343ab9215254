package gen

import (
	"encoding/json"
	"io"
	"strconv"
	"time"
)

const (
	closingSize = 700     // bytes that a last answer needs at least
	flushSize   = 1 << 18 // bytes to hand over at once
)

// A session is being written: where the conversation is, and what is not yet handed over.
// The struct embedded as state is copied before each step and put back when the step went too far: the bytes in
// buf are cut off again.
type session struct {
	*text
	o      Options
	turns  []turn // on the path to where the conversation is
	kept   int    // turns before this one were compacted away
	fresh  int    // entries up to the last compaction
	steps  int    // tool steps until the answer
	state         // what is undone when a step does not fit
	sent   int64  // bytes handed over
	model  int
	cwd    string     // as it stands in a JSON string
	called []toolCall // of the assistant message being answered

	branches, images int // done
}

// A turn begins with a prompt.
type turn struct {
	prompt int // number of its entry
	parent int // number of the entry before
}

// state is what each record advances. Entries are numbered from 1; 0 is none, the parent of a root.
type state struct {
	entries int
	parent  int
	now     int64 // milliseconds
	tokens  int   // in the model's context
}

// Whatever the options leave open is drawn from the seed, in this order: another order would be another session
// for all tests.
func newSession(o Options, v *vocabulary) *session {
	switch {
	case o.Bytes > 0:
		o.Entries = 0
	case o.Entries <= 0:
		o.Entries = 1000
	}
	if o.CompactEvery == 0 {
		o.CompactEvery = 400
	}
	if o.ImageBytes == 0 {
		o.ImageBytes = 64_000
	}
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

// escaped gives a text as it stands in a JSON string.
func escaped(text string) string {
	quoted, _ := json.Marshal(text) // a string has no error
	return string(quoted[1 : len(quoted)-1])
}

// uuid makes a UUID of version 7 of the session's start.
// The digits behind the time are drawn from the seed.
func (s *session) uuid() string {
	at := len(s.buf)
	ms := strconv.FormatInt(s.now, 16)
	for range 12 - len(ms) {
		s.add("0")
	}
	s.add(ms)
	s.add("7")
	s.hex(3)
	s.buf = append(s.buf, "89ab"[s.bits(2)])
	s.hex(15)
	h := string(s.buf[at:])
	s.buf = s.buf[:at]
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// write writes the session, and gives the time of its last entry.
// A step that goes beyond the end is undone, and a last answer fills what is left.
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

// over says whether the last step went beyond what was asked for, a last answer included.
func (s *session) over() bool {
	return s.o.Entries > 0 && s.entries >= s.o.Entries || s.o.Bytes > 0 && s.written() > s.o.Bytes-closingSize
}

// limit is how long a text may be, so that a session of few bytes is not one large record.
// Half of what is left, so that there is always room for another record.
func (s *session) limit(n int) int {
	if s.o.Bytes <= 0 {
		return n
	}
	return int(min(int64(n), max(80, (s.o.Bytes-s.written()-closingSize)/2)))
}

// due says whether it is time for one more of count things that are to be spread over the session.
// Things are spread evenly, since many at one end would make only one end slow.
func (s *session) due(done, count int) bool {
	if done >= count {
		return false
	}
	share := int64(done + 1) // of count+1
	return s.o.Entries > 0 && int64(s.entries)*int64(count+1) >= share*int64(s.o.Entries) ||
		s.o.Bytes > 0 && s.written()*int64(count+1) >= share*s.o.Bytes
}

// next adds one step: a prompt, a message with its tool results, a compaction, …
// The order of the cases is their rank: branches and images must come, prompts and answers fill the rest.
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

// closing ends the session with an answer: exactly where it was asked to end.
// An answer ends it: a session that ends with a prompt is one that crashed.
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

// branch goes back to an earlier prompt and asks something else, now and then with a summary of what was left.
// Turns behind the new leaf are not on the path any more, so labels and compactions must not name them.
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
