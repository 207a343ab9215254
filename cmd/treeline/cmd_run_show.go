package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/treeline-dev/treeline/dialect/codelia"
	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/screen"
	runlog "github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/store"
)

// runShowCommand plays what the user saw, not what the log holds: requests, responses and raw outputs are for 'run
// replay' and 'run audit'.
func (a *app) runShowCommand() *cobra.Command {
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   "show <run>",
		Short: "Play what the user saw",
		Long: "Play the events of a run in the order of their numbers, between what was asked and how it ended. What tools put out is\n" +
			"folded unless --all is given. With --json each record is printed on a line of its own, as it stands in the log." + runHelp,
		Example: "  treeline run show @last\n  treeline run show 8f1d7b7a --json | jq -r .event.type",
		Args:    args("<run>"),
		RunE: func(cmd *cobra.Command, given []string) error {
			r, err := a.openRun(cmd.Context(), given[0])
			if err != nil {
				return err
			}
			defer r.Close()
			return a.page(cmd.Context(), func(ctx context.Context, out *output) error {
				if asJSON {
					return playJSON(out, r.Log)
				}
				return a.play(ctx, out, r, all)
			})
		},
		ValidArgsFunction: a.completeRun,
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "fold nothing")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// played gives the records that are played: what was asked, the events by number, and how it ended.
// run.error and run.end go last, wherever they stand: events may be written late.
func played(l *runlog.Log) []runlog.Record {
	var before, after []runlog.Record
	for _, r := range l.Records() {
		switch r.Type {
		case runlog.TypeRunStart:
			before = append(before, r)
		case runlog.TypeRunError, runlog.TypeRunEnd:
			after = append(after, r)
		}
	}
	return append(append(before, l.Events()...), after...)
}

// Each record goes out as it is in the log, without an array around it, so that it can be read line by line while
// it is long.
func playJSON(out *output, l *runlog.Log) error {
	for _, r := range played(l) {
		raw, err := r.Raw()
		if err != nil {
			return err
		}
		if err := writeJSON(out, json.RawMessage(raw)); err != nil {
			return err
		}
	}
	return nil
}

// play prints a run for people.
func (a *app) play(ctx context.Context, out *output, r *store.Run, all bool) error {
	st := out.style
	t := &transcript{out: out, all: all, label: func(session.EntryID) string { return "" }, blobSize: func(string) int64 { return -1 }}
	for _, line := range runAbout(out, r.Header) {
		t.line(line)
	}
	t.last = note
	for _, rec := range played(r.Log) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		body, err := rec.Body()
		if err != nil {
			return err
		}
		t.record(body)
		// A Write of nothing gives the error that the buffered writer keeps, which the transcript does not look
		// at.
		if _, err := out.Write(nil); err != nil { // a reader that went away
			return err
		}
	}
	if _, ok := r.End(); !ok {
		t.header(note, st.red("■ no end: the run crashed, or still goes on"))
	}
	return nil
}

// record prints a record of what the user saw. Of others it says that they are none of these.
func (t *transcript) record(body runlog.Body) bool {
	st := t.out.style
	switch b := body.(type) {
	case *runlog.RunStart:
		t.header(speech, t.speaker("user"), st.dim("· "+t.when(timeOf(b.Time))))
		t.parts(inputParts(b), indent, true)
	case *runlog.AgentEvent:
		t.event(b, t.all)
	case *runlog.RunError:
		t.header(note, st.red("✗ "+screen.OneLine(b.Error.Name+": "+b.Error.Message, 200)))
	case *runlog.RunEnd:
		t.header(note, st.bold("■ "+screen.OneLine(b.Outcome, 40)), st.dim(t.when(timeOf(b.Time))))
	default:
		return false
	}
	return true
}

