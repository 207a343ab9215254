package store

import (
	"context"
	"errors"

	"github.com/treeline-dev/treeline/session"
)

// Companion is an agent's second place beside its logs: the states that its sessions are resumed from. A state is not
// appended to but saved whole.
//
// Reading leaves no trace: no file is made, and none has another time than before. Every method may be called from several
// goroutines, and several processes, at once. An id that cannot be part of a file's name is refused by all of them.
type Companion interface {
	// Load gives the state of a session, ErrNoSession where there is none. A state that cannot be read whole is an error
	// that names file and line: a conversation with a hole in it is not one to go on with.
	Load(ctx context.Context, id session.ID) (State, error)
	// Save puts a state in the place of the one before, all or nothing: no crash leaves a session that the agent does not
	// find, and whoever looks meanwhile finds the old state or the new. With Version set it fails with ErrStateChanged,
	// and saves nothing, where the state is not that one any more.
	Save(ctx context.Context, s State) error
	// List gives the sessions, the last updated first. A state that cannot be read is in the list and says why.
	List(ctx context.Context) ([]StateInfo, error)
	// Remove takes a session away, ErrNoSession where there is none.
	Remove(ctx context.Context, id session.ID) error
}

// State is all that a session is resumed from.
type State struct {
	ID session.ID
	// UpdatedAt is when it was saved, as the agent spells it. Save takes the time of the day where it is "".
	UpdatedAt string
	// RunID is the last run of the session, InvokeSeq the number of its last request to the model; "" and nil where that is
	// not known.
	RunID     string
	InvokeSeq *int64
	// Root is the folder that the session works in.
	Root string
	// Meta is the agent's own object, nil where it has none.
	Meta session.Raw
	// Other holds the members of the state that nobody knows, as an object; nil where there are none.
	Other session.Raw
	// Messages is the conversation, each message as the agent's own JSON on one line.
	Messages []session.Raw
	// Version stands for the state as Load found it. It is compared by Save, see there; "" is not compared.
	Version string
}

// NewState is the Version of a state that must not exist yet.
const NewState = "new"

// ErrStateChanged is wrapped by the error of a Save that came too late.
var ErrStateChanged = errors.New("the state was saved by another writer")

// StateInfo is a state as a list shows it.
type StateInfo struct {
	ID                     session.ID
	UpdatedAt, RunID, Root string
	// Messages is how many there are, LastUser what the user said last, as far as that is known without reading them.
	Messages int
	LastUser string
	// Err says why the state cannot be loaded.
	Err error
}

// Resumer is a Companion that knows how its agent goes on with a session.
type Resumer interface {
	// Resume gives the messages that the model sees first when the session goes on: the conversation without calls that
	// nothing answers and answers that nothing asked for and, where the session goes on somewhere else, before it what
	// changed.
	Resume(s State, now Environment) ([]session.Raw, error)
}

// Environment is where a session goes on. What is "" is not told.
type Environment struct {
	// Root is the folder of the project, WorkDir the working directory.
	Root, WorkDir string
	// Sandbox, Approval, Provider and Model are for agents that tell the model of them.
	Sandbox, Approval string
	Provider, Model   string
}
