package page

import (
	"io"
	"time"

	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/wire"
)

// RunsPage is a list of runs.
type RunsPage struct {
	Rows []RunRow
	// Total counts all runs; Uncounted if these are too many.
	Total int
	// Session and CWD are what the list was narrowed to; "" for all.
	Session, CWD string
	// Problems are logs that could not be read.
	Problems []string
}

// RunRow is a run in a list.
type RunRow struct {
	wire.Run
	When time.Time
	// Key addresses the session of the run; "" where it is not known.
	Key string
}

// RunPage is one run.
type RunPage struct {
	RunRow
	Audit wire.Audit
	// Log is read for the timeline.
	Log *run.Log
}

// Runs writes a list of runs.
func (s *Site) Runs(w io.Writer, p RunsPage) error {
	return s.write(w, "runs.html", view{Section: "runs", Title: "Runs", Page: p})
}
