package wire

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/runs"
	"github.com/treeline-dev/treeline/session"
)

// Run is a run in a list. created is null if the header has no time, outcome for a run that crashed or is still running.
// session and model are absent if the header has none.
type Run struct {
	ID       string  `json:"id"`
	Session  string  `json:"session,omitempty"`
	Path     string  `json:"path"`
	Created  *string `json:"created"`
	CWD      string  `json:"cwd"`
	Model    string  `json:"model,omitempty"`
	Prompt   string  `json:"prompt"`
	Outcome  *string `json:"outcome"`
	Size     int64   `json:"size"`
	Modified string  `json:"modified"`
}

// RunCursor returns the position of a run in a list.
func RunCursor(r *runs.Row) Cursor { return Cursor{When: r.When(), Path: r.Path} }

// NewRun returns a row of a list.
func NewRun(r runs.Row) Run {
	j := Run{
		ID: r.Header.RunID, Session: r.Header.SessionID, Path: r.Path, CWD: r.CWD(), Prompt: r.Prompt,
		Outcome: optional(r.Outcome), Size: r.Log.Size, Modified: UTC(r.Log.Time),
	}
	if !r.Started.IsZero() {
		created := UTC(r.Started)
		j.Created = &created
	}
	if r.Header.Model != nil {
		j.Model = r.Header.Model.Name
	}
	return j
}

// Recording is a run that is being recorded. session is absent where it belongs to none.
type Recording struct {
	ID      string `json:"id"`
	Session string `json:"session,omitempty"`
	Path    string `json:"path"`
}

// Receipt acknowledges one record of a run, with the type and the number that were written, or says with error why it
// was refused.
type Receipt struct {
	Line  int    `json:"line"`
	OK    bool   `json:"ok"`
	Type  string `json:"type,omitempty"`
	Seq   *int64 `json:"seq,omitempty"`
	Error string `json:"error,omitempty"`
}

// NewReceipt returns the acknowledgement of the record on a line of the input.
func NewReceipt(line int, w run.Written) Receipt {
	j := Receipt{Line: line, OK: true, Type: string(w.Type)}
	if w.HasSeq {
		j.Seq = &w.Seq
	}
	return j
}

// Exchange is a request to the model and the response to it, both byte for byte as recorded. response is null for a
// request without one.
type Exchange struct {
	Seq      int64           `json:"seq"`
	Request  json.RawMessage `json:"request"`
	Response json.RawMessage `json:"response"`
}

// NewExchange reads an exchange from its log.
func NewExchange(x run.Exchange) (Exchange, error) {
	request, err := x.Request.Raw()
	if err != nil {
		return Exchange{}, err
	}
	response := []byte("null")
	if x.Answered {
		if response, err = x.Response.Raw(); err != nil {
			return Exchange{}, err
		}
	}
	return Exchange{x.Seq, request, response}, nil
}

// RunDiff compares two runs. firstDifference is null where they are equal. steps has the equal ones, too.
type RunDiff struct {
	A     string     `json:"a"`
	B     string     `json:"b"`
	Equal bool       `json:"equal"`
	First *run.Step  `json:"firstDifference"`
	Steps []run.Step `json:"steps"`
}

// NewRunDiff returns the comparison of two runs, which a and b name.
func NewRunDiff(a, b string, steps []run.Step) RunDiff {
	j := RunDiff{A: a, B: b, Equal: true, Steps: steps}
	if first, differ := run.FirstDifference(steps); differ {
		j.Equal, j.First = false, &first
	}
	return j
}

// Played returns the records that the user of a run saw: the prompt, the events by number, and the end. The end comes last wherever it is
// in the log, since events may be written late. With outputs, the output of a tool comes before the event of its result or, if there is
// none, after that of its call.
func Played(l *run.Log, outputs bool) ([]run.Record, error) {
	var before, after, out []run.Record
	for _, r := range l.Records() {
		switch r.Type {
		case run.TypeRunStart:
			before = append(before, r)
		case run.TypeRunError, run.TypeRunEnd:
			after = append(after, r)
		case run.TypeToolOutput:
			out = append(out, r)
		}
	}
	events := l.Events()
	if outputs && len(out) > 0 {
		var err error
		if events, err = withOutputs(events, out); err != nil {
			return nil, err
		}
	}
	return append(append(before, events...), after...), nil
}

