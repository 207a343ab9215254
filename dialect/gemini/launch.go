package gemini

import (
	"fmt"
	"path/filepath"

	"github.com/treeline-dev/treeline/dialect"
)

var _ dialect.Launcher = (*Dialect)(nil)

// Program is the name of the program.
func (d *Dialect) Program() string { return "gemini" }

// Launch resumes a session by its id. The program looks only in the folder of the working directory.
func (d *Dialect) Launch(s dialect.Launched) (dialect.Launch, error) {
	if !(layout{}).Main(filepath.ToSlash(s.Path)) {
		return dialect.Launch{}, fmt.Errorf("resuming the session of a sub-agent is %w; resume the session that started it", dialect.ErrUnsupported)
	}
	if err := s.Placed(d.Program(), d.Where, true); err != nil {
		return dialect.Launch{}, err
	}
	launch := dialect.Launch{Args: []string{d.Program(), "--resume", string(s.ID)}, Bound: true}
	if roots := (layout{}).Roots(s.Env); roots[0] != s.Root {
		launch.Env = []string{"GEMINI_CLI_HOME=" + filepath.Dir(filepath.Dir(s.Root.Sessions))}
	}
	return launch, nil
}
