package codex

import (
	"fmt"
	"path/filepath"

	"github.com/treeline-dev/treeline/dialect"
)

var _ dialect.Launcher = (*Dialect)(nil)

// archive is the folder of archived sessions.
const archive = "archived_sessions"

// Program is the name of the program.
func (d *Dialect) Program() string { return "codex" }

// Launch resumes a session by the id in the name of its file, where the program looks for it. The program refuses a session that is archived.
func (d *Dialect) Launch(s dialect.Launched) (dialect.Launch, error) {
	if filepath.Base(filepath.Dir(s.Path)) == archive {
		return dialect.Launch{}, fmt.Errorf("resuming it in %s is %w while it is archived; codex unarchive %s puts it back", d.Program(), dialect.ErrUnsupported, s.ID)
	}
	if err := s.Placed(d.Program(), d.layout, true); err != nil {
		return dialect.Launch{}, err
	}
	id := s.ID
	if named, _ := d.layout.Named(filepath.ToSlash(s.Path)); named != "" {
		id = named
	}
	return dialect.Launch{
		Args: []string{d.Program(), "resume", string(id)},
		Env:  s.Variable(d.layout, "CODEX_HOME"),
	}, nil
}
