package run

import (
	"fmt"
	"slices"
	"time"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// FindingKind says what an audit found, in a word that scripts can rely on.
// Kinds are never renamed; a new one may be added.
type FindingKind string

// What an audit can find.
const (
	FindingNoEnd        FindingKind = "no-end"           // the run crashed, or still goes on
	FindingAfterEnd     FindingKind = "after-end"        // a record behind run.end
	FindingNoStart      FindingKind = "no-start"         // no run.start
	FindingStray        FindingKind = "other-run"        // a record names another run
	FindingNoResponse   FindingKind = "no-response"      // a request without a response
	FindingNoRequest    FindingKind = "no-request"       // a response without a request before it
	FindingRequestOrder FindingKind = "request-order"    // the seq of a request is not above the one before it
	FindingNoSeq        FindingKind = "no-seq"           // a request, response or event without a seq
	FindingNoOutput     FindingKind = "no-output"        // a tool call without an output
	FindingNoCall       FindingKind = "no-call"          // an output without a tool call before it
	FindingOutputAgain  FindingKind = "output-again"     // a second output of one call
	FindingEventOrder   FindingKind = "event-order"      // the seq of an event is not above the one before it
	FindingEventGap     FindingKind = "event-gap"        // numbers of events are missing
	FindingLate         FindingKind = "late-snapshot"    // a request holds what was only answered to it
	FindingOutcome      FindingKind = "outcome-mismatch" // the last status says another thing than the end
	FindingTime         FindingKind = "time-order"       // the time goes backwards
)

// Finding is something that an audit found, and where.
// The members, as those of Tokens and Report, are what 'treeline run audit --json' prints: a stable format.
type Finding struct {
	Kind FindingKind `json:"kind"`
	Line int         `json:"line"` // 0: of the whole run
	// Note: it is worth knowing and no fault.
	Note    bool   `json:"note,omitempty"`
	Message string `json:"message"`
}

// Tokens are sums over responses.
type Tokens struct {
	Model         string `json:"model,omitempty"` // "" for all models together
	Responses     int    `json:"responses"`
	Input         int64  `json:"input"`
	Cached        int64  `json:"inputCached"`
	CacheCreation int64  `json:"inputCacheCreation"`
	Image         int64  `json:"inputImage"`
	Output        int64  `json:"output"`
	Total         int64  `json:"total"`
}

// add takes what a provider does not count (nil) for nothing.
func (t *Tokens) add(u *Usage) {
	or := func(n *int64) int64 {
		if n == nil {
			return 0
		}
		return *n
	}
	t.Responses++
	t.Input += u.Input
	t.Cached += or(u.Cached)
	t.CacheCreation += or(u.CacheCreation)
	t.Image += or(u.Image)
	t.Output += u.Output
	t.Total += u.Total
}

// Report is what an audit says of a run.
// Lists in it are never null. Sums are over what the log has: a run that was cut off counts as far as it goes.
type Report struct {
	RunID     string `json:"run"`
	SessionID string `json:"session,omitempty"`
	// Outcome is what run.end says, or "crashed".
	Outcome     string `json:"outcome"`
	Records     int    `json:"records"`
	Requests    int    `json:"requests"`
	Responses   int    `json:"responses"`
	Events      int    `json:"events"`
	ToolCalls   int    `json:"toolCalls"`
	ToolOutputs int    `json:"toolOutputs"`
	ToolErrors  int    `json:"toolErrors"`
	Compactions int    `json:"compactions"`
	// from the first known time (the header's, or else a record's) to the last
	Seconds  float64   `json:"seconds"`
	Tokens   Tokens    `json:"tokens"`
	Models   []Tokens  `json:"models"`
	Findings []Finding `json:"findings"`
	Problems []Problem `json:"problems"`
}

// Crashed is the outcome of a run without run.end.
const Crashed = "crashed"

// Faults counts what is wrong: findings that are no notes, and damage.
func (r *Report) Faults() int {
	n := len(r.Problems)
	for _, f := range r.Findings {
		if !f.Note {
			n++
		}
	}
	return n
}

// Audit looks whether a run makes sense: requests and responses in pairs and in order, tool calls and outputs likewise,
// events in order, an end; and counts tokens.
func Audit(l *Log) (*Report, error) {
	// Outcome begins as Crashed and is corrected by run.end: a log that simply stops needs no case of its own.
	a := &audit{
		Report: Report{
			RunID: l.Header.RunID, SessionID: l.Header.SessionID, Outcome: Crashed, Records: l.Len(),
			Models: []Tokens{}, Findings: []Finding{}, Problems: append([]Problem{}, l.problems...),
		},
		calls: map[string]*call{}, open: map[int64]*asked{},
	}
	first, last := moment(l.Header.StartedAt), time.Time{}
	// Times go by what records say and are compared with the record before: a clock that was set back is worth a
	// note, never a fault, because the order of the log is what counts.
	for _, r := range l.records {
		if at := moment(r.Time); !at.IsZero() {
			if at.Before(last) {
				a.note(FindingTime, r.Line, "%s is before the time of the record before", r.Time)
			}
			if first.IsZero() {
				first = at
			}
			last = at
		}
		if err := a.record(r); err != nil {
			return nil, err
		}
	}
	if !first.IsZero() && last.After(first) {
		a.Seconds = last.Sub(first).Seconds()
	}
	a.finish()
	return &a.Report, nil
}

// moment gives the zero time for what is no time: that is the recorder's problem, not the audit's.
func moment(ts string) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, ts)
	return t
}

