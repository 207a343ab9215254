package wave

import (
	"fmt"

	"github.com/treeline-dev/treeline/dialect"
)

var _ dialect.Launcher = (*Dialect)(nil)

// Program is the name of the program.
func (d *Dialect) Program() string { return "wave" }

// Launch restores a session by its id, which the program looks for in the folder of its working directory.
func (d *Dialect) Launch(s dialect.Launched) (dialect.Launch, error) {
	if !d.metadata {
		return dialect.Launch{}, fmt.Errorf("resuming a session of %s is %w: the program of today looks in another folder; convert it to %s", d.Called, dialect.ErrUnsupported, Wave.Called)
	}
	return dialect.Launch{Args: []string{d.Program(), "--restore", string(s.ID)}, Bound: true}, s.Placed(d.Program(), d.Where, false)
}
