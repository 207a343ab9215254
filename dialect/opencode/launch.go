package opencode

import (
	"fmt"
	"path/filepath"

	"github.com/treeline-dev/treeline/dialect"
)

var _ dialect.Launcher = (*Format)(nil)

// Program is the name of the program.
func (d *Format) Program() string { return "opencode" }

// Launch resumes a session by its id. The program does not read the files of older versions.
func (d *Format) Launch(s dialect.Launched) (dialect.Launch, error) {
	if d.Where.(layout).files {
		return dialect.Launch{}, fmt.Errorf("resuming it in %s is %w: the program reads its database only; a copy of the session can be resumed", d.Program(), dialect.ErrUnsupported)
	}
	if err := s.Placed(d.Program(), d.Where, true); err != nil {
		return dialect.Launch{}, err
	}
	l := dialect.Launch{Args: []string{d.Program(), "--session", string(s.ID)}}
	if roots := d.Where.Roots(s.Env); roots[0] != s.Root {
		l.Env = []string{"OPENCODE_DB=" + filepath.Clean(s.Root.Sessions)}
	}
	return l, nil
}
