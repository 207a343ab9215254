package writing

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/cmd/treeline/internal/cli"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

type appendFlags struct {
	role, text, message, entry string
	stdin                      bool
}

// Append lets scripts and agents in any language write a session. It prints an id only when the entry is as durable as --sync requires, so
// that a line on stdout is a receipt.
func Append(a *cli.App) *cobra.Command {
	var (
		f cli.WriteFlags
		w appendFlags
	)
	cmd := &cobra.Command{
		Use:        "append <session>",
		SuggestFor: []string{"add", "write"},
		Short:      "Append to a session",
		Long: "Append a message, or an entry of any kind, after the leaf. Print its id once it is as durable as --sync asks.\n\n" +
			"--message and --entry take the agent's own JSON; an entry gets a new id, parent and time. With --stdin, each line is\n" +
			"one of the two: an object with a type is an entry, one with a role is a message. Each is acknowledged by a line, in\n" +
			"order. The command stops at a line that is neither, and keeps what came before it." + cli.SessionHelp,
		Example: "  treeline append @last --role user --text 'Go on.'\n" +
			"  treeline append 01a1df83 --message '{\"role\":\"user\",\"content\":\"Go on.\"}'\n" +
			"  my-agent | treeline append session.jsonl --stdin --sync always",
		Args: cli.Args("<session>"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := w.check(cmd); err != nil {
				return err
			}
			ctx := cmd.Context()
			return changing(ctx, a, args[0], &f, func(s *store.Session) error {
				if w.stdin {
					return appendLines(ctx, a, s)
				}
				done, err := w.append(ctx, s)
				if err != nil {
					return err
				}
				return acknowledge(a, s, done)
			})
		},
		ValidArgsFunction: a.CompleteSession,
	}
	f.Add(a, cmd)
	f.AddReplace(cmd)
	f.AddUnchecked(cmd, "even an entry without its message, a message without a role, text that is not UTF-8, or a\ncompaction whose first kept entry is not before it")
	cmd.Flags().StringVar(&w.role, "role", "user", "the `ROLE` of --text: user or assistant")
	cmd.Flags().StringVar(&w.text, "text", "", "append a message with this `TEXT`")
	cmd.Flags().StringVar(&w.message, "message", "", "append the message `JSON`")
	cmd.Flags().StringVar(&w.entry, "entry", "", "append the entry `JSON`")
	cmd.Flags().BoolVar(&w.stdin, "stdin", false, "append messages and entries from standard input, one per line")
	return cmd
}

// Roles are the values of --role.
var Roles = []string{"user", "assistant"}

// check requires exactly one source of entries.
func (w *appendFlags) check(cmd *cobra.Command) error {
	switch {
	case len(cli.Changed(cmd, "text", "message", "entry", "stdin")) != 1:
		return cli.Misused("exactly one of --text, --message, --entry and --stdin is needed")
	case cmd.Flags().Changed("role") && !cmd.Flags().Changed("text"):
		return cli.Misused("--role needs --text")
	}
	return cmp.Or(cli.OneOf("role", w.role, Roles), cli.CheckText("--text", w.text))
}

func (w *appendFlags) append(ctx context.Context, s *store.Session) (store.Appended, error) {
	switch {
	case w.message != "":
		return s.AppendMessage(ctx, []byte(w.message))
	case w.entry != "":
		return appendEntry(ctx, s, []byte(w.entry))
	case w.role == "assistant":
		return s.AppendText(ctx, session.RoleAssistant, w.text)
	}
	return s.AppendText(ctx, session.RoleUser, w.text)
}

// appendEntry accepts unknown types, since an extension may have types of its own.
func appendEntry(ctx context.Context, s *store.Session, record []byte) (store.Appended, error) {
	if !rawjson.IsObject(record) || !rawjson.Valid(record) || rawjson.Str(record, "type") == "" {
		return store.Appended{}, errors.New("not an entry: it must be a JSON object with a type")
	}
	return s.AppendRecord(ctx, record)
}

func appendLine(ctx context.Context, s *store.Session, line []byte) (store.Appended, error) {
	switch {
	case !rawjson.IsObject(line) || !rawjson.Valid(line):
		return store.Appended{}, errors.New("not a JSON object")
	case rawjson.Get(line, "type") != nil:
		return appendEntry(ctx, s, line)
	case rawjson.Get(line, "role") != nil:
		return s.AppendMessage(ctx, line)
	}
	return store.Appended{}, errors.New("neither an entry nor a message: it has no type and no role")
}

// appendLines appends lines from standard input until it ends. It stops at the first invalid line: later lines would get other parents than
// intended.
func appendLines(ctx context.Context, a *cli.App, s *store.Session) error {
	kept := 0
	bad := func(number int, err error) error {
		if kept > 0 {
			return fmt.Errorf("line %d: %w; what came before it is kept (%s)", number, err, wire.Count(kept, "entry", "entries"))
		}
		return fmt.Errorf("line %d: %w", number, err)
	}
	a.Awaits("messages and entries")
	for in := range cli.InputLines(ctx, a.Stdin) {
		if in.Err != nil {
			return bad(in.Number, in.Err)
		}
		if len(bytes.TrimSpace(in.Text)) == 0 {
			continue
		}
		done, err := appendLine(ctx, s, in.Text)
		if err != nil {
			return bad(in.Number, err)
		}
		kept++
		if err := acknowledge(a, s, done); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
