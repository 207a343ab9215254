package wire

import (
	"encoding/json"

	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/runs"
)

// Run is a run in a list. outcome is null for a run that crashed or is still going on. session and model are absent
// where the header has none.
type Run struct {
	ID       string  `json:"id"`
	Session  string  `json:"session,omitempty"`
	Path     string  `json:"path"`
	Started  string  `json:"started"`
	CWD      string  `json:"cwd"`
	Model    string  `json:"model,omitempty"`
	Prompt   string  `json:"prompt"`
	Outcome  *string `json:"outcome"`
	Size     int64   `json:"size"`
	Modified string  `json:"modified"`
}

// NewRun gives the row of a list.
func NewRun(r runs.Row) Run {
	j := Run{
		ID: r.Header.RunID, Session: r.Header.SessionID, Path: r.Path, Started: r.Header.StartedAt, CWD: r.CWD(), Prompt: r.Prompt,
		Outcome: optional(r.Outcome), Size: r.Log.Size, Modified: UTC(r.Log.Time),
	}
	if r.Header.Model != nil {
		j.Model = r.Header.Model.Name
	}
	return j
}

// Recording is a run that is being recorded. session is absent where it belongs to none.
type Recording struct {
	Run     string `json:"run"`
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

// NewReceipt acknowledges the record on a line of the input.
func NewReceipt(line int, w run.Written) Receipt {
	j := Receipt{Line: line, OK: true, Type: string(w.Type)}
	if w.HasSeq {
		j.Seq = &w.Seq
	}
	return j
}

// Exchange is a request to the model and the response to it, both byte for byte as recorded. response is null where
// there is none.
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

// NewRunDiff gives the comparison of two runs by their ids.
func NewRunDiff(a, b string, steps []run.Step) RunDiff {
	j := RunDiff{A: a, B: b, Equal: true, Steps: steps}
	if first, differ := run.FirstDifference(steps); differ {
		j.Equal, j.First = false, &first
	}
	return j
}
