package dialect

import (
	"io"

	"github.com/treeline-dev/treeline/run"
)

// Runs is a Dialect that keeps run logs: it knows how they are written and called. Sessions of agents that keep none are
// given some in the same form.
type Runs interface {
	// RunHeader and RunRecord give the records of a run's log.
	RunHeader(h run.Header) ([]byte, error)
	RunRecord(b run.Body) ([]byte, error)
	// RunName is what the log of a run is called, relative to Root.Sessions. It fails where the header does not say it.
	RunName(h run.Header) (string, error)
	// NewRunID makes the id of a run, CheckRunID says why one that somebody chose will not do.
	NewRunID(random io.Reader) (string, error)
	CheckRunID(id string) error
	// Sessions is the dialect of the agent's sessions: a log of a run is none. It is meant where somebody wants to write a
	// session and names the agent.
	Sessions() Dialect
}

// RunsDialect is a Dialect that is Runs.
type RunsDialect struct {
	Dialect Dialect
	Runs
}

// AsRuns gives d as a RunsDialect; ok is false where it keeps no run logs.
func AsRuns(d Dialect) (r RunsDialect, ok bool) {
	r.Dialect = d
	r.Runs, ok = d.(Runs)
	return r, ok
}
