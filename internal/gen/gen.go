// Package gen makes sessions of coding agents for tests and measurements. The same options give the same bytes on every
// machine.
//
// It writes the log of a pi or omp session, version 3: a header, then turns of a conversation (a prompt, assistant messages
// with thinking, text and tool calls, the tool results, an answer), with changes of model, labels, custom entries and
// compactions between them, and branches and images on request. The proportions are those of real sessions of some thousand
// entries: records have 1.7 KB on average, a median of 0.7 KB, and up to 50 KB; tool results have an escape sequence every
// 30 bytes or so. Every tool call has its result, and every parent exists: tests damage the sessions themselves.
//
// The words follow Zipf's law: common English words, and names as they occur in source code. Names belong to a project, so a
// rare name is found in the sessions of one project only. No text of real people is in them.
package gen

import (
	"bytes"
	"io"
	"time"
)

// Options describe a session. The zero value is an omp session of 1,000 entries.
type Options struct {
	Seed    uint64 // another seed makes another conversation
	Project uint64 // sessions of one project share folder, language, file names and vocabulary

	// The session has exactly Entries entries (the header is not one) or, if Bytes is set, exactly that many bytes, which
	// takes at least 2,000.
	Entries int
	Bytes   int64

	Branches     int // how often the conversation goes back to an earlier prompt
	CompactEvery int // entries from one compaction to the next; 0 is 400, negative never
	Images       int // how many tool results carry an image
	ImageBytes   int // base64 characters of one image; 0 is 64,000

	Pi bool // the format of pi (provider and modelId, session_info), not omp

	ID    string    // of the session; "" makes a UUID (version 7)
	Cwd   string    // "" is the project's folder
	Title string    // "" makes one
	Start time.Time // zero is a day in 2026 that depends on the seed
}

// Session returns a whole session.
func Session(o Options) []byte {
	var b bytes.Buffer
	b.Grow(int(max(o.Bytes, 0)))
	_ = Write(&b, o) // a buffer returns no error
	return b.Bytes()
}

// Write writes a session piece by piece. The only errors are those of w.
func Write(w io.Writer, o Options) error {
	_, err := newSession(o, newVocabulary(o.Project)).write(w)
	return err
}
