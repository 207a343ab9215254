package dialect

import (
	"io"

	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/session"
)

// Runner is a Dialect of sessions whose runs have separate logs. A run log says where a session was if the session itself does
// not.
type Runner interface {
	// LastRun gives the id of the last run that the header of a session names; "" if it names none. header is the header's record.
	LastRun(header []byte) string
	// RunDir gives the working directory, the session and the start of a run, from the first record of its log. A value that the
	// record lacks is empty.
	RunDir(header []byte) (cwd string, of session.ID, began session.Time)
}

// Runs is a Dialect of run logs: it knows how they are named. Package run knows how they are written. Runs of agents without
// run logs are recorded in the same form.
type Runs interface {
	// RunName is the name of a run's log, relative to Root.Sessions. It fails if the header has no valid id or time.
	RunName(h run.Header) (string, error)
	// NewRunID makes the id of a run.
	NewRunID(random io.Reader) (string, error)
	// Sessions is the dialect of the agent's sessions, which writes them: a run log is not a session.
	Sessions() Dialect
}
