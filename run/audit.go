package run

import (
	"fmt"
	"slices"
	"time"

	"github.com/treeline-dev/treeline/internal/rawjson"
)

// FindingKind is what an audit found, in a word that scripts can rely on. Kinds are never renamed; new ones may be added.
type FindingKind string

// The kinds of findings.
const (
	FindingNoEnd        FindingKind = "no-end"           // the run crashed or is still running
	FindingAfterEnd     FindingKind = "after-end"        // a record after run.end
	FindingNoStart      FindingKind = "no-start"         // no run.start
	FindingStray        FindingKind = "other-run"        // a record names another run
	FindingNoResponse   FindingKind = "no-response"      // a request without a response
	FindingNoRequest    FindingKind = "no-request"       // a response without a request before it
	FindingRequestOrder FindingKind = "request-order"    // the seq of a request is not greater than the one before it
	FindingNoSeq        FindingKind = "no-seq"           // a request, response or event without a seq
	FindingNoOutput     FindingKind = "no-output"        // a tool call without an output
	FindingNoCall       FindingKind = "no-call"          // an output without a tool call before it
	FindingOutputAgain  FindingKind = "output-again"     // a second output of one call
	FindingEventOrder   FindingKind = "event-order"      // the seq of an event is not greater than the one before it
	FindingEventGap     FindingKind = "event-gap"        // numbers of events are missing
	FindingLate         FindingKind = "late-snapshot"    // a request contains its own answer
	FindingOutcome      FindingKind = "outcome-mismatch" // the last status contradicts the end
	FindingTime         FindingKind = "time-order"       // time goes backwards
	FindingUsage        FindingKind = "usage"            // a count of tokens that is impossible for a response
	FindingValue        FindingKind = "unknown-value"    // a status or an outcome that the format does not name
)

// Finding is something that an audit found, and its place.
type Finding struct {
	Kind FindingKind
	Line int // 0: the whole run
	// Note: the finding is worth knowing but not a fault.
	Note    bool
	Message string
}

// Tokens are sums over responses.
type Tokens struct {
	Model         string // "" for all models together
	Responses     int
	Input         int64
	Cached        int64
	CacheCreation int64
	Image         int64
	Output        int64
	Total         int64
}

// usageMost limits each count of a usage, so that no sum over a log overflows.
const usageMost = 1e9

// add adds the counts of a response. A nil count was not reported. An impossible count is left out, and ok is
// false.
func (t *Tokens) add(u *Usage) (ok bool) {
	ok = true
	add := func(sum, n *int64) {
		switch {
		case n == nil:
		case *n < 0 || *n > usageMost:
			ok = false
		default:
			*sum += *n
		}
	}
	t.Responses++
	add(&t.Input, &u.Input)
	add(&t.Cached, u.Cached)
	add(&t.CacheCreation, u.CacheCreation)
	add(&t.Image, u.Image)
	add(&t.Output, &u.Output)
	add(&t.Total, &u.Total)
	return ok
}

// Report is the result of an audit. Its lists are never nil. Sums cover the records that the log has.
type Report struct {
	RunID     string
	SessionID string
	// Outcome is that of run.end, or Crashed.
	Outcome     string
	Records     int
	Requests    int
	Responses   int
	Events      int
	ToolCalls   int
	ToolOutputs int
	ToolErrors  int
	Compactions int
	// from the first known time (that of the header, or else of a record) to the last
	Seconds  float64
	Tokens   Tokens
	Models   []Tokens
	Findings []Finding
	Problems []Problem
}

// Crashed is the outcome of a run without run.end.
const Crashed = "crashed"

// Faults counts what is wrong: findings that are not notes, and damage.
func (r *Report) Faults() int {
	n := len(r.Problems)
	for _, f := range r.Findings {
		if !f.Note {
			n++
		}
	}
	return n
}

// Audit checks that a run is consistent: requests and responses in pairs and in order, tool calls and outputs likewise,
// events in order, an end. It also counts tokens.
func Audit(l *Log) (*Report, error) {
	a := &audit{
		Report: Report{
			RunID: l.Header.RunID, SessionID: l.Header.SessionID, Outcome: Crashed, Records: l.Len(),
			Models: []Tokens{}, Findings: []Finding{}, Problems: append([]Problem{}, l.problems...),
		},
		calls: map[string]*call{}, models: map[string]int{}, open: map[int64]*asked{},
	}
	first, last := moment(l.Header.StartedAt), time.Time{}
	// Each time is compared with the one before. A clock that was set back is a note, not a fault: the order of the log counts.
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

// moment returns the zero time for an invalid time, which is not the audit's concern.
func moment(ts string) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, ts)
	return t
}

