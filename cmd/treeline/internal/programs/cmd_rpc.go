package programs

import (
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/history"
	"github.com/treeline-dev/treeline/rpc"
	"github.com/treeline-dev/treeline/store"
)

// RPC serves agents in other languages. The protocol uses stdout; logs are written to stderr. Unlike other commands, it records which
// terminal uses which session, since it acts on behalf of the agent.
func RPC(a *cli.App) *cobra.Command {
	var f cli.DurableFlags
	cmd := &cobra.Command{
		Use:   "rpc",
		Short: "Serve the store to a program in any language",
		Long: "Serve the store as JSON-RPC 2.0: one request per line on standard input, one response per line on standard output.\n" +
			"docs/rpc.md lists the methods. When the input ends, all sessions are flushed and closed.",
		Example: `  echo '{"jsonrpc":"2.0","id":1,"method":"catalogue"}' | treeline rpc`,
		Args:    cli.Args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			write, err := f.Options()
			if err != nil {
				return err
			}
			write.Log = slog.New(slog.NewTextHandler(a.Stderr, nil))
			// A client that did not subscribe to events might never learn of it.
			write.Observer = func(e store.Event) {
				if e.Kind == store.EventHeld || e.Kind == store.EventRepaired {
					write.Log.Warn(e.Problem.String())
				}
			}
			opt := a.Options()
			opt.NoBreadcrumbs, opt.Piped = false, true
			s, err := a.Opened(opt)
			if err != nil {
				return err
			}
			// A client that goes away must not kill the process before the sessions are closed.
			pipe := make(chan os.Signal, 1)
			signal.Notify(pipe, syscall.SIGPIPE)
			defer signal.Stop(pipe)
			a.Awaits("requests")
			return rpc.Serve(cmd.Context(), s, rpc.Options{
				Write: write, Version: cli.ThisVersion(),
				History: history.Options{
					State: treeline.StateDir(a.Home(), a.Getenv), Cache: treeline.CacheDir(a.Home(), a.Getenv), Notice: a.Notice,
				},
			}, a.Stdin, a.Stdout)
		},
	}
	f.Add(cmd)
	return cmd
}
