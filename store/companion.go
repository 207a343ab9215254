package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/treeline-dev/treeline/dialect"
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

// Companion gives the second place of an agent, by the name of the dialect that its states are read with; "" is the first
// that there is.
func (s *Store) Companion(name string) (Companion, error) {
	if name != "" {
		d, err := s.Dialect(name)
		if err != nil {
			return nil, err
		}
		name = Sessions(d).Name()
	}
	for _, d := range s.opt.Dialects {
		if c, ok := s.companion(d); ok && (name == "" || d.Name() == name) {
			return c, nil
		}
	}
	return nil, fmt.Errorf("states of %q are %w: the agent keeps none", name, ErrUnsupported)
}

func (s *Store) companion(d dialect.Dialect) (Companion, bool) {
	if s.opt.OpenCompanion == nil {
		return nil, false
	}
	for _, r := range d.Layout().Roots(s.opt.Env) {
		if c, _, ok := s.opt.OpenCompanion(r.Sessions); ok {
			return c, true
		}
	}
	return nil, false
}

// LoadState finds the state of a session, in all places where there are some or, with a name, in that of one dialect.
func (s *Store) LoadState(ctx context.Context, name string, id session.ID) (State, Companion, dialect.Dialect, error) {
	if _, err := s.Companion(name); err != nil {
		return State{}, nil, nil, err
	}
	if d, err := s.Dialect(name); err == nil {
		name = Sessions(d).Name()
	}
	for _, d := range s.opt.Dialects {
		c, ok := s.companion(d)
		if !ok || name != "" && d.Name() != name {
			continue
		}
		state, err := c.Load(ctx, id)
		if err == nil || !errors.Is(err, ErrNoSession) {
			return state, c, d, err
		}
	}
	return State{}, nil, nil, fmt.Errorf("%s: %w", id, ErrNoSession)
}

// goingOn gives what the agent of a session that is a state says first where it goes on.
func (s *Session) goingOn(now Environment) ([]session.Raw, error) {
	abs, err := filepath.Abs(s.path)
	if err != nil || s.path == "" || s.store.opt.OpenCompanion == nil {
		return nil, err
	}
	c, _, ok := s.store.opt.OpenCompanion(filepath.Dir(abs))
	r, resumes := c.(Resumer)
	if !ok || !resumes {
		return nil, nil
	}
	state, err := stateOf([][]byte{s.tree.Header().Raw})
	if err != nil {
		return nil, err
	}
	if now.Root == "" {
		now.Root = now.WorkDir
		if root := s.tree.Header().CWD; root != "" && within(root, now.WorkDir) {
			now.Root = root
		}
	}
	return r.Resume(state, now) // the messages are not in it: what was said is not what is asked for
}
