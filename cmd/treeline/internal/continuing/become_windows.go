package continuing

import (
	"context"
	"errors"
	"os"
	"os/exec"

	"github.com/treeline-dev/treeline"
)

// become runs an agent until it ends, because Windows cannot replace a process.
func become(ctx context.Context, path string, c treeline.ResumeCommand) error {
	cmd := exec.CommandContext(ctx, path, c.Args[1:]...)
	cmd.Dir, cmd.Env = c.Dir, append(os.Environ(), c.Env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		os.Exit(exit.ExitCode())
	}
	return err
}
