package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/treeline-dev/treeline/internal/demo"
)

// WriteDemo writes the sessions of the demo to a folder of their own, which clean removes. Until then, a closed pipe is an error of the
// output, because the signal would end the program before the folder is removed.
func (a *App) WriteDemo(ctx context.Context) (dir string, clean func() error, err error) {
	if dir, err = os.MkdirTemp("", "treeline-demo-"); err != nil {
		return "", func() error { return nil }, err
	}
	a.Patience.Store(int64(2 * time.Second)) // time for removing it after an interruption
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	clean = func() error {
		signal.Stop(pipe)
		return os.RemoveAll(dir)
	}
	if err = demo.Write(ctx, dir, a.Now, a.Drivers()...); err != nil {
		err = fmt.Errorf("%s: %w", dir, err)
	}
	return dir, clean, err
}
