package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

func (a *app) contextCommand() *cobra.Command {
	var (
		f    sessionFlags
		leaf string
		opt  store.ContextOptions
	)
	cmd := &cobra.Command{
		Use:   "context <session>",
		Short: "Show what the model would see",
		Long: "Show the messages that the agent would send to the model at an entry, with the thinking level, models and mode\n" +
			"that hold there. Messages that the session has are printed byte for byte as they stand in it." + sessionHelp,
		Example: "  treeline context @last\n  treeline context session.jsonl --leaf 3f9a1c20 --json | jq '.messages | length'",
		Args:    args("<session>"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.open(cmd.Context(), cmd, args[0], f)
			if err != nil {
				return err
			}
			defer s.Close()
			at, err := leafOf(s, leaf)
			if err != nil {
				return err
			}
			return a.context(cmd.Context(), s, at, opt, f.json)
		},
		ValidArgsFunction: a.completeSession,
	}
	f.add(cmd)
	addLeaf(cmd, &leaf)
	cmd.Flags().BoolVar(&opt.LLM, "llm", false, "print the messages as they go to the provider")
	cmd.Flags().BoolVar(&opt.DropFailed, "drop-failed", false, "leave out turns that failed or were aborted")
	cmd.Flags().BoolVar(&opt.StripDangling, "strip-dangling", false, "leave out tool calls without a result")
	cmd.Flags().BoolVar(&opt.NoBlobs, "no-blobs", false, "leave references to blobs as they are")
	return cmd
}

func (a *app) context(ctx context.Context, s *store.Session, leaf session.EntryID, opt store.ContextOptions, asJSON bool) error {
	problems := s.Tree().Problems()
	opt.Problem = func(p session.Problem) { problems = append(problems, p) }
	c, err := s.Context(ctx, leaf, opt)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(a.stdout, 64<<10)
	if asJSON {
		err = writeContext(w, c, &problems)
	}
	if flushErr := w.Flush(); err == nil {
		err = flushErr
	}
	a.problems(problems)
	return err
}

// writeContext prints a context as one object. Messages are copied as they are; all other members are short. The problems
// are looked at last: reading the messages may find more.
func writeContext(w io.Writer, c *session.Context, problems *[]session.Problem) error {
	if _, err := io.WriteString(w, `{"messages":[`); err != nil {
		return err
	}
	first := true
	for m, err := range c.Messages() {
		if err != nil {
			return err
		}
		if !first {
			if _, err := io.WriteString(w, ","); err != nil {
				return err
			}
		}
		first = false
		if _, err := w.Write(m.JSON); err != nil {
			return err
		}
	}
	rest := c.AppendState([]byte("],"))
	if len(*problems) > 0 {
		list, err := json.Marshal(*problems)
		if err != nil {
			return err
		}
		rest = append(append(rest, `,"problems":`...), list...)
	}
	_, err := w.Write(append(rest, '}', '\n'))
	return err
}
