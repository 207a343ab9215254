package dialect

import (
	"io"

	"github.com/treeline-dev/treeline/run"
)

// Runs is a Dialect of run logs: it knows how they are written and named. Runs of agents without run logs are recorded in
// the same form.
type Runs interface {
	// RunHeader and RunRecord give the records of a run's log.
	RunHeader(h run.Header) ([]byte, error)
	RunRecord(b run.Body) ([]byte, error)
	// RunName is the name of a run's log, relative to Root.Sessions. It fails where the header does not determine it.
	RunName(h run.Header) (string, error)
	// NewRunID makes the id of a run. CheckRunID says why an id is not valid.
	NewRunID(random io.Reader) (string, error)
	CheckRunID(id string) error
	// Sessions is the dialect of the agent's sessions, which is used where a session of the agent is to be written: a run
	// log is not a session.
	Sessions() Dialect
}
