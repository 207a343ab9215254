package wire

import (
	"github.com/treeline-dev/treeline/convert"
	"github.com/treeline-dev/treeline/session"
)

// Conversion says what became of everything in a converted session. lossless means that nothing was dropped. mapped, carried
// and dropped count entries; an entry counts as carried if any part of it is.
type Conversion struct {
	Source   Converted `json:"source"`
	Target   Converted `json:"target"`
	Lossless bool      `json:"lossless"`
	Mapped   int       `json:"mapped"`
	Carried  int       `json:"carried"`
	Dropped  int       `json:"dropped"`
	Losses   []Loss    `json:"losses"`
}

// Converted is one side of a conversion. view counts what the model sees at its leaf.
type Converted struct {
	ID      session.ID   `json:"id"`
	Path    string       `json:"path"`
	Dialect string       `json:"dialect"`
	Entries int          `json:"entries"`
	View    convert.View `json:"view"`
}

// Loss is what became of a member that the target does not have. pointer is a JSON pointer into records of the kind, "" for
// the whole record. kind is that of entries, or "header", "slot" or "line". entries and lines are those concerned; the one
// that does not apply is absent.
type Loss struct {
	Pointer string            `json:"pointer"`
	Kind    string            `json:"kind"`
	Count   int               `json:"count"`
	Became  convert.Became    `json:"became"`
	Entries []session.EntryID `json:"entries,omitempty"`
	Lines   []int             `json:"lines,omitempty"`
}

// NewConversion returns the report of a conversion.
func NewConversion(r convert.Report) Conversion {
	side := func(c convert.Converted) Converted { return Converted{c.ID, c.File, c.Dialect, c.Entries, c.View} }
	j := Conversion{
		Source: side(r.Source), Target: side(r.Target), Lossless: r.Lossless, Mapped: r.Mapped, Carried: r.Carried, Dropped: r.Dropped,
		Losses: make([]Loss, 0, len(r.Losses)),
	}
	for _, l := range r.Losses {
		j.Losses = append(j.Losses, Loss{Pointer: l.Path, Kind: l.Kind, Count: l.Count, Became: l.Became, Entries: l.Entries, Lines: l.Lines})
	}
	return j
}
