package dialect

import (
	"io"

	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/session"
)

// Runner is a Dialect of sessions whose runs are logs of their own. They tell where a session was if it does not say so
// itself.
type Runner interface {
	// LastRun gives the id of the last run that the record of a session's header names; "" where it names none.
	LastRun(header []byte) string
	// RunDir gives the working directory, the session and the beginning of a run whose log begins with that record. They
	// are empty where it does not say them.
	RunDir(header []byte) (cwd string, of session.ID, began session.Time)
}

// Runs is a Dialect of run logs: it knows how they are named. Package run knows how they are written. Runs of agents without
// run logs are recorded in the same form.
type Runs interface {
	// RunName is the name of a run's log, relative to Root.Sessions. It fails if the header has no valid id or time.
	RunName(h run.Header) (string, error)
	// NewRunID makes the id of a run.
	NewRunID(random io.Reader) (string, error)
	// Sessions is the dialect of the agent's sessions, for writing one: a run log is not a session.
	Sessions() Dialect
}
