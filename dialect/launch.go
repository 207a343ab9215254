package dialect

import (
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/treeline-dev/treeline/session"
)

// Launcher is a Dialect of an agent whose program can be started so that it continues a session.
type Launcher interface {
	// Program is the name of the program.
	Program() string
	// Launch gives the command that continues a session. If the program would not find the session, or would refuse it, the error
	// wraps ErrUnsupported and says why.
	Launch(s Launched) (Launch, error)
}

// Agent names the agent of a dialect. An agent may have several dialects: wave, wave-doc and wave-legacy are those of Wave.
func Agent(d Dialect) string {
	if l, ok := d.(Launcher); ok {
		return l.Program()
	}
	name, _, _ := strings.Cut(d.Name(), "-")
	return name
}

// Launched is a session that a program is to continue.
type Launched struct {
	ID session.ID
	// Path is the path of the log, absolute.
	Path string
	// Root is the place of the agent that the log lies in; the zero Root if it lies in none.
	Root Root
	Env  Env
	// Names yields the names of the logs in Root, for programs that choose among several logs of one session. It must not be nil.
	Names iter.Seq[string]
}

// Launch is the command that continues a session.
type Launch struct {
	// Args are the program and its arguments. The last one names the session.
	Args []string
	// Env is what the program needs in its environment in addition: NAME=value.
	Env []string
	// Bound: the program finds the session only if it is started in the session's working directory.
	Bound bool
}

// Placed refuses a session outside the places where a program looks for sessions: those of the layout or, if an environment
// variable can name others, any place of the agent.
func (s Launched) Placed(program string, l Layout, variable bool) error {
	if s.Root.Sessions != "" && (variable || slices.Contains(l.Roots(s.Env), s.Root)) {
		return nil
	}
	return fmt.Errorf("resuming it in %s is %w: the program looks for sessions in its own folder only", program, ErrUnsupported)
}

// Variable returns the environment variable that a program needs to find a session, unless the session lies where the program would
// look first. Its value is the folder that holds the place.
func (s Launched) Variable(l Layout, name string) []string {
	if roots := l.Roots(s.Env); len(roots) > 0 && roots[0] == s.Root {
		return nil
	}
	return []string{name + "=" + filepath.Dir(s.Root.Sessions)}
}
