package claude

import (
	"fmt"
	"path/filepath"

	"github.com/treeline-dev/treeline/dialect"
)

var _ dialect.Launcher = (*Dialect)(nil)

// Program is the name of the program.
func (d *Dialect) Program() string { return "claude" }

// Launch resumes a session by its id, wherever it lies in the program's folder. A log elsewhere is resumed by its path: the
// program leaves that log alone and continues in a new one beside it.
func (d *Dialect) Launch(s dialect.Launched) (dialect.Launch, error) {
	if filepath.Base(filepath.Dir(s.Path)) == "subagents" {
		return dialect.Launch{}, fmt.Errorf("resuming the session of a sub-agent is %w; resume the session that started it", dialect.ErrUnsupported)
	}
	if s.Root.Sessions == "" {
		return dialect.Launch{Args: []string{d.Program(), "--resume", s.Path}}, nil
	}
	return dialect.Launch{
		Args: []string{d.Program(), "--resume", string(s.ID)},
		Env:  s.Variable(d.Where, "CLAUDE_CONFIG_DIR"),
	}, nil
}