// aside prints a record of what happened behind the scenes on one line: whoever follows a run wants to see that it goes on.
func (t *transcript) aside(body runlog.Body) {
	var words []string
	switch b := body.(type) {
	case *runlog.LLMRequest:
		words = []string{"request", strconv.FormatInt(b.Seq, 10)}
		if b.Model != nil {
			words = append(words, "to", b.Model.Name)
		}
	case *runlog.LLMResponse:
		words = []string{"response", strconv.FormatInt(b.Seq, 10)}
		if u := b.Output.Usage; u != nil {
			words = append(words, "of", counted(int(u.Output), "token", "tokens"))
		}
		if b.Output.StopReason != "" {
			words = append(words, "("+b.Output.StopReason+")")
		}
	case *runlog.ToolOutput:
		words = []string{"output of", b.Tool + ",", byteSize(int64(len(b.Result)))}
	case *runlog.RunStatus:
		words = []string{"status", b.Status}
		if b.Message != "" {
			words = append(words, "("+b.Message+")")
		}
	case *runlog.RunContext:
		words = []string{strconv.FormatFloat(b.ContextLeftPercent, 'f', -1, 64) + "%", "of the context is left"}
	case *runlog.Opaque:
		words = []string{string(b.Name), shortJSON(b.JSON, 100)}
	}
	t.header(note, t.out.style.dim("  ┄ "+screen.OneLine(strings.Join(words, " "), 160)))
}

// timeOf makes a session.Time, which is text as it stands in JSON, quotes included.
func timeOf(ts string) session.Time { return session.Time{Text: `"` + ts + `"`} }

// inputParts goes through the dialect's own reader of messages, so that pictures and texts look as they do
// elsewhere.
func inputParts(b *runlog.RunStart) []session.Part {
	content := rawjson.Quote(b.Input.Text)
	if b.Input.Parts != nil {
		content = b.Input.Parts
	}
	return codelia.MessageParts(append(append([]byte(`{"role":"user","content":`), content...), '}'))
}

// runAbout says what run this is.
func runAbout(out *output, h runlog.Header) []string {
	words := []string{"run " + h.RunID}
	if h.SessionID != "" {
		words = append(words, "session "+h.SessionID)
	}
	if h.Model != nil && h.Model.Name != "" {
		words = append(words, h.Model.Name)
	}
	return []string{out.style.dim(screen.OneLine(strings.Join(append(words, h.StartedAt), " · "), 0))}
}

// event prints one event, its number first.
// Kinds of events that we do not know are shown in one line with what they hold: a newer codelia must not look
// silent.
func (t *transcript) event(b *runlog.AgentEvent, all bool) {
	st := t.out.style
	e := b.Event
	kind := runlog.EventType(e)
	head := func(what string) { t.header(note, st.dim(fmt.Sprintf("%3d", b.Seq)), what) }
	text := func(what, s string) {
		head(what)
		t.text(s, "    "+indent, same)
	}
	switch kind {
	case "text", "final", "reasoning", "hidden_user_message":
		mark := st.bold
		if kind == "reasoning" {
			mark = st.thought
		}
		text(mark(kind), rawjson.Str(e, "content"))
	case "tool_call":
		head("→ " + callLine(session.ToolCall{Name: rawjson.Str(e, "tool"), Arguments: session.Raw(rawjson.Get(e, "args"))}, 100))
	case "tool_result":
		// A result is mostly text; one that is an object is shown as JSON.
		result := rawjson.Get(e, "result")
		s, ok := rawjson.Unquote(result)
		if !ok {
			s = string(result)
		}
		list := lines(s)
		head(st.dim("← " + screen.OneLine(rawjson.Str(e, "tool"), 40)))
		for i, line := range list {
			if i == foldedLines && !all {
				t.line("    " + indent + st.dim(counted(len(list)-i, "more line", "more lines")))
				break
			}
			t.line("    " + indent + screen.OneLine(line, foldedWidth))
		}
	default:
		what := orElse(screen.OneLine(kind, 40), "?")
		if runlog.IsCompaction(e) {
			what = "━━ " + what
		}
		head(st.dim(what + " " + shortJSON(e, 100)))
	}
}
