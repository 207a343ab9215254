package page

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/treeline-dev/treeline/internal/rawjson"
	"github.com/treeline-dev/treeline/internal/screen"
	"github.com/treeline-dev/treeline/page/chart"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/wire"
)

// Run writes one run: its numbers, a timeline of requests, tools and events, and its steps.
func (s *Site) Run(w io.Writer, p RunPage) error {
	v := &runView{RunPage: p, site: s}
	if p.Log != nil {
		if err := v.read(); err != nil {
			return err
		}
	}
	return s.write(w, "run.html", view{Section: "runs", Title: "Run " + p.ID, Page: v})
}

// runView is the data of the template of a run.
type runView struct {
	RunPage
	site  *Site
	steps []runStep
	// start and end are the first and the last known time; answered is the time of the last response.
	start, end, answered time.Time
	// Left is the number of steps that are not shown.
	Left int
}

// mostSteps is the largest number of steps on a page.
const mostSteps = 1000

// runStep is a request with its response, a call with its output, or an event.
type runStep struct {
	// Lane is the lane of the step in the timeline: request, tool, event, status or error.
	Lane       string
	Start, End time.Time
	Title      string
	// Line is the beginning of the text, Text all of it.
	Line   string
	Text   template.HTML
	Usage  *run.Usage
	Failed bool
	// Offset is the start time, relative to that of the run.
	Offset string
}

// read makes the steps from the log.
func (v *runView) read() error {
	requests := map[int64]int{} // steps by number
	calls := map[string]int{}
	for _, r := range v.Log.Records() {
		if r.Type == run.TypeLLMRequest { // a request has all messages so far, so it is not decoded for its envelope
			requests[r.Seq] = v.add(runStep{Lane: "request", Start: recordTime(r.Time), Title: fmt.Sprintf("request %d", r.Seq)})
			continue
		}
		body, err := r.Body()
		if err != nil {
			return err
		}
		at := recordTime(r.Time)
		switch b := body.(type) {
		case *run.LLMResponse:
			v.response(b, requests, at)
		case *run.ToolOutput:
			i, ok := calls[b.ToolCallID]
			if !ok { // no event announced the call, so it began after the last response
				start := v.answered
				if start.IsZero() {
					start = at
				}
				i = v.add(runStep{Lane: "tool", Start: start, Title: screen.OneLine(b.Tool, 60), Line: screen.OneLine(b.Result, 120)})
			}
			if i >= 0 {
				s := &v.steps[i]
				s.End = at
				if s.Text != "" {
					s.Text += "\n"
				}
				s.Text += outputHTML(b.Result)
				s.Failed = b.IsError != nil && *b.IsError
			}
		case *run.AgentEvent:
			v.event(b, calls, at)
		default:
			v.other(body, at)
		}
	}
	for _, s := range v.steps {
		for _, t := range []time.Time{s.Start, s.End} {
			if !t.IsZero() && (v.start.IsZero() || t.Before(v.start)) {
				v.start = t
			}
			if t.After(v.end) {
				v.end = t
			}
		}
	}
	for i := range v.steps {
		if s := &v.steps[i]; !s.Start.IsZero() {
			s.Offset = "+" + wire.Took(s.Start.Sub(v.start))
		}
	}
	return nil
}

// say sets the text of a step.
func (s runStep) say(text string) runStep {
	s.Line, s.Text = screen.OneLine(text, 120), outputHTML(text)
	return s
}

// add appends a step and returns its index, or -1 if there is no room.
func (v *runView) add(s runStep) int {
	if len(v.steps) == mostSteps {
		v.Left++
		return -1
	}
	v.steps = append(v.steps, s)
	return len(v.steps) - 1
}

func (v *runView) response(b *run.LLMResponse, requests map[int64]int, at time.Time) {
	i, ok := requests[b.Seq]
	if !ok {
		i = v.add(runStep{Lane: "request", Start: at, Title: fmt.Sprintf("response %d without a request", b.Seq), Failed: true})
	}
	if i < 0 {
		return
	}
	s := &v.steps[i]
	s.End, s.Usage, v.answered = at, b.Output.Usage, at
	if stop := b.Output.StopReason; stop != "" {
		s.Title += " · " + screen.OneLine(stop, 40)
	}
}

// event adds what the user saw. The event of a result only ends its call: the text comes from the recorded output.
func (v *runView) event(b *run.AgentEvent, calls map[string]int, at time.Time) {
	e := b.Event
	kind, call := run.EventType(e), rawjson.Str(e, "tool_call_id")
	switch kind {
	case "tool_call":
		title := screen.OneLine(rawjson.Str(e, "tool"), 60)
		args := rawjson.Get(e, "args")
		i := v.add(runStep{Lane: "tool", Start: at, Title: title, Line: screen.OneLine(string(args), 120), Text: jsonCode(cut(wire.Indent(args), mostOutput))})
		calls[call] = i
	case "tool_result":
		if i, ok := calls[call]; ok && i >= 0 && v.steps[i].End.IsZero() {
			v.steps[i].End = at
		}
	case "text", "final", "reasoning", "hidden_user_message":
		v.add(runStep{Lane: "event", Start: at, Title: strings.ReplaceAll(kind, "_", " ")}.say(rawjson.Str(e, "content")))
	default:
		v.add(runStep{Lane: "event", Start: at, Title: screen.OneLine(kind, 60), Text: jsonCode(cut(string(e), mostOutput))})
	}
}

