package main

import (
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline"
	drivers "github.com/treeline-dev/treeline/backend/all"
	"github.com/treeline-dev/treeline/rpc"
	"github.com/treeline-dev/treeline/store"
)

// rpcCommand is how agents in other languages use the store. stdout belongs to the protocol alone; what there is
// to tell besides goes to stderr as a log. Unlike other commands that write it keeps track of which terminal uses
// which session, because here it stands in for the agent.
func (a *app) rpcCommand() *cobra.Command {
	var sync, onConflict string
	cmd := &cobra.Command{
		Use:   "rpc",
		Short: "Serve the store to a program in any language",
		Long: "Serve the store as JSON-RPC 2.0: one request per line on standard input, one answer per line on standard output.\n" +
			"The methods are in docs/rpc.md. When the input ends, all sessions are flushed and closed.",
		Example: `  echo '{"jsonrpc":"2.0","id":1,"method":"listAll"}' | treeline rpc`,
		Args:    args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			opt := rpc.Options{Write: store.WriteOptions{
				Durability: store.Durability(sync), Policy: store.Policy(onConflict),
				Log: slog.New(slog.NewTextHandler(a.stderr, nil)),
			}}
			if !slices.Contains(levels, sync) {
				return usageError{fmt.Errorf("--sync %q: it is %s", sync, anyOf(levels)), cmd}
			}
			if !slices.Contains(policies, onConflict) {
				return usageError{fmt.Errorf("--on-conflict %q: it is %s", onConflict, anyOf(policies)), cmd}
			}
			// without NoBreadcrumbs: see above
			s, err := treeline.New(treeline.Options{Backends: drivers.All(), Home: a.home(), Getenv: a.getenv})
			if err != nil {
				return err
			}
			// A client that goes away must not kill us before the sessions are closed: writing to it then fails instead.
			pipe := make(chan os.Signal, 1)
			signal.Notify(pipe, syscall.SIGPIPE)
			defer signal.Stop(pipe)
			return rpc.Serve(cmd.Context(), s, opt, a.stdin, a.stdout)
		},
	}
	cmd.Flags().StringVar(&sync, "sync", "flush", "what an append survives: none, flush or always")
	cmd.Flags().StringVar(&onConflict, "on-conflict", "branch", "when another program wrote first: branch, follow or refuse")
	return cmd
}
