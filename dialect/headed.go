package dialect

import (
	"fmt"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
)

// Headed is the common part of decoders of logs with a header: a log without one is refused. A decoder embeds it.
type Headed struct {
	Lines Lines
	// What names the header, and Log the log, in messages.
	What, Log string
	// Begun: the header was read.
	Begun   bool
	refused *session.Problem
}

// Read takes the next record and passes its objects on.
func (h *Headed) Read(r Record, to Objects) {
	if h.refused != nil {
		return
	}
	// A log with half a header cannot be opened; the agents' programs would begin a new session in its place.
	if cut := h.Lines.Decode(r, to); cut >= 0 && !h.Begun && h.refused == nil {
		h.Refuse(r, cut, "the only record is cut off")
	}
}

// Continued says that the log is read from a place after its header.
func (h *Headed) Continued() {
	h.Begun = true
	h.Lines.Continued()
}

// Other implements Objects for formats in which a value that is not an object has no meaning.
func (h *Headed) Other([]byte) {}

// Refuse says that the log has no header; found is what was found instead.
func (h *Headed) Refuse(r Record, offset int64, found string) {
	h.refused = &session.Problem{Line: r.Line, Offset: offset, Kind: session.ProblemNoHeader,
		Message: "no " + h.What + ": " + found,
		Advice:  "the file was not changed; if it is a " + h.Log + ", its header line was damaged or lost"}
}

// RefuseFirst refuses a log whose first record is record, of the type typ. missing is what a header lacks to be
// accepted, "" if record is not a header.
func (h *Headed) RefuseFirst(r Record, span session.Span, record, typ []byte, missing string) {
	found := Shorten(record)
	switch {
	case missing != "":
		found = "a header without " + missing
	case typ != nil:
		found = fmt.Sprintf("of type %q", Shorten(typ))
	}
	h.Refuse(r, span.Offset, "the first record is "+found)
}

// Refused reports whether the log was refused.
func (h *Headed) Refused() bool { return h.refused != nil }

// Again reports a second header.
func (h *Headed) Again(r Record, span session.Span) {
	h.Lines.ProblemAt(r, span, session.ProblemHeaderAgain, "a second header", "it stays in the file and is not an entry")
}

// Newer reports a log of an unknown version.
func (h *Headed) Newer(r Record, span session.Span, message string) {
	h.Lines.ProblemAt(r, span, session.ProblemNewer, message, "reading it is best effort; it is never written")
}

// Finish implements Decoder.
func (h *Headed) Finish() error {
	if h.refused == nil && !h.Begun && h.Lines.Started() {
		h.Refuse(Record{Line: 1}, 0, "no line of it is a record")
	}
	if h.refused != nil {
		return h.refused
	}
	return nil
}

// FirstObject returns the first whole JSON object that a log begins with, for Detect; nil if there is none.
func FirstObject(first []Record) []byte {
	for _, r := range first {
		data := TrimBOM(r.Data)
		if !rawjson.IsObject(data) {
			continue
		}
		if end, err := rawjson.Skip(data, 0); err == nil {
			return data[:end]
		}
	}
	return nil
}

// Unheaded is the common part of decoders of logs without a header: a log without a line of the program is refused. A decoder embeds it.
type Unheaded struct {
	Lines Lines
	// What names a line of the program in messages.
	What string
	// Seen: such a line was read. Unsure: a line depends on one before the place where reading began.
	Seen, Unsure bool
}

// Continued says that the log is read from a place after its first line.
func (u *Unheaded) Continued() {
	u.Seen = true
	u.Lines.Continued()
}

// Other implements Objects for formats in which a value that is not an object has no meaning.
func (u *Unheaded) Other([]byte) {}

// Finish implements Decoder.
func (u *Unheaded) Finish() error {
	switch {
	case u.Unsure:
		return ErrEarlier
	case u.Seen || !u.Lines.Started():
		return nil
	}
	return &session.Problem{Line: 1, Kind: session.ProblemNoHeader, Message: "no line of it is " + u.What,
		Advice: "the file was not changed; if it is a session, all its lines were damaged or lost"}
}
