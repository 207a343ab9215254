package crush

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/treeline-dev/treeline/dialect"
)

var _ dialect.Launcher = (*Dialect)(nil)

// Program is the name of the program.
func (d *Dialect) Program() string { return "crush" }

// Launch resumes a session by its id, in the project.
func (d *Dialect) Launch(s dialect.Launched) (dialect.Launch, error) {
	if err := s.Placed(d.Program(), d.Where, true); err != nil {
		return dialect.Launch{}, err
	}
	if strings.Contains(string(s.ID), "$$") {
		return dialect.Launch{}, fmt.Errorf("resuming it in %s is %w: the program does not continue the session of a sub-agent", d.Program(), dialect.ErrUnsupported)
	}
	l := dialect.Launch{Args: []string{d.Program()}, Bound: true}
	if at := s.Root.Sessions; filepath.Ext(at) == ".db" {
		l.Args = append(l.Args, "--data-dir", filepath.Dir(at))
	}
	l.Args = append(l.Args, "--session", string(s.ID))
	return l, nil
}
