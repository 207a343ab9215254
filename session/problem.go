package session

import "fmt"

// ProblemKind says what is wrong, in a word that scripts can rely on.
type ProblemKind string

const (
	ProblemNoHeader    ProblemKind = "no-header"     // the log has no readable header: it is not opened
	ProblemTorn        ProblemKind = "torn"          // the last record was cut off in the middle
	ProblemMalformed   ProblemKind = "malformed"     // a record is not JSON
	ProblemNotObject   ProblemKind = "not-object"    // a record is JSON, but no object
	ProblemGlued       ProblemKind = "glued"         // several records share a line
	ProblemNULs        ProblemKind = "nul-bytes"     // NUL bytes where a record should be (a crash of the machine)
	ProblemBOM         ProblemKind = "bom"           // a byte order mark before the first record
	ProblemHeaderAgain ProblemKind = "second-header" // a header where an entry should be
	ProblemNoID        ProblemKind = "no-id"         // an entry without an id
	ProblemDuplicate   ProblemKind = "duplicate-id"  // an id that an earlier entry has already
	ProblemOrphan      ProblemKind = "orphan"        // the parent does not exist
	ProblemCycle       ProblemKind = "cycle"         // the parents run in a circle
	ProblemLabelTarget ProblemKind = "label-target"  // a label on an entry that does not exist
	ProblemLeafTarget  ProblemKind = "leaf-target"   // a leaf that points to an entry that does not exist
	ProblemNewer       ProblemKind = "newer-version" // the log is of a newer version than we know
	ProblemBlobMissing ProblemKind = "missing-blob"  // a blob reference without its blob
	ProblemBlobRef     ProblemKind = "bad-blob-ref"  // a blob reference that is none
	ProblemField       ProblemKind = "field"         // a member has a value that does not fit
	ProblemUnreadable  ProblemKind = "unreadable"    // the log could not be read to its end
)

// Problem is something wrong that did not stop us, and where. It is an error too, for the few that do.
type Problem struct {
	File    string      `json:"file"`
	Line    int         `json:"line"`   // from 1; 0 where the problem is of the whole log
	Offset  int64       `json:"offset"` // in bytes from the start of the log
	Kind    ProblemKind `json:"kind"`
	Message string      `json:"message"`
	// Advice says what was kept and what one can do.
	Advice string `json:"advice"`
}

// Error implements error.
func (p *Problem) Error() string { return p.String() }

// String says where, what, and what one can do.
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