// audit is the state while the records go by, in the order of the log.
type audit struct {
	Report
	started, ended bool
	status         string
	// Requests are numbered across all runs of a session, events from 0 in each run: the two counters have nothing
	// to do with each other, and neither needs to begin at a certain number.
	hasSeq      bool
	lastRequest int64
	hasEvent    bool
	lastEvent   int64
	seen        []int64 // the numbers of events
	// open has the requests that wait for a response, by seq. Where a seq stands twice the later one waits, and
	// the earlier one is found to have none.
	open     map[int64]*asked
	requests []*asked
	calls    map[string]*call
	// order and requests keep the order of the log, in which findings are told; maps have none.
	order []*call
}

// asked is a request. Its messages are only kept until the answer is there: they are most of a log.
type asked struct {
	seq      int64
	line     int
	messages [][]byte
	answered bool
}

type call struct {
	id, tool string
	line     int
	outputs  int
}

func (a *audit) fault(kind FindingKind, line int, format string, args ...any) {
	a.Findings = append(a.Findings, Finding{Kind: kind, Line: line, Message: fmt.Sprintf(format, args...)})
}

func (a *audit) note(kind FindingKind, line int, format string, args ...any) {
	a.Findings = append(a.Findings, Finding{Kind: kind, Line: line, Message: fmt.Sprintf(format, args...), Note: true})
}

// record looks at one record. What it cannot know (extensions, types of a later version) is passed over, as the
// format wants it.
func (a *audit) record(r Record) error {
	if a.ended {
		a.fault(FindingAfterEnd, r.Line, "%s behind run.end", r.Type)
	}
	if r.Stray {
		a.fault(FindingStray, r.Line, "%s of another run", r.Type)
	}
	if !r.Type.Known() {
		return nil
	}
	body, err := r.Body()
	if err != nil {
		return err
	}
	// Replay goes by the numbers: without one they can be read, but not be put in order.
	switch r.Type {
	case TypeLLMRequest, TypeLLMResponse, TypeAgentEvent:
		if !r.HasSeq {
			a.fault(FindingNoSeq, r.Line, "%s without a seq", r.Type)
		}
	}
	switch b := body.(type) {
	case *RunStart:
		a.started = true
	case *LLMRequest:
		a.request(r, b)
	case *LLMResponse:
		a.response(r, b)
	case *AgentEvent:
		a.event(r, b)
	case *ToolOutput:
		a.output(r, b)
	case *RunStatus:
		a.status = b.Status
	case *RunEnd:
		a.ended = true
		a.Outcome = b.Outcome
		// "running" and "awaiting_ui" are not meant to last: a program that stops there just did not say so, and
		// the end does.
		if ends := a.status; ends != b.Outcome && ends != "" && ends != StatusRunning && ends != StatusAwaitingUI {
			a.fault(FindingOutcome, r.Line, "the run ends as %q, its last status was %q", b.Outcome, ends)
		}
	}
	return nil
}

// A seq need not be the next one, since numbers go on across the runs of a session. It only must not go back.
func (a *audit) request(r Record, b *LLMRequest) {
	a.Requests++
	if r.HasSeq && a.hasSeq && r.Seq <= a.lastRequest {
		a.fault(FindingRequestOrder, r.Line, "request %d behind request %d", r.Seq, a.lastRequest)
	}
	a.hasSeq, a.lastRequest = a.hasSeq || r.HasSeq, r.Seq
	q := &asked{seq: r.Seq, line: r.Line, messages: slices.Collect(rawjson.Elements(b.Input.Messages))}
	a.open[r.Seq] = q
	a.requests = append(a.requests, q)
}

