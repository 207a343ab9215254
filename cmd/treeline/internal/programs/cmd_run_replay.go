package programs

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/console"
	"github.com/treeline-dev/treeline/internal/screen"
	runlog "github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/server/replay"
	"github.com/treeline-dev/treeline/wire"
)

// runReplayCommand prints the requests of a run, or answers an agent as the model did. Neither calls a model.
func runReplayCommand(a *cli.App) *cobra.Command {
	var (
		llm, serve bool
		addr       string
	)
	cmd := &cobra.Command{
		Use:   "replay [<run>] --llm | --serve",
		Short: "Show requests and responses, or stand in for the model",
		Long: "With --llm, print each request to the model as it was sent, with its response.\n\n" +
			"With --serve, answer an agent in the model's place: an HTTP endpoint on this machine, with the chat-completions API\n" +
			"that most agents can use, returns the recorded responses one after the other. If a request differs from the recorded\n" +
			"one, the first difference is printed, and set in the response header X-Treeline-Difference. The command ends when all\n" +
			"responses have been sent, or with Ctrl-C. The exit code is 1 if a request differed." + runHelp + runLastHelp,
		Example: "  treeline run replay @last --llm\n" +
			"  treeline run replay 51214102 --serve --addr 127.0.0.1:8080 & OPENAI_BASE_URL=http://127.0.0.1:8080/v1 my-agent",
		Args: cli.Args("[<run>]"),
		RunE: func(cmd *cobra.Command, given []string) error {
			switch {
			case llm == serve:
				return cli.Misused("exactly one of --llm and --serve is needed")
			case llm && cmd.Flags().Changed("addr"):
				return cli.Misused("--addr needs --serve")
			}
			if serve {
				var err error
				if addr, err = replay.Loopback(addr); err != nil {
					return cli.Misused("--addr: %w", err)
				}
			}
			r, err := openRun(cmd.Context(), a, runArgs(given)[0])
			if err != nil {
				return err
			}
			defer r.Close()
			if serve {
				return serveRun(cmd.Context(), a, r.Log, addr)
			}
			return a.Page(cmd.Context(), func(out *console.Output) error { return replayLLM(cmd.Context(), a, out, r.Log) })
		},
		ValidArgsFunction: CompleteRun(a),
	}
	cmd.Flags().BoolVar(&llm, "llm", false, "print requests and responses")
	cmd.Flags().BoolVar(&serve, "serve", false, "answer an agent with the recorded responses")
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:0", "with --serve: listen on `HOST:PORT`, on this machine only; port 0 is any free one")
	a.AddJSON(cmd)
	return cmd
}

func replayLLM(ctx context.Context, a *cli.App, out *console.Output, l *runlog.Log) error {
	list := l.Exchanges()
	if len(list) == 0 && !a.JSON {
		return replay.ErrEmpty
	}
	t := runTranscript(out, true)
	for _, x := range list {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		j, err := wire.NewExchange(x)
		switch {
		case err != nil:
		case a.JSON:
			err = wire.Write(out, j)
		default:
			err = t.Exchange(x, j)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// serveRun plays the model until the run is used up or ctx ends. The first line on stdout is the URL, so that a script
// can start an agent with it.
func serveRun(ctx context.Context, a *cli.App, l *runlog.Log, addr string) error {
	var printing error // the first error of stdout; the replay goes on even if nothing reads it
	tell := func(line string, v any) {
		err := a.Say(v, screen.OneLine(line, 0))
		if printing == nil && !console.ClosedPipe(err) {
			printing = err
		}
	}
	p, err := replay.New(l, func(s replay.Served) {
		line := fmt.Sprintf("request %d: as recorded", s.Seq)
		switch {
		case s.Error != "":
			line = fmt.Sprintf("request %d: %s", s.Seq, s.Error)
		case s.Difference != nil:
			line = fmt.Sprintf("request %d differs at %s", s.Seq, s.Difference.Describe("recorded", "got"))
		}
		tell(line, wire.Served(s))
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("--addr: %w", err)
	}
	url := "http://" + listener.Addr().String() + "/v1"
	tell(url, wire.Endpoint{URL: url})
	if printing != nil {
		return errors.Join(printing, listener.Close())
	}
	res, err := p.Serve(ctx, listener)
	if err != nil {
		return err
	}
	tell(fmt.Sprintf("%d of %s served, %d differed", res.Served, wire.Count(res.Requests, "request", "requests"), res.Differed), wire.Replayed(res))
	if printing == nil && res.Differed > 0 {
		return cli.Quiet("requests differed")
	}
	return printing
}
