package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/internal/screen"
	runlog "github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/server/replay"
	"github.com/treeline-dev/treeline/wire"
)

// runReplayCommand prints the requests of a run, or answers an agent as the model did. Neither calls a model.
func (a *app) runReplayCommand() *cobra.Command {
	var (
		llm, serve bool
		addr       string
	)
	cmd := &cobra.Command{
		Use:   "replay <run> --llm | --serve",
		Short: "Show requests and responses, or stand in for the model",
		Long: "With --llm, print each request to the model as it was sent, with its response.\n\n" +
			"With --serve, answer an agent in the model's place: an HTTP endpoint on this machine, with the chat-completions API\n" +
			"that most agents can use, returns the recorded responses one after the other. If a request differs from the recorded\n" +
			"one, the first difference is printed, and set in the response header X-Treeline-Difference. The command ends when all\n" +
			"responses have been sent, or with Ctrl-C. The exit code is 1 if a request differed." + runHelp,
		Example: "  treeline run replay @last --llm\n" +
			"  treeline run replay 8f1d7b7a --serve --addr 127.0.0.1:8080 & OPENAI_BASE_URL=http://127.0.0.1:8080/v1 my-agent",
		Args: args("<run>"),
		RunE: func(cmd *cobra.Command, given []string) error {
			switch {
			case llm == serve:
				return misused("exactly one of --llm and --serve is needed")
			case llm && cmd.Flags().Changed("addr"):
				return misused("--addr needs --serve")
			}
			if serve {
				var err error
				if addr, err = replay.Loopback(addr); err != nil {
					return misused("--addr: %w", err)
				}
			}
			r, err := a.openRun(cmd.Context(), given[0])
			if err != nil {
				return err
			}
			defer r.Close()
			if serve {
				return a.serveRun(cmd.Context(), r.Log, addr)
			}
			return a.page(cmd.Context(), func(out *output) error { return a.replayLLM(cmd.Context(), out, r.Log) })
		},
		ValidArgsFunction: a.completeRun,
	}
	cmd.Flags().BoolVar(&llm, "llm", false, "print requests and responses")
	cmd.Flags().BoolVar(&serve, "serve", false, "answer an agent with the recorded responses")
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:0", "with --serve: listen on `HOST:PORT`, on this machine only; port 0 is any free one")
	a.addJSON(cmd)
	return cmd
}

func (a *app) replayLLM(ctx context.Context, out *output, l *runlog.Log) error {
	list := l.Exchanges()
	if len(list) == 0 && !a.json {
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
		case a.json:
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
func (a *app) serveRun(ctx context.Context, l *runlog.Log, addr string) error {
	var printing error // the first error of stdout; the replay goes on without a reader
	tell := func(line string, v any) {
		err := a.say(v, screen.OneLine(line, 0))
		if printing == nil && !closedPipe(err) {
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
		return quietError{errors.New("requests differed")}
	}
	return printing
}
