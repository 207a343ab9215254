package dialect

import "github.com/treeline-dev/treeline/session"

// Resumer is a Dialect of an agent that changes a conversation before it resumes a session.
type Resumer interface {
	// Resume gives the messages that the model sees first. header is the record of the session's header, messages are those
	// of its context. If the session resumes elsewhere than before, the first message says what changed.
	Resume(header session.Raw, messages []session.Raw, now Here) []session.Raw
}

// Here is where a session resumes. The model is not told what is "".
type Here struct {
	// Root is the project folder, WorkDir the working directory.
	Root, WorkDir string
	// Sandbox is the folder that tools may not leave, Approval the agent's mode of asking before it acts.
	Sandbox, Approval string
	// Provider and Model name the language model.
	Provider, Model string
}