// withOutputs puts the outputs of tools next to the events of their calls. Outputs without an event come last.
func withOutputs(events, outputs []run.Record) ([]run.Record, error) {
	byCall := map[string][]run.Record{}
	for _, r := range outputs {
		id, err := callOf(r)
		if err != nil {
			return nil, err
		}
		byCall[id] = append(byCall[id], r)
	}
	calls := make([]string, len(events))
	last := map[string]int{} // by call: the event that its outputs are put next to
	for i, r := range events {
		id, err := callOf(r)
		if err != nil {
			return nil, err
		}
		if calls[i] = id; id != "" {
			last[id] = i
		}
	}
	var list []run.Record
	for i, r := range events {
		beside := byCall[calls[i]]
		if last[calls[i]] != i || len(beside) == 0 {
			list = append(list, r)
			continue
		}
		delete(byCall, calls[i])
		if body, err := r.Body(); err != nil {
			return nil, err
		} else if e, ok := body.(*run.AgentEvent); ok && run.EventType(e.Event) == "tool_result" {
			list = append(append(list, beside...), r)
			continue
		}
		list = append(append(list, r), beside...)
	}
	for _, r := range outputs {
		if id, err := callOf(r); err != nil {
			return nil, err
		} else if byCall[id] != nil {
			list = append(list, r)
		}
	}
	return list, nil
}

// callOf returns the id of the tool call that a record belongs to, or "" if it belongs to none.
func callOf(r run.Record) (string, error) {
	body, err := r.Body()
	switch b := body.(type) {
	case *run.ToolOutput:
		return b.ToolCallID, err
	case *run.AgentEvent:
		return rawjson.Str(b.Event, "tool_call_id"), err
	}
	return "", err
}

// Play writes what the user of a run saw; with All, also the complete output of tools. It stops at the first error of the writer.
func (t *Transcript) Play(ctx context.Context, l *run.Log) error {
	h := l.Header
	words := []string{"run " + h.RunID}
	if h.SessionID != "" {
		words = append(words, "session "+h.SessionID)
	}
	if h.Model != nil {
		words = append(words, h.Model.Name)
	}
	t.line(t.paint(StyleFaint, screen.OneLine(join(append(words, h.StartedAt), " · "), 0)))
	t.Section()
	played, err := Played(l, t.All)
	if err != nil {
		return err
	}
	var output *run.ToolOutput // the last one
	for _, rec := range played {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		body, err := rec.Body()
		if err != nil {
			return err
		}
		switch b := body.(type) {
		case *run.ToolOutput:
			output = b
			t.output(b)
		case *run.AgentEvent:
			t.event(b, output)
		default:
			t.Record(body)
		}
		if _, err := t.Write(nil); err != nil {
			return err
		}
	}
	if _, ok := l.End(); !ok {
		t.header(note, t.paint(StyleError, "■ no end: the run crashed or is still going on"))
	}
	return nil
}

// Record writes a record that the user of a run saw. For any other record, it writes nothing and returns false.
func (t *Transcript) Record(body run.Body) bool {
	switch b := body.(type) {
	case *run.RunStart:
		t.header(speech, t.speaker("user"), t.paint(StyleFaint, "· "+t.when(runTime(b.Time))))
		t.parts(t.input(b), indent, true)
	case *run.AgentEvent:
		t.event(b, nil)
	case *run.RunError:
		t.header(note, t.paint(StyleError, "✗ "+screen.OneLine(b.Error.Name+": "+b.Error.Message, 200)))
	case *run.RunEnd:
		t.header(note, t.paint(StyleStrong, "■ "+screen.OneLine(b.Outcome, 40)), t.paint(StyleFaint, t.when(runTime(b.Time))))
	default:
		return false
	}
	return true
}

// Aside writes, on one line, a record that the user of a run did not see.
func (t *Transcript) Aside(body run.Body) {
	var words []string
	switch b := body.(type) {
	case *run.LLMRequest:
		words = []string{"request", strconv.FormatInt(b.Seq, 10)}
		if b.Model != nil {
			words = append(words, "to", b.Model.Name)
		}
	case *run.LLMResponse:
		words = []string{"response", strconv.FormatInt(b.Seq, 10)}
		if u := b.Output.Usage; u != nil {
			words = append(words, "of", Count(int(u.Output), "token", "tokens"))
		}
		if b.Output.StopReason != "" {
			words = append(words, "("+b.Output.StopReason+")")
		}
	case *run.ToolOutput:
		words = []string{"output of", b.Tool + ",", Size(int64(len(b.Result)))}
	case *run.RunStatus:
		words = []string{"status", b.Status}
		if b.Message != "" {
			words = append(words, "("+b.Message+")")
		}
	case *run.RunContext:
		words = []string{strconv.FormatFloat(b.ContextLeftPercent, 'f', -1, 64) + "%", "of the context is left"}
	case *run.Opaque:
		words = []string{string(b.Name), Brief(b.JSON, 100)}
	}
	t.header(note, t.paint(StyleFaint, "  ┄ "+screen.OneLine(strings.Join(words, " "), 160)))
}

// runTime returns a session.Time, whose text is JSON with quotes.
func runTime(ts string) session.Time { return session.Time{Text: `"` + ts + `"`} }

