package goose

import (
	"fmt"
	"path/filepath"

	"github.com/treeline-dev/treeline/dialect"
)

var _ dialect.Launcher = (*Dialect)(nil)

// Program is the name of the program.
func (d *Dialect) Program() string { return "goose" }

// Launch resumes a session by its id.
func (d *Dialect) Launch(s dialect.Launched) (dialect.Launch, error) {
	if err := s.Placed(d.Program(), d.Where, true); err != nil {
		return dialect.Launch{}, err
	}
	l := dialect.Launch{Args: []string{d.Program(), "session", "--resume", "--session-id", string(s.ID)}}
	if (layout{}).Roots(s.Env)[0] == s.Root {
		return l, nil
	}
	data := filepath.Dir(filepath.Dir(s.Root.Sessions))
	if filepath.Base(data) != "data" || filepath.Join(data, database) != filepath.Clean(s.Root.Sessions) {
		return dialect.Launch{}, fmt.Errorf("resuming it in %s is %w: the program looks for its database only in data/sessions below a folder that %s names",
			d.Program(), dialect.ErrUnsupported, pathRoot)
	}
	l.Env = []string{pathRoot + "=" + filepath.Dir(data)}
	return l, nil
}
