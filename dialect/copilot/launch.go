package copilot

import (
	"fmt"
	"path/filepath"

	"github.com/treeline-dev/treeline/dialect"
)

var _ dialect.Launcher = (*Dialect)(nil)

// Program is the name of the program.
func (d *Dialect) Program() string { return "copilot" }

// Launch resumes a session by its id, which is the name of its folder. The program finds it from any directory.
func (d *Dialect) Launch(s dialect.Launched) (dialect.Launch, error) {
	if err := s.Placed(d.Program(), d.Where, true); err != nil {
		return dialect.Launch{}, err
	}
	if id, _ := (layout{}).Named(filepath.ToSlash(s.Path)); id != s.ID {
		return dialect.Launch{}, fmt.Errorf("resuming it in %s is %w: the folder of the session has another name than the session", d.Program(), dialect.ErrUnsupported)
	}
	return dialect.Launch{
		Args: []string{d.Program(), "--resume", string(s.ID)},
		Env:  s.Variable(d.Where, "COPILOT_HOME"),
	}, nil
}
