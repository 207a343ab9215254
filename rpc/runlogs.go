package rpc

import (
	"encoding/json"
	"strconv"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/wire"
)

type listRunsParams struct {
	SessionID session.ID `json:"sessionId" doc:"only runs of that session"`
	CWD       string     `json:"cwd" doc:"only runs of that directory"`
	Limit     *int       `json:"limit" doc:"the maximum number of runs, up to 1000; the default is 100"`
	Cursor    string     `json:"cursor" doc:"next of the previous page"`
}

// runPage is a page of the list of runs. Problems say what could not be read.
type runPage struct {
	Runs     []wire.Run `json:"runs"`
	Next     *string    `json:"next"`
	Total    int        `json:"total"`
	Problems []string   `json:"problems"`
}

func listRuns(c *call, p listRunsParams) (runPage, error) {
	result := runPage{Runs: []wire.Run{}, Problems: []string{}}
	n, err := limit(p.Limit, 100)
	if err != nil {
		return result, err
	}
	opt := treeline.RunListOptions{Session: p.SessionID, Problem: func(err error) { result.Problems = append(result.Problems, err.Error()) }}
	if opt.CWD, err = directory(p.CWD); err != nil {
		return result, err
	}
	rows, err := c.store.Runs(c.outer, opt)
	if err != nil {
		return result, err
	}
	var good []treeline.RunRow
	for _, r := range rows {
		if r.Err != nil {
			result.Problems = append(result.Problems, r.Path+": "+r.Err.Error())
			continue
		}
		good = append(good, r)
	}
	part, next, err := pageOf(good, wire.RunCursor, n, p.Cursor)
	for _, r := range part {
		result.Runs = append(result.Runs, wire.NewRun(*r))
	}
	result.Next, result.Total = next, len(good)
	return result, err
}

type runRefParams struct {
	Ref *string `json:"ref" need:"" doc:"a run: its path, its id or the beginning of it (also agent:id), or @last"`
}

// locateRun returns the path of a run.
func (c *call) locateRun(ref string) (string, error) {
	if isPath(ref) || ref == "" {
		return c.locate(ref)
	}
	row, err := c.store.FindRun(c.outer, ref)
	return row.Path, err
}

type readRunParams struct {
	runRefParams
	Limit  *int   `json:"limit" doc:"the maximum number of records, up to 1000; the default is 100"`
	Cursor string `json:"cursor" doc:"next of the previous page"`
}

// runRecords is a part of a run log, byte for byte as recorded.
type runRecords struct {
	Path    string            `json:"path"`
	Header  json.RawMessage   `json:"header"`
	Records []json.RawMessage `json:"records"`
	// Next is null at the end of the log. Ended reports whether the log has a run.end; if not, the run crashed or is still in progress.
	Next     *string  `json:"next"`
	Total    int      `json:"total"`
	Ended    bool     `json:"ended"`
	Problems []string `json:"problems"`
}

// readRun reads the records of a run. The cursor is a number of records, since a log only grows.
func readRun(c *call, p readRunParams) (raw[runRecords], error) {
	n, err := limit(p.Limit, 100)
	if err != nil {
		return nil, err
	}
	from := 0
	if p.Cursor != "" {
		if from, err = strconv.Atoi(p.Cursor); err != nil || from < 0 {
			return nil, badParams(`parameter "cursor": it is not one that a page gave`)
		}
	}
	path, err := c.locateRun(*p.Ref)
	if err != nil {
		return nil, err
	}
	r, err := c.store.OpenRun(c.outer, path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	from = min(from, r.Len())
	to := min(from+n, r.Len())
	_, ended := r.End()
	next, problems := null, []string{}
	if to < r.Len() {
		next = quote(strconv.Itoa(to))
	}
	for _, p := range r.Problems() {
		problems = append(problems, p.String())
	}
	list := make([][]byte, 0, to-from)
	for i := from; i < to; i++ {
		record, err := r.At(i).Raw()
		if err != nil {
			return nil, err
		}
		list = append(list, record)
	}
	// The records are passed on byte for byte, which encoding/json would not do.
	head, err := encode(struct {
		Path     string   `json:"path"`
		Total    int      `json:"total"`
		Ended    bool     `json:"ended"`
		Problems []string `json:"problems"`
	}{path, r.Len(), ended, problems})
	if err != nil {
		return nil, err
	}
	text := append(head[:len(head)-1], `,"header":`...)
	text = append(append(text, r.HeaderRaw...), `,"records":`...)
	text = append(append(text, array(list)...), `,"next":`...)
	return append(append(text, next...), '}'), nil
}

// continueRun continues a recording that was interrupted. It refuses a run that has ended.
func continueRun(c *call, p runRefParams) (recording, error) {
	path, err := c.locateRun(*p.Ref)
	if err != nil {
		return recording{}, err
	}
	return c.keepRun(c.store.ContinueRun(c.ctx, path, c.writeRun()))
}
