package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
	"github.com/treeline-dev/treeline/wire"
)

type appendFlags struct {
	role, text, message, entry string
	stdin                      bool
}

// appendCommand lets scripts and agents in any language write a session. An id is printed only when the entry is as
// durable as --sync asks, so that a line on stdout is a receipt.
func (a *app) appendCommand() *cobra.Command {
	var (
		f writeFlags
		w appendFlags
	)
	cmd := &cobra.Command{
		Use:        "append <session>",
		SuggestFor: []string{"add", "write"},
		Short:      "Append to a session",
		Long: "Append a message, or an entry of any kind, after the leaf. Print its id once it is as durable as --sync asks.\n\n" +
			"--message and --entry take the agent's own JSON; an entry gets a new id, parent and time. With --stdin, each line is\n" +
			"one of the two: an object with a type is an entry, one with a role is a message. Each is acknowledged by a line, in\n" +
			"order. The command stops at a line that is neither, and keeps what came before it." + sessionHelp,
		Example: "  treeline append @last --role user --text 'Go on.'\n" +
			"  treeline append 01a1dcc8 --message '{\"role\":\"user\",\"content\":\"Go on.\"}'\n" +
			"  my-agent | treeline append session.jsonl --stdin --sync always",
		Args: args("<session>"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := w.check(cmd); err != nil {
				return err
			}
			ctx := cmd.Context()
			return a.changing(ctx, args[0], &f, func(s *store.Session) error {
				if w.stdin {
					return a.appendLines(ctx, s)
				}
				done, err := w.append(ctx, s)
				if err != nil {
					return err
				}
				return a.acknowledge(s, done)
			})
		},
		ValidArgsFunction: a.completeSession,
	}
	f.add(a, cmd)
	f.addReplace(cmd)
	f.addUnchecked(cmd, "even a message without a role, or a compaction whose first kept entry is not before it")
	cmd.Flags().StringVar(&w.role, "role", "user", "the `ROLE` of --text: user or assistant")
	cmd.Flags().StringVar(&w.text, "text", "", "append a message with this `TEXT`")
	cmd.Flags().StringVar(&w.message, "message", "", "append the message `JSON`")
	cmd.Flags().StringVar(&w.entry, "entry", "", "append the entry `JSON`")
	cmd.Flags().BoolVar(&w.stdin, "stdin", false, "append messages and entries from standard input, one per line")
	return cmd
}

var roles = []string{"user", "assistant"}

// check wants exactly one source.
func (w *appendFlags) check(cmd *cobra.Command) error {
	switch {
	case len(changed(cmd, "text", "message", "entry", "stdin")) != 1:
		return misused("exactly one of --text, --message, --entry and --stdin is needed")
	case cmd.Flags().Changed("role") && !cmd.Flags().Changed("text"):
		return misused("--role needs --text")
	}
	return oneOf("role", w.role, roles)
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

// appendEntry accepts unknown types: an extension may have its own.
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

// appendLines appends lines from standard input until it ends. The first bad line ends it: later lines would get other
// parents than the writer meant.
func (a *app) appendLines(ctx context.Context, s *store.Session) error {
	kept := 0
	bad := func(number int, err error) error {
		if kept > 0 {
			return fmt.Errorf("line %d: %w; what came before it is kept (%s)", number, err, wire.Count(kept, "entry", "entries"))
		}
		return fmt.Errorf("line %d: %w", number, err)
	}
	for in := range inputLines(ctx, a.stdin) {
		if in.err != nil {
			return bad(in.number, in.err)
		}
		if len(bytes.TrimSpace(in.text)) == 0 {
			continue
		}
		done, err := appendLine(ctx, s, in.text)
		if err != nil {
			return bad(in.number, err)
		}
		kept++
		if err := a.acknowledge(s, done); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// inputLine is a line of input, or the error that ended it.
type inputLine struct {
	number int
	text   []byte
	err    error
}

// inputLines gives the lines of a stream until it ends or ctx does. A read from a pipe cannot be interrupted, so it has
// a goroutine, which may stay blocked in the read until the process ends.
func inputLines(ctx context.Context, r io.Reader) func(yield func(inputLine) bool) {
	return func(yield func(inputLine) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		lines := make(chan inputLine)
		go func() {
			defer close(lines)
			in := bufio.NewReaderSize(r, 64<<10)
			for number := 1; ; number++ {
				text, err := readLine(in, store.MaxRecord)
				// A last line without a newline counts.
				if len(text) == 0 && errors.Is(err, io.EOF) {
					return
				}
				l := inputLine{number, text, err}
				if errors.Is(err, io.EOF) {
					l.err = nil
				}
				select {
				case lines <- l:
				case <-ctx.Done():
					return
				}
				if err != nil {
					return
				}
			}
		}()
		for {
			select {
			case l, more := <-lines:
				if !more || !yield(l) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// readLine reads a line of at most so many bytes. The memory for a long one grows eightfold: what is not written to yet takes none,
// and little is left behind.
func readLine(in *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		size := len(line) + len(part)
		if size > most {
			return nil, fmt.Errorf("longer than the %s that an entry can have", wire.Size(int64(most)))
		}
		more := errors.Is(err, bufio.ErrBufferFull)
		if (more || line != nil) && size > cap(line) {
			line = append(make([]byte, 0, min(8*size, most)), line...)
		}
		if line = append(line, part...); !more {
			return bytes.TrimSuffix(line, []byte("\n")), err
		}
	}
}
