package dialect

import (
	"io"

	"github.com/treeline-dev/treeline/run"
)

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
