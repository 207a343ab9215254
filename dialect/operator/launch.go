package operator

import (
	"fmt"
	"path/filepath"

	"github.com/treeline-dev/treeline/dialect"
)

var _ dialect.Launcher = (*Dialect)(nil)

// Program is the name of the program.
func (d *Dialect) Program() string { return "operator" }

// Launch opens the file of a session, in the profile that it belongs to.
func (d *Dialect) Launch(s dialect.Launched) (dialect.Launch, error) {
	if d.header != typeHeader {
		return dialect.Launch{}, fmt.Errorf("resuming a session of %s is %w: the program of today does not read its header; convert it to %s", d.Called, dialect.ErrUnsupported, Operator.Called)
	}
	args := []string{d.Program(), "--repl"}
	if dir := filepath.Dir(s.Root.Sessions); filepath.Base(filepath.Dir(dir)) == "profiles" {
		args = append(args, "--profile", filepath.Base(dir))
	}
	return dialect.Launch{Args: append(args, "--session-file", s.Path)}, nil
}
