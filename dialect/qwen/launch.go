package qwen

import (
	"fmt"
	"path/filepath"

	"github.com/treeline-dev/treeline/dialect"
)

var _ dialect.Launcher = (*Dialect)(nil)

// Program is the name of the program.
func (d *Dialect) Program() string { return "qwen" }

// Launch resumes a session by its id. The program looks in the folder of the working directory, and refuses a session whose
// first line names another directory.
func (d *Dialect) Launch(s dialect.Launched) (dialect.Launch, error) {
	if !(layout{}).Main(filepath.ToSlash(s.Path)) {
		return dialect.Launch{}, fmt.Errorf("resuming the session of a sub-agent is %w; resume the session that started it", dialect.ErrUnsupported)
	}
	if filepath.Base(filepath.Dir(s.Path)) == archive {
		return dialect.Launch{}, fmt.Errorf("resuming it in %s is %w while it is archived", d.Program(), dialect.ErrUnsupported)
	}
	if err := s.Placed(d.Program(), d.Where, true); err != nil {
		return dialect.Launch{}, err
	}
	return dialect.Launch{
		Args: []string{d.Program(), "--resume", string(s.ID)},
		Env:  s.Variable(d.Where, "QWEN_RUNTIME_DIR"), Bound: true,
	}, nil
}