func (v *runView) other(body run.Body, at time.Time) {
	switch b := body.(type) {
	case *run.RunStart:
		v.add(runStep{Lane: "event", Start: at, Title: "prompt"}.say(b.Input.Text))
	case *run.RunStatus:
		v.add(runStep{Lane: "status", Start: at, Title: "status: " + screen.OneLine(b.Status, 40)}.say(b.Message))
	case *run.RunContext:
		v.add(runStep{Lane: "status", Start: at, Title: fmt.Sprintf("%.0f %% of the context is left", b.ContextLeftPercent)})
	case *run.RunError:
		v.add(runStep{Lane: "error", Start: at, Failed: true, Title: "error: " + screen.OneLine(b.Error.Name, 60)}.say(b.Error.Message))
	case *run.RunEnd:
		v.add(runStep{Lane: "status", Start: at, Title: "end: " + screen.OneLine(b.Outcome, 40)}.say(b.Final))
	case *run.Opaque:
		v.add(runStep{Lane: "event", Start: at, Title: screen.OneLine(string(b.Name), 60), Text: jsonCode(cut(string(b.JSON), mostOutput))})
	}
}

// outputHTML renders a text, cut to the largest size that a page shows.
func outputHTML(text string) template.HTML {
	short := cut(text, mostOutput)
	h := plain(short)
	if len(short) < len(text) {
		h += template.HTML(`<span class="cut">… ` + wire.Size(int64(len(text)-len(short))) + ` more</span>`)
	}
	return h
}

// recordTime parses the time of a record. It returns the zero time if it is invalid.
func recordTime(ts string) time.Time {
	at, _ := session.Time{Text: `"` + ts + `"`}.Time() // the text of a session.Time is JSON with quotes
	return at
}

// Steps returns the steps in the order of the log.
func (v *runView) Steps() []runStep { return v.steps }

// leastTook is the shortest duration that is shown.
const leastTook = 50 * time.Millisecond

// Took returns the duration of a step, or "".
func (s runStep) Took() string {
	if s.End.IsZero() || s.Start.IsZero() || s.End.Sub(s.Start) < leastTook {
		return ""
	}
	return wire.Took(s.End.Sub(s.Start))
}

// Length returns the duration of the run.
func (v *runView) Length() string {
	if v.Audit.Seconds <= 0 {
		return ""
	}
	return wire.Took(time.Duration(v.Audit.Seconds * float64(time.Second)))
}

// Faults returns the findings that need attention.
func (v *runView) Faults() (list []wire.Finding) {
	for _, f := range v.Audit.Findings {
		if !f.Note {
			list = append(list, f)
		}
	}
	return list
}

// SessionLink returns the link to the session of the run.
func (v *runView) SessionLink() string {
	if v.Key == "" {
		return ""
	}
	return v.site.Link("s", v.Key)
}

// The dimensions of the timeline.
const (
	laneHeight  = 22
	laneTop     = 8
	tokenHeight = 54
)

var lanes = []struct{ lane, title string }{{"request", "requests"}, {"tool", "tools"}, {"event", "events"}, {"status", "status"}}

// Timeline draws the steps over time, and below them the tokens of each response. It consists of numbers, fixed words, and titles, which
// are escaped.
func (v *runView) Timeline() template.HTML {
	length := v.end.Sub(v.start)
	if len(v.steps) == 0 || v.start.IsZero() || length <= 0 {
		return ""
	}
	const left, right = 64, chart.Width - 6
	x := func(t time.Time) float64 {
		return left + float64(right-left)*float64(t.Sub(v.start))/float64(length)
	}
	height := laneTop + len(lanes)*laneHeight + tokenHeight + 24
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg class="line" viewBox="0 0 %d %d" role="img" aria-label="timeline of the run">`, chart.Width, height)
	row := map[string]int{"error": len(lanes) - 1}
	for i, l := range lanes {
		row[l.lane] = i
		y := laneTop + i*laneHeight
		fmt.Fprintf(&b, `<text x="0" y="%d">%s</text><path class="grid" d="M%d %dH%d"/>`, y+15, l.title, left, y+laneHeight, right)
	}
	base := laneTop + len(lanes)*laneHeight + tokenHeight
	fmt.Fprintf(&b, `<text x="0" y="%d">tokens</text><path class="grid" d="M%d %dH%d"/>`, base-4, left, base, right)
	most := int64(1)
	for _, s := range v.steps {
		if s.Usage != nil {
			most = max(most, s.Usage.Total)
		}
	}
	for _, s := range v.steps {
		if s.Start.IsZero() {
			continue
		}
		end := s.End
		if end.IsZero() || end.Before(s.Start) {
			end = s.Start
		}
		width := max(x(end)-x(s.Start), 2.5)
		class := s.Lane
		if s.Failed {
			class = "error"
		}
		title := template.HTMLEscapeString(screen.OneLine(strings.TrimSpace(s.Title+" "+s.Took()), 120))
		fmt.Fprintf(&b, `<rect class="l-%s" x="%.1f" y="%d" width="%.1f" height="12" rx="2"><title>%s</title></rect>`,
			class, x(s.Start), laneTop+row[s.Lane]*laneHeight+5, width, title)
		if u := s.Usage; u != nil && u.Total > 0 {
			h := max(float64(u.Total)/float64(most)*(tokenHeight-10), 1)
			fmt.Fprintf(&b, `<rect class="l-tokens" x="%.1f" y="%.1f" width="5" height="%.1f"><title>%s tokens</title></rect>`, x(end)-5, float64(base)-h, h, wire.Number(u.Total))
		}
	}
	for i := range 6 {
		at := length * time.Duration(i) / 5
		anchor := "middle"
		switch i {
		case 0:
			anchor = "start"
		case 5:
			anchor = "end"
		}
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="%s">%s</text>`, x(v.start.Add(at)), height-6, anchor, wire.Took(at))
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}
