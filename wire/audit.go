package wire

import "github.com/treeline-dev/treeline/run"

// Audit is the audit of a run. session is absent where the run belongs to none. seconds are those from the first known time
// to the last.
type Audit struct {
	ID          string        `json:"id"`
	Session     string        `json:"session,omitempty"`
	Outcome     string        `json:"outcome"`
	Records     int           `json:"records"`
	Requests    int           `json:"requests"`
	Responses   int           `json:"responses"`
	Events      int           `json:"events"`
	ToolCalls   int           `json:"toolCalls"`
	ToolOutputs int           `json:"toolOutputs"`
	ToolErrors  int           `json:"toolErrors"`
	Compactions int           `json:"compactions"`
	Seconds     float64       `json:"seconds"`
	Tokens      RunTokens     `json:"tokens"`
	Models      []ModelTokens `json:"models"`
	Findings    []Finding     `json:"findings"`
	Problems    []run.Problem `json:"problems"`
}

// RunTokens are Tokens with those of images, which are among the input.
type RunTokens struct {
	Tokens
	Image int64 `json:"image"`
}

// ModelTokens is what the responses of one model used.
type ModelTokens struct {
	Model     string    `json:"model"`
	Responses int       `json:"responses"`
	Tokens    RunTokens `json:"tokens"`
}

// Finding is something that an audit found. line is 0 for the whole run. note is present for what is worth knowing but not
// a fault.
type Finding struct {
	Kind    run.FindingKind `json:"kind"`
	Line    int             `json:"line"`
	Note    bool            `json:"note,omitempty"`
	Message string          `json:"message"`
}

// NewAudit returns the audit of a run.
func NewAudit(r *run.Report) Audit {
	j := Audit{
		ID: r.RunID, Session: r.SessionID, Outcome: r.Outcome, Records: r.Records, Requests: r.Requests, Responses: r.Responses,
		Events: r.Events, ToolCalls: r.ToolCalls, ToolOutputs: r.ToolOutputs, ToolErrors: r.ToolErrors, Compactions: r.Compactions,
		Seconds: r.Seconds, Tokens: newRunTokens(r.Tokens), Models: []ModelTokens{}, Findings: []Finding{}, Problems: append([]run.Problem{}, r.Problems...),
	}
	for _, t := range r.Models {
		j.Models = append(j.Models, ModelTokens{t.Model, t.Responses, newRunTokens(t)})
	}
	for _, f := range r.Findings {
		j.Findings = append(j.Findings, Finding(f))
	}
	return j
}

func newRunTokens(t run.Tokens) RunTokens {
	return RunTokens{Tokens{Input: t.Input, Output: t.Output, CacheRead: t.Cached, CacheWrite: t.CacheCreation, Total: t.Total}, t.Image}
}

// Endpoint is where a replay or a server answers.
type Endpoint struct {
	URL string `json:"url"`
}

// Served is a request that a replay answered. difference is null if it is as recorded; error is absent without one.
type Served struct {
	Seq        int64           `json:"seq"`
	Difference *run.Difference `json:"difference"`
	Error      string          `json:"error,omitempty"`
}

// Replayed says how far a replay got: how many requests were recorded, how many were served, and how many differed.
type Replayed struct {
	Requests int `json:"requests"`
	Served   int `json:"served"`
	Differed int `json:"differed"`
}
