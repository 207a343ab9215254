//go:build unix

package continuing

import (
	"context"
	"fmt"
	"os"
	"syscall"

	"github.com/treeline-dev/treeline"
)

// become replaces this process with an agent, which gets the terminal and the signals, and sets the exit code.
func become(_ context.Context, path string, c treeline.ResumeCommand) error {
	if c.Dir != "" {
		if err := os.Chdir(c.Dir); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: %w", path, syscall.Exec(path, c.Args, append(os.Environ(), c.Env...)))
}
