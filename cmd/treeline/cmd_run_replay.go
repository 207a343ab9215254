package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/dialect/codelia"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/screen"
	runlog "github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/session"
)

// runReplayCommand has two ways to play a run again: to read, and to answer an agent as the model did
// (cmd_run_serve.go). Neither calls a model.
func (a *app) runReplayCommand() *cobra.Command {
	var (
		llm, serve, asJSON bool
		addr               string
	)
	cmd := &cobra.Command{
		Use:   "replay <run> --llm | --serve",
		Short: "Show what went to the model and back, or play the model",
		Long: "With --llm print each request to the model, as it was sent, with the response to it.\n\n" +
			"With --serve answer an agent in the model's place: an HTTP endpoint on this machine, in the form of the chat-completions\n" +
			"interface that most agents can be pointed to, gives the recorded responses one after the other. Where a request\n" +
			"differs from the recorded one the first difference is named, on a line and in the header X-Treeline-Difference of the answer.\n" +
			"The command ends when the run is used up, or with Ctrl-C; the exit code is 1 where a request differed." + runHelp,
		Example: "  treeline run replay @last --llm\n" +
			"  treeline run replay 8f1d7b7a --serve --addr 127.0.0.1:8080 & OPENAI_BASE_URL=http://127.0.0.1:8080/v1 my-agent",
		Args: args("<run>"),
		RunE: func(cmd *cobra.Command, given []string) error {
			switch {
			case llm == serve:
				return errNothing(cmd, "--llm or --serve: one of them")
			case llm && cmd.Flags().Changed("addr"):
				return errNothing(cmd, "--addr goes with --serve")
			}
			// Checked before the run is opened: a mistake in the command line is told at once.
			if serve {
				var err error
				if addr, err = loopback(addr); err != nil {
					return usageError{err, cmd}
				}
			}
			r, err := a.openRun(cmd.Context(), given[0])
			if err != nil {
				return err
			}
			defer r.Close()
			if serve {
				return a.serveRun(cmd.Context(), r.Log, addr, asJSON)
			}
			return a.page(cmd.Context(), func(ctx context.Context, out *output) error {
				return replayLLM(ctx, out, r.Log, asJSON)
			})
		},
		ValidArgsFunction: a.completeRun,
	}
	cmd.Flags().BoolVar(&llm, "llm", false, "print requests and responses")
	cmd.Flags().BoolVar(&serve, "serve", false, "answer an agent with the recorded responses")
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:0", "with --serve: the `HOST:PORT` to listen on, which must be this machine; port 0 is any")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// exchangeJSON is a request with its response, as they stand in the log.
// It is a stable format; request and response are the records byte for byte, response null where there is none.
type exchangeJSON struct {
	Seq      int64           `json:"seq"`
	Request  json.RawMessage `json:"request"`
	Response json.RawMessage `json:"response"`
}

// replayLLM prints each request with its response.
func replayLLM(ctx context.Context, out *output, l *runlog.Log, asJSON bool) error {
	t := &transcript{out: out, all: true, label: func(session.EntryID) string { return "" }, blobSize: func(string) int64 { return -1 }}
	list := l.Exchanges()
	if len(list) == 0 && !asJSON {
		return errors.New("the run has no request to a model")
	}
	for _, x := range list {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		request, err := x.Request.Raw()
		if err != nil {
			return err
		}
		// null in the JSON: a program need not ask whether the member is there
		response := []byte("null")
		if x.Answered {
			if response, err = x.Response.Raw(); err != nil {
				return err
			}
		}
		if asJSON {
			if err := writeJSON(out, exchangeJSON{x.Seq, request, response}); err != nil {
				return err
			}
			continue
		}
		if err := t.exchange(x, request, response); err != nil {
			return err
		}
	}
	return nil
}

// exchange prints what was sent in full, each time: requests repeat the conversation, and the question is mostly
// what was different in one of them.
func (t *transcript) exchange(x runlog.Exchange, request, response []byte) error {
	st := t.out.style
	sent, received, err := x.Messages()
	if err != nil {
		return err
	}
	model := orElse(rawjson.Str(rawjson.Get(request, "input"), "model"), rawjson.Str(rawjson.Get(request, "model"), "name"))
	t.header(speech, st.mark("1;35", fmt.Sprintf("━━ request %d", x.Seq)),
		st.dim("· "+counted(len(sent), "message", "messages")+" · "+screen.OneLine(orElse(model, "?"), 60)))
	if at := runlog.Late(sent, received); at < len(sent) {
		t.line(indent + st.yellow(fmt.Sprintf("from message %d on it holds what was only answered: it was written down too late", at)))
	}
	t.messages(sent)
	if !x.Answered {
		t.header(speech, st.mark("1;31", fmt.Sprintf("━━ no response %d", x.Seq)))
		return nil
	}
	stop := rawjson.Str(rawjson.Get(response, "output"), "stop_reason")
	t.header(speech, st.mark("1;35", fmt.Sprintf("━━ response %d", x.Seq)), st.dim("· "+screen.OneLine(orElse(stop, "?"), 40)))
	t.messages(received)
	return nil
}

// messages prints messages that stand in no entry of their own.
// The parts are read as codelia writes them, the only program whose runs have this form; others that record do it
// through us.
func (t *transcript) messages(list [][]byte) {
	for _, m := range list {
		parts := codelia.MessageParts(m)
		if len(parts) == 1 {
			if r, ok := parts[0].(session.ToolResult); ok {
				t.begin(result)
				t.result(r, indent)
				continue
			}
		}
		t.header(speech, t.speaker(rawjson.Str(m, "role")))
		t.parts(parts, indent, true)
	}
}
