package codex

import (
	"fmt"
	"path/filepath"

	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/session"
)

var _ dialect.Launcher = (*Dialect)(nil)

// archive is the folder of archived sessions.
const archive = "archived_sessions"

// Program is the name of the program.
func (d *Dialect) Program() string { return "codex" }

// Launch resumes a session by the id in its file name, if it lies where the program looks for it. The program refuses an archived session.
func (d *Dialect) Launch(s dialect.Launched) (dialect.Launch, error) {
	if filepath.Base(filepath.Dir(s.Path)) == archive {
		return dialect.Launch{}, fmt.Errorf("resuming it in %s is %w while it is archived; codex unarchive %s puts it back", d.Program(), dialect.ErrUnsupported, s.ID)
	}
	if err := s.Placed(d.Program(), d.Where, true); err != nil {
		return dialect.Launch{}, err
	}
	id, rollout := ids(s.Path)
	if id == "" {
		id = s.ID
	}
	for name := range s.Names {
		if thread, other := ids(name); thread == id && other > rollout {
			return dialect.Launch{}, fmt.Errorf("resuming it in %s is %w: %s replaces it, and the program continues that one; a fork of it can be resumed", d.Program(), dialect.ErrUnsupported, name)
		}
	}
	return dialect.Launch{
		Args: []string{d.Program(), "resume", string(id)},
		Env:  s.Variable(d.Where, "CODEX_HOME"),
	}, nil
}

// ids returns the ids of the thread and of the rollout in a name. Both are the same until the thread is reverted. Reverting begins
// another rollout; the one with the greatest id is current.
func ids(name string) (thread, rollout session.ID) {
	name = filepath.ToSlash(name)
	thread, _ = layout{}.Named(name)
	rollout, _ = layout{}.Kin(name, thread)
	return thread, rollout
}
