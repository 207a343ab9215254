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
)

// appendFlags say what is appended: one of them.
type appendFlags struct {
	role, text, message, entry string
	stdin                      bool
}

// appendCommand lets a script, or an agent in any language, write a session that its own program then reads. An id
// is printed only when the entry is as durable as --sync promises, so a line on stdout can be taken for a receipt.
func (a *app) appendCommand() *cobra.Command {
	var (
		f writeFlags
		w appendFlags
	)
	cmd := &cobra.Command{
		Use:   "append <session>",
		Short: "Add to a session",
		Long: "Add a message, or an entry of any kind, behind the leaf, and print its id when it is as durable as --sync says.\n\n" +
			"--message and --entry take the agent's own JSON; of an entry the id, the parent and the time are made anew. With --stdin\n" +
			"each line is one of them: an object with a type is an entry, one with a role a message. Each is acknowledged by a line,\n" +
			"in order. At a line that is neither the command ends; what came before it is kept." + sessionHelp,
		Example: "  treeline append @last --role user --text 'Go on.'\n" +
			"  treeline append 01a1dcc8 --message '{\"role\":\"user\",\"content\":\"Go on.\"}'\n" +
			"  my-agent | treeline append session.jsonl --stdin --sync always",
		Args: args("<session>"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := w.check(cmd); err != nil {
				return err
			}
			return a.changing(cmd, args[0], f, func(ctx context.Context, s *store.Session) error {
				if w.stdin {
					return a.appendLines(ctx, s, f.json)
				}
				done, err := w.append(ctx, s)
				if err != nil {
					return err
				}
				return a.acknowledge(s, done, f.json)
			})
		},
		ValidArgsFunction: a.completeSession,
	}
	f.add(cmd)
	f.addReplace(cmd)
	cmd.Flags().StringVar(&w.role, "role", "user", "who says --text: `ROLE` user or assistant")
	cmd.Flags().StringVar(&w.text, "text", "", "add a message that says `TEXT`")
	cmd.Flags().StringVar(&w.message, "message", "", "add the message `JSON`")
	cmd.Flags().StringVar(&w.entry, "entry", "", "add the entry `JSON`")
	cmd.Flags().BoolVar(&w.stdin, "stdin", false, "add messages and entries from standard input, one on each line")
	_ = cmd.RegisterFlagCompletionFunc("role", cobra.FixedCompletions([]string{"user", "assistant"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// check wants one thing to append.
// Given counts, not what is in it: --text ” is an empty message, which is legal.
func (w *appendFlags) check(cmd *cobra.Command) error {
	n := 0
	for _, name := range []string{"text", "message", "entry", "stdin"} {
		if cmd.Flags().Changed(name) {
			n++
		}
	}
	switch {
	case n != 1:
		return errNothing(cmd, "one of --text, --message, --entry and --stdin is needed")
	case cmd.Flags().Changed("role") && !cmd.Flags().Changed("text"):
		return errNothing(cmd, "--role is for --text")
	case w.role != "user" && w.role != "assistant":
		return errNothing(cmd, fmt.Sprintf("--role %q: it is user or assistant", w.role))
	}
	return nil
}

// The order does not matter: check has made sure that there is only one.
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

// appendEntry looks only whether it can be an entry at all. Kinds that nobody knows are taken: an extension may
// have its own.
func appendEntry(ctx context.Context, s *store.Session, record []byte) (store.Appended, error) {
	if !rawjson.IsObject(record) || !rawjson.Valid(record) || rawjson.Str(record, "type") == "" {
		return store.Appended{}, errors.New("an entry is a JSON object with a type")
	}
	return s.AppendRecord(ctx, record)
}

// appendLine takes an entry or a message, whatever it is.
func appendLine(ctx context.Context, s *store.Session, line []byte) (store.Appended, error) {
	switch {
	case !rawjson.IsObject(line) || !rawjson.Valid(line):
		return store.Appended{}, errors.New("it is not a JSON object")
	case rawjson.Get(line, "type") != nil:
		return appendEntry(ctx, s, line)
	case rawjson.Get(line, "role") != nil:
		return s.AppendMessage(ctx, line)
	}
	return store.Appended{}, errors.New("it has neither a type nor a role: it is no entry and no message")
}

// appendLines appends what comes from standard input until it ends.
// The first bad line ends it. Going on would acknowledge lines whose parents are not what the writer meant.
func (a *app) appendLines(ctx context.Context, s *store.Session, asJSON bool) error {
	kept := 0
	bad := func(number int, err error) error {
		if kept > 0 {
			return fmt.Errorf("line %d: %w; what came before it is kept (%s)", number, err, counted(kept, "entry", "entries"))
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
		if err := a.acknowledge(s, done, asJSON); err != nil {
			return err
		}
	}
	// input that was cut off by Ctrl-C has no error of its own
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// inputLine is a line of input, or why there are no more.
type inputLine struct {
	number int
	text   []byte
	err    error
}

// inputLines gives the lines of a stream until it ends or nobody wants more. Whoever waits for a line can be interrupted.
// A read from a terminal or pipe cannot be interrupted, so it has a goroutine, which may stay behind in a read
// until the process ends.
func inputLines(ctx context.Context, r io.Reader) func(yield func(inputLine) bool) {
	return func(yield func(inputLine) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		lines := make(chan inputLine)
		go func() {
			defer close(lines)
			in := bufio.NewReaderSize(r, 64<<10)
			for number := 1; ; number++ {
				text, err := readLine(in)
				// A last line without a newline counts; what ends with one has no empty line behind it.
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

// readLine reads a line of any length that an entry can have.
// The limit is that of a record that can be read again: a line that we take and cannot give back would be lost.
func readLine(in *bufio.Reader) ([]byte, error) {
	var text []byte
	for {
		part, err := in.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case len(text) > store.MaxRecord:
			return nil, fmt.Errorf("it is longer than the %s that an entry can have", byteSize(store.MaxRecord))
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		}
		return bytes.TrimSuffix(text, []byte("\n")), err
	}
}