func (a *audit) response(r Record, b *LLMResponse) {
	a.Responses++
	messages := slices.Collect(rawjson.Elements(b.Output.Messages))
	if q := a.open[r.Seq]; q == nil {
		a.fault(FindingNoRequest, r.Line, "response %d, and no request before it waits for one", r.Seq)
	} else {
		delete(a.open, r.Seq)
		q.answered = true
		// codelia encodes a request when its queue gets to it, not when it is made, and by then the list of
		// messages has grown. It says nothing about the run itself, so it is a note: such a request cannot be
		// replayed byte for byte.
		if at := Late(q.messages, messages); at < len(q.messages) {
			a.note(FindingLate, q.line, "request %d already holds its own answer, as message %d: it was written down too late to be replayed as it was sent", q.seq, at)
		}
		q.messages = nil
	}
	for _, m := range messages {
		for c := range rawjson.Elements(rawjson.Get(m, "tool_calls")) {
			a.called(rawjson.Str(c, "id"), rawjson.Str(rawjson.Get(c, "function"), "name"), r.Line, false)
		}
	}
	// Tokens are summed for each model: a run may ask several, and they cost differently.
	if u := b.Output.Usage; u != nil {
		a.Tokens.add(u)
		// there are a handful of models at most
		i := slices.IndexFunc(a.Models, func(t Tokens) bool { return t.Model == u.Model })
		if i < 0 {
			i = len(a.Models)
			a.Models = append(a.Models, Tokens{Model: u.Model})
		}
		a.Models[i].add(u)
	}
}

// called notes a tool call. The response has it, and mostly an event tells of it too. Some models use an id again when its
// call is done.
func (a *audit) called(id, tool string, line int, told bool) {
	if c := a.calls[id]; id == "" || c != nil && (told || c.outputs == 0) {
		return
	}
	a.ToolCalls++
	c := &call{id: id, tool: tool, line: line}
	a.calls[id] = c
	a.order = append(a.order, c)
}

// Gaps are looked for at the end, because numbers may come out of order; see finish.
func (a *audit) event(r Record, b *AgentEvent) {
	a.Events++
	if r.HasSeq {
		if a.hasEvent && r.Seq <= a.lastEvent {
			a.fault(FindingEventOrder, r.Line, "event %d behind event %d", r.Seq, a.lastEvent)
		}
		a.hasEvent, a.lastEvent = true, r.Seq
		a.seen = append(a.seen, r.Seq)
	}
	switch EventType(b.Event) {
	case "tool_call":
		a.called(rawjson.Str(b.Event, "tool_call_id"), rawjson.Str(b.Event, "tool"), r.Line, true)
	case "compaction_complete":
		a.Compactions++
	}
}

func (a *audit) output(r Record, b *ToolOutput) {
	a.ToolOutputs++
	if b.IsError != nil && *b.IsError {
		a.ToolErrors++
	}
	// An id is looked up in the calls that were made before: an output cannot come before its call.
	c := a.calls[b.ToolCallID]
	switch {
	case c == nil:
		a.fault(FindingNoCall, r.Line, "output of %s for the call %q, which nobody made", b.Tool, b.ToolCallID)
		return
	case c.outputs > 0:
		a.fault(FindingOutputAgain, r.Line, "output of %s for the call %q, which has one", b.Tool, b.ToolCallID)
	}
	c.outputs++
}

// finish looks at what is still open. In a run that failed or was cancelled that is no wonder.
func (a *audit) finish() {
	open := a.fault
	// A run that crashed has no end and no excuse: what is open in it is what the crash took away.
	if a.ended && a.Outcome != OutcomeCompleted {
		open = a.note
	}
	for _, q := range a.requests {
		if !q.answered {
			open(FindingNoResponse, q.line, "request %d has no response", q.seq)
		}
	}
	for _, c := range a.order {
		if c.outputs == 0 {
			open(FindingNoOutput, c.line, "the call %q of %s has no output", c.id, c.tool)
		}
	}
	// A note and not a fault: a program may decide not to log an event that it showed.
	slices.Sort(a.seen)
	for i := 1; i < len(a.seen); i++ {
		if a.seen[i] > a.seen[i-1]+1 {
			a.note(FindingEventGap, 0, "no event between %d and %d", a.seen[i-1], a.seen[i])
		}
	}
	if !a.started {
		a.note(FindingNoStart, 0, "there is no run.start")
	}
	if !a.ended {
		a.fault(FindingNoEnd, 0, "there is no run.end: the run crashed, or still goes on")
	}
}