// input returns the prompt of a run as parts. It is decoded as a message, so that images look as they do elsewhere.
func (t *Transcript) input(b *run.RunStart) []session.Part {
	content := rawjson.Quote(b.Input.Text)
	if b.Input.Parts != nil {
		content = b.Input.Parts
	}
	return t.messageParts(append(append([]byte(`{"role":"user","content":`), content...), '}'))
}

// messageParts returns the parts of a message or, if they cannot be had, the whole message as one opaque part.
func (t *Transcript) messageParts(m []byte) []session.Part {
	if t.MessageParts == nil {
		return []session.Part{session.OpaquePart{Type: rawjson.Str(m, "role"), JSON: m}}
	}
	return t.MessageParts(m)
}

// output writes the output of a tool as it was recorded.
func (t *Transcript) output(b *run.ToolOutput) {
	words := "⇐ " + cmp.Or(screen.OneLine(b.Tool, 40), "?") + " · " + Size(int64(len(b.Result)))
	if b.IsError != nil && *b.IsError {
		words += " · error"
	}
	t.header(note, t.paint(StyleFaint, "    "+words))
	t.text(b.Result, runMargin, plain)
}

// runMargin is the margin of texts below the number of an event.
const runMargin = "    " + indent

// event writes one event after its number. An unknown kind is written on one line with its members. A result that is equal to the output
// before it is not repeated.
func (t *Transcript) event(b *run.AgentEvent, output *run.ToolOutput) {
	e := b.Event
	kind := run.EventType(e)
	head := func(what string) { t.header(note, t.paint(StyleFaint, fmt.Sprintf("%3d", b.Seq)), what) }
	const margin = runMargin
	switch kind {
	case "text", "final", "reasoning", "hidden_user_message":
		style := StyleStrong
		if kind == "reasoning" {
			style = StyleThinking
		}
		head(t.paint(style, kind))
		t.text(rawjson.Str(e, "content"), margin, plain)
	case "tool_call":
		head("→ " + callLine(session.ToolCall{Name: rawjson.Str(e, "tool"), Arguments: session.Raw(rawjson.Get(e, "args"))}, 100))
	case "tool_result":
		value := rawjson.Get(e, "result") // usually text; anything else is shown as JSON
		s, ok := rawjson.Unquote(value)
		if !ok {
			s = string(value)
		}
		result := "← " + screen.OneLine(rawjson.Str(e, "tool"), 40)
		if output != nil && output.ToolCallID == rawjson.Str(e, "tool_call_id") && output.Result == s {
			head(t.paint(StyleFaint, result+" · as above"))
			return
		}
		head(t.paint(StyleFaint, result))
		if t.All {
			t.text(s, margin, plain)
			return
		}
		list := lines(s)
		for i, line := range list {
			if i == foldedLines {
				t.line(margin + t.paint(StyleFaint, Count(len(list)-i, "more line", "more lines")))
				break
			}
			t.line(margin + screen.OneLine(line, foldedWidth))
		}
	default:
		what := cmp.Or(screen.OneLine(kind, 40), "?")
		if run.IsCompaction(e) {
			what = "━━ " + what
		}
		head(t.paint(StyleFaint, what+" "+Brief(e, 100)))
	}
}

// Exchange writes a request to the model in full, and the response to it.
func (t *Transcript) Exchange(x run.Exchange, raw Exchange) error {
	sent, received, err := x.Messages()
	if err != nil {
		return err
	}
	request, response := []byte(raw.Request), []byte(raw.Response)
	model := cmp.Or(rawjson.Str(rawjson.Get(request, "input"), "model"), rawjson.Str(rawjson.Get(request, "model"), "name"))
	t.header(speech, t.paint(StyleSummary, fmt.Sprintf("━━ request %d", x.Seq)),
		t.paint(StyleFaint, "· "+Count(len(sent), "message", "messages")+" · "+screen.OneLine(cmp.Or(model, "?"), 60)))
	if at := run.Late(sent, received); at < len(sent) {
		t.line(indent + t.paint(StyleLabel, fmt.Sprintf("written too late: from message %d on it holds the response to it", at)))
	}
	t.messages(sent)
	if !x.Answered {
		t.header(speech, t.paint(StyleAlert, fmt.Sprintf("━━ no response %d", x.Seq)))
		return nil
	}
	stop := rawjson.Str(rawjson.Get(response, "output"), "stop_reason")
	t.header(speech, t.paint(StyleSummary, fmt.Sprintf("━━ response %d", x.Seq)), t.paint(StyleFaint, "· "+screen.OneLine(cmp.Or(stop, "?"), 40)))
	t.messages(received)
	return nil
}

func (t *Transcript) messages(list [][]byte) {
	for _, m := range list {
		t.plainMessage(rawjson.Str(m, "role"), "", t.messageParts(m))
	}
}
