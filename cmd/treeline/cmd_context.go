package main

import (
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/dialect"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// contextCommand answers the question that people have when a model behaves oddly: what did it see? It is computed
// by the rules of the session's agent (or of --dialect), compactions and edits applied. The JSON has the members
// of the agent's own context plus "problems", which is absent where there are none.
func (a *app) contextCommand() *cobra.Command {
	var (
		f    sessionFlags
		leaf string
		cwd  string
		opt  store.ContextOptions
	)
	cmd := &cobra.Command{
		Use:   "context <session>",
		Short: "Show what the model would see",
		Long: "Show the messages that the agent would send to the model at an entry, with the thinking level, models and mode\n" +
			"that hold there. Messages that the session has are printed byte for byte as they stand in it. codelia also tells the\n" +
			"model when a session goes on in another directory; see --cwd." + sessionHelp + entryHelp,
		Example: "  treeline context @last\n  treeline context session.jsonl --leaf 3f9a1c20 --json | jq '.messages | length'",
		Args:    args("<session>"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ref, leaf, err := oneLeaf(cmd, args[0], "leaf", leaf)
			if err != nil {
				return err
			}
			s, err := a.open(cmd.Context(), cmd, ref, f)
			if err != nil {
				return err
			}
			defer s.Close()
			at, err := leafOf(s, leaf)
			if err != nil {
				return err
			}
			// The default "." is the working directory: what is shown is what an agent started here would send.
			dir, err := filepath.Abs(cwd)
			if err != nil {
				return err
			}
			opt.Here = &dialect.Here{WorkDir: dir}
			return a.context(cmd.Context(), s, at, opt, f.json)
		},
		ValidArgsFunction: a.completeSession,
	}
	f.add(cmd)
	addLeaf(cmd, &leaf)
	cmd.Flags().StringVar(&cwd, "cwd", ".", "as if the session went on in the directory `DIR`")
	cmd.Flags().BoolVar(&opt.LLM, "llm", false, "print the messages as they go to the provider")
	cmd.Flags().BoolVar(&opt.DropFailed, "drop-failed", false, "leave out turns that failed or were aborted")
	cmd.Flags().BoolVar(&opt.StripDangling, "strip-dangling", false, "leave out tool calls without a result")
	cmd.Flags().BoolVar(&opt.NoBlobs, "no-blobs", false, "leave references to blobs as they are")
	return cmd
}

func (a *app) context(ctx context.Context, s *store.Session, leaf session.EntryID, opt store.ContextOptions, asJSON bool) error {
	// A copy: the tree's own list must not grow by what is found here.
	problems := slices.Clone(s.Tree().Problems())
	opt.Problem = func(p session.Problem) { problems = append(problems, p) }
	if !asJSON {
		opt.NoBlobs = true // pictures are named, not shown
	}
	c, err := s.Context(ctx, leaf, opt)
	if err != nil {
		return err
	}
	blobs := newBlobSizes(ctx, s)
	err = a.page(ctx, func(ctx context.Context, out *output) error {
		if asJSON {
			return writeContext(out, c, &problems)
		}
		return printContext(ctx, out, s, c, blobs)
	})
	// Behind the output, so that a pager does not cover them.
	a.problems(append(problems, blobs.problems...))
	return err
}

// printContext prints a context for people: what holds, and what was said.
// The size is that of the JSON, not of what a tokenizer would make of it.
func printContext(ctx context.Context, out *output, s *store.Session, c *session.Context, blobs *blobSizes) error {
	t := &transcript{out: out, label: func(session.EntryID) string { return "" }, blobSize: blobs.size, cwd: s.Header().CWD}
	for _, line := range stateLines(out.style, c) {
		t.line(line)
	}
	// so that a blank line separates what holds from what was said
	t.last = note
	count, size := 0, 0
	for m, err := range c.Messages() {
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		count++
		size += len(m.JSON)
		blobs.entry = m.Entry
		t.contextMessage(rawjson.Str(m.JSON, "role"), m.Entry, s.MessageParts(m.JSON))
	}
	t.begin(speech)
	t.line(out.style.dim(counted(count, "message", "messages") + ", " + byteSize(int64(size))))
	return nil
}

// stateLines say what holds at the leaf beside the messages.
func stateLines(st style, c *session.Context) []string {
	var lines []string
	add := func(name, value string) {
		lines = append(lines, st.dim(screen.Pad(name, 9, false))+" "+screen.OneLine(value, 0))
	}
	add("thinking", orElse(c.ThinkingLevel, "off"))
	if len(c.Models) == 0 {
		add("model", "none")
	}
	for _, m := range c.Models {
		value := orElse(m.Name, shortJSON(m.JSON, 80))
		if m.Role != "default" {
			value += " for " + m.Role
		}
		add("model", value)
	}
	add("mode", strings.TrimSpace(orElse(c.Mode, "none")+" "+shortJSON(c.ModeData, 80)))
	if len(c.TTSRRules) > 0 {
		add("rules", strings.Join(c.TTSRRules, ", "))
	}
	return lines
}

// writeContext prints a context as one object. Messages are copied as they are; all other members are short. The problems
// are looked at last: reading the messages may find more.
// Nothing is held back until the end, because a context may be as large as the session.
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
