package pi

import "github.com/treeline-dev/treeline/dialect"

var _ dialect.Launcher = (*Dialect)(nil)

// Program is the name of the program.
func (d *Dialect) Program() string {
	if d.omp {
		return "omp"
	}
	return "pi"
}

// Launch opens a session by its path, which works wherever the file lies.
func (d *Dialect) Launch(s dialect.Launched) (dialect.Launch, error) {
	flag := "--session"
	if d.omp {
		flag = "--resume"
	}
	return dialect.Launch{Args: []string{d.Program(), flag, s.Path}}, nil
}