// audit is the state of an audit while it reads the records in log order.
type audit struct {
	Report
	started, ended bool
	status         string
	// Requests are numbered across all runs of a session, events from 0 in each run. The two counters are independent, and
	// neither needs to begin at a certain number.
	hasSeq      bool
	lastRequest int64
	hasEvent    bool
	lastEvent   int64
	seen        []int64 // the numbers of events
	// open has the requests that wait for a response, by seq. If a seq occurs twice, the later request waits, and the earlier
	// one is reported.
	open     map[int64]*asked
	requests []*asked
	calls    map[string]*call
	models   map[string]int // the index in Models
	// order and requests keep the order of the log, in which findings are reported.
	order []*call
}

// asked is a request. Its messages are kept only until the response: they are most of a log.
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

// record takes one record. It ignores what it does not know (extensions, types of a later version), as the format
// requires.
func (a *audit) record(r Record) error {
	if a.ended {
		a.fault(FindingAfterEnd, r.Line, "%s after run.end", r.Type)
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
	// Without a seq it can be read but not ordered for replay.
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
		if !slices.Contains([]string{StatusRunning, StatusAwaitingUI, StatusCompleted, StatusError, StatusCancelled}, b.Status) {
			a.note(FindingValue, r.Line, "the status %q is not one that the format names", b.Status)
		}
	case *RunEnd:
		a.ended = true
		a.Outcome = b.Outcome
		if !slices.Contains([]string{OutcomeCompleted, OutcomeCancelled, OutcomeError}, b.Outcome) {
			a.note(FindingValue, r.Line, "the outcome %q is not one that the format names", b.Outcome)
		}
		// A program may stop in "running" or "awaiting_ui" without another status; run.end says how it ended.
		if ends := a.status; ends != b.Outcome && ends != "" && ends != StatusRunning && ends != StatusAwaitingUI {
			a.fault(FindingOutcome, r.Line, "the run ends as %q, its last status was %q", b.Outcome, ends)
		}
	}
	return nil
}

// request takes a request. Its seq need not be the next one, because numbers continue across runs; it must not go back.
func (a *audit) request(r Record, b *LLMRequest) {
	a.Requests++
	if r.HasSeq && a.hasSeq && r.Seq <= a.lastRequest {
		a.fault(FindingRequestOrder, r.Line, "request %d after request %d", r.Seq, a.lastRequest)
	}
	if r.HasSeq {
		a.hasSeq, a.lastRequest = true, r.Seq
	}
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
		// codelia encodes a request when its queue reaches it. By then the list of messages has grown. It is a note: only replay
		// is affected, which cannot reproduce such a request byte for byte.
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
	// Tokens are summed for each model, because models differ in price.
	if u := b.Output.Usage; u != nil {
		if !a.Tokens.add(u) {
			a.fault(FindingUsage, r.Line, "the usage of response %d has an impossible number, which counts as 0", r.Seq)
		}
		i, known := a.models[u.Model]
		if !known {
			i = len(a.Models)
			a.Models = append(a.Models, Tokens{Model: u.Model})
			a.models[u.Model] = i
		}
		a.Models[i].add(u)
	}
}

// called notes a tool call. The response has it, and usually an event, too. Some models reuse an id when its call is done.
func (a *audit) called(id, tool string, line int, told bool) {
	if c := a.calls[id]; id == "" || c != nil && (told || c.outputs == 0) {
		return
	}
	a.ToolCalls++
	c := &call{id: id, tool: tool, line: line}
	a.calls[id] = c
	a.order = append(a.order, c)
}

// event takes an event. finish looks for gaps, because numbers may come out of order.
func (a *audit) event(r Record, b *AgentEvent) {
	a.Events++
	if r.HasSeq {
		if a.hasEvent && r.Seq <= a.lastEvent {
			a.fault(FindingEventOrder, r.Line, "event %d after event %d", r.Seq, a.lastEvent)
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
	// an output cannot come before its call
	c := a.calls[b.ToolCallID]
	switch {
	case c == nil:
		a.fault(FindingNoCall, r.Line, "output of %s for the call %q, which was not made", b.Tool, b.ToolCallID)
		return
	case c.outputs > 0:
		a.fault(FindingOutputAgain, r.Line, "output of %s for the call %q, which has one", b.Tool, b.ToolCallID)
	}
	c.outputs++
}

// finish looks at what is still open. In a run that failed or was cancelled that is expected.
func (a *audit) finish() {
	open := a.fault
	// In a run that crashed, what is open was lost in the crash.
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
	// A note: a program may show an event without logging it.
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
