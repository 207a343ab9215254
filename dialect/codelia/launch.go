package codelia

import "github.com/treeline-dev/treeline/dialect"

var _ dialect.Launcher = (*StateDialect)(nil)

// Program is the name of the program.
func (d *StateDialect) Program() string { return "codelia" }

// Launch resumes a session by its id.
func (d *StateDialect) Launch(s dialect.Launched) (dialect.Launch, error) {
	return dialect.Launch{Args: []string{d.Program(), "--resume", string(s.ID)}}, s.Placed(d.Program(), d.Where, false)
}
