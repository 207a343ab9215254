// Package gen makes sessions of coding agents, for tests and measurements: as many and as large as one likes, the same
// bytes for the same options on every machine.
//
// What it writes is the log of a pi or omp session, version 3: a header, then turns of a conversation (a prompt,
// assistant messages with thinking, text and tool calls, the tool results, an answer), with changes of model, labels,
// custom entries and compactions between them, and branches and images where asked for. The proportions are those of
// real sessions of some thousand entries: about 1.7 KB a record on average with a median of 0.7 KB and single records
// of 50 KB; in tool results, an escape sequence every 30 bytes or so. Every tool call has its result, and every parent
// exists: the sessions are whole, and damaging them is left to the test.
//
// The words follow Zipf's law: common English ones, and names as they occur in source code. The names belong to a
// project, so that a rare one is found in the sessions of one project only, as in life. What search and compression
// achieve on these texts can be believed as far as that goes; no text of real people is in them.
package gen

import (
	"bytes"
	"io"
	"time"
)

// Options say what the session is like. The zero value is an omp session of 1,000 entries.
type Options struct {
	Seed    uint64 // another seed, another conversation
	Project uint64 // sessions of one project share folder, language, file names and vocabulary

	// The session has exactly Entries entries (the header is not one) or, when Bytes is set, exactly that many bytes;
	// fewer than 2,000 bytes cannot be met exactly.
	Entries int
	Bytes   int64

	Branches     int // how often the conversation goes back to an earlier prompt and takes another way
	CompactEvery int // entries from one compaction to the next; 0 is 400, negative never
	Images       int // how many tool results carry an image
	ImageBytes   int // base64 characters of one image; 0 is 64,000

	Pi bool // as pi spells it (provider and modelId, session_info), not omp

	ID    string    // of the session; "" makes a UUID (version 7)
	Cwd   string    // "" is the project's folder
	Title string    // "" makes one
	Start time.Time // zero is a day in 2026 that depends on the seed
}

// Session gives a whole session as bytes.
func Session(o Options) []byte {
	var b bytes.Buffer
	b.Grow(int(max(o.Bytes, 0)))
	_ = Write(&b, o) // a buffer takes everything
	return b.Bytes()
}

// Write writes a session piece by piece, in the memory of its largest record. The only errors are those of w.
func Write(w io.Writer, o Options) error {
	_, err := newSession(o, newVocabulary(o.Project)).write(w)
	return err
}
