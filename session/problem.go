package session

import "fmt"

// ProblemKind says what is wrong, in a word that scripts can rely on.
type ProblemKind string

const (
	ProblemNoHeader    ProblemKind = "no-header"     // the log has no readable header and is not opened
	ProblemTorn        ProblemKind = "torn"          // the last record was cut off in the middle
	ProblemMalformed   ProblemKind = "malformed"     // a record is not JSON
	ProblemNotObject   ProblemKind = "not-object"    // a record is JSON but not an object
	ProblemGlued       ProblemKind = "glued"         // several records share a line
	ProblemNULs        ProblemKind = "nul-bytes"     // NUL bytes where a record should be (a crash of the machine)
	ProblemBOM         ProblemKind = "bom"           // a byte order mark before the first record
	ProblemHeaderAgain ProblemKind = "second-header" // a header where an entry should be
	ProblemNoID        ProblemKind = "no-id"         // an entry without an id
	ProblemDuplicate   ProblemKind = "duplicate-id"  // an id that an earlier entry has
	ProblemOrphan      ProblemKind = "orphan"        // the parent does not exist
	ProblemCycle       ProblemKind = "cycle"         // parents form a cycle
	ProblemLabelTarget ProblemKind = "label-target"  // a label on an entry that does not exist
	ProblemLeafTarget  ProblemKind = "leaf-target"   // a leaf move to an entry that does not exist
	ProblemNewer       ProblemKind = "newer-version" // the log is of a newer version than this program knows
	ProblemBlobMissing ProblemKind = "missing-blob"  // a blob reference without its blob
	ProblemBlobRef     ProblemKind = "bad-blob-ref"  // an invalid blob reference
	ProblemCut         ProblemKind = "cut"           // the log has only a part of a long text
	ProblemUnseen      ProblemKind = "unseen"        // the agent's program does not show the model something that the log has
	ProblemRefused     ProblemKind = "refused"       // the agent's program does not resume the session
	ProblemField       ProblemKind = "field"         // a member has an unexpected value
	ProblemUnreadable  ProblemKind = "unreadable"    // the log could not be read to its end
	ProblemHeld        ProblemKind = "held"          // a program still writes to the old file of a log that was rewritten
)

// Problem is something wrong that did not stop the reader, and its place. It is also an error, for the few cases that do stop it.
type Problem struct {
	File    string      `json:"path"`
	Line    int         `json:"line"`   // from 1; 0 for the whole log
	Offset  int64       `json:"offset"` // in bytes from the start of the log
	Kind    ProblemKind `json:"kind"`
	Message string      `json:"message"`
	// Advice says what was kept and what the user can do.
	Advice string `json:"advice"`
}

// Error implements error.
func (p *Problem) Error() string { return p.String() }

// String says where the problem is, what it is, and what can be done.
func (p Problem) String() string {
	where := p.File
	if p.Line > 0 {
		where = fmt.Sprintf("%s:%d (byte %d)", p.File, p.Line, p.Offset)
	}
	s := where + ": " + p.Message
	if p.Advice != "" {
		s += "; " + p.Advice
	}
	return s
}
