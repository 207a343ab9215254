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
	// Total is the number of all runs, or Uncounted if there are too many.
	Total int
	// Session and CWD are the filters of the list; "" means all.
	Session, CWD string
	// Problems are logs that could not be read.
	Problems []string
}

// RunRow is a run in a list.
type RunRow struct {
	wire.Run
	When time.Time
	// Key identifies the session of the run in addresses; "" if it is not known.
	Key string
}

// RunPage is one run.
type RunPage struct {
	RunRow
	Audit wire.Audit
	// Log is the log, which is read for the timeline.
	Log *run.Log
}

// Runs writes a list of runs.
func (s *Site) Runs(w io.Writer, p RunsPage) error {
	return s.write(w, "runs.html", view{Section: "runs", Title: "Runs", Page: p})
}
