package wire

import (
	"bytes"
	"io"
	"iter"
)

// Export is a session for programs: what it is, and its entries. These are the entries on the path to the leaf, or the whole
// tree in log order. leafId of the session is the entry where the path ends.
type Export struct {
	Session Session `json:"session"`
	Entries []Entry `json:"entries"`
}

// WriteExport prints an Export, entry by entry, each on a line.
func WriteExport(w io.Writer, s Session, entries iter.Seq2[Entry, error]) error {
	var head bytes.Buffer
	head.WriteString(`{"session":`)
	if err := Write(&head, s); err != nil {
		return err
	}
	head.WriteString(`,"entries":`)
	if _, err := w.Write(head.Bytes()); err != nil {
		return err
	}
	list := Array{W: w}
	for e, err := range entries {
		if err == nil {
			err = list.Add(e)
		}
		if err != nil {
			return err
		}
	}
	if err := list.End(); err != nil {
		return err
	}
	_, err := io.WriteString(w, "}\n")
	return err
}

// Exported says what was exported. path is null if it was printed. sessions is present for a site. redactions counts what was
// redacted, by kind.
type Exported struct {
	Path       *string     `json:"path"`
	Format     string      `json:"format"`
	Session    string      `json:"session,omitempty"`
	Sessions   *int        `json:"sessions,omitempty"`
	Entries    int         `json:"entries"`
	Size       int64       `json:"size"`
	Redactions []Redaction `json:"redactions"`
	Problems   int         `json:"problems"`
}

// Redaction is a number of redactions of one kind.
type Redaction struct {
	Kind  string `json:"kind"`
	Count int    `json:"count"`
}
