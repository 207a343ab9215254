package server

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/runs"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/wire"
)

type runsParams struct {
	Of  session.ID `query:"session" json:"-" doc:"only runs of the session with that id"`
	CWD string     `query:"cwd" json:"-" doc:"only runs of that directory"`
	pageParams
}

// runRows lists runs in the order of pages.
func (r *request) runRows(opt treeline.RunListOptions) (good []treeline.RunRow, problems []string, err error) {
	problems = []string{}
	opt.Problem = func(err error) {
		if !r.grant.Limited() { // what cannot be read belongs to no project
			problems = append(problems, err.Error())
		}
	}
	rows, err := r.s.store.Runs(r.Context(), opt)
	for _, row := range rows {
		switch {
		case row.Err != nil && r.grant.Limited(), !r.grant.Allows(row.CWD()):
			continue
		case row.Err != nil:
			problems = append(problems, row.Path+": "+row.Err.Error())
			continue
		}
		good = append(good, row)
	}
	sorting.By(good, func(a, b treeline.RunRow) int { return runCursor(&a).Compare(runCursor(&b)) })
	return good, problems, err
}

func runCursor(r *treeline.RunRow) wire.Cursor {
	if r.Started.IsZero() {
		return wire.Cursor{When: r.Log.Time, Path: r.Path}
	}
	return wire.Cursor{When: r.Started, Path: r.Path}
}

func listRuns(r *request, p runsParams) (page runPage, err error) {
	n, err := p.size()
	if err != nil {
		return page, err
	}
	rows, problems, err := r.runRows(treeline.RunListOptions{Session: p.Of, CWD: p.CWD})
	if err != nil {
		return page, err
	}
	part, next, err := cut(rows, runCursor, n, p.Cursor)
	page = runPage{Runs: make([]wire.Run, len(part)), Next: next, Total: len(rows), Problems: problems}
	for i := range part {
		page.Runs[i] = wire.NewRun(part[i])
	}
	return page, err
}

type runParams struct {
	Run string `path:"run" json:"-" doc:"the id of a run"`
}

// findRun finds a run by its whole id. Like sessions, runs are found in a list and never by a path.
func (r *request) findRun(id string) (*treeline.RunRow, error) {
	rows, _, err := r.runRows(treeline.RunListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range rows {
		if rows[i].Header.RunID == id {
			return &rows[i], nil
		}
	}
	return nil, fmt.Errorf("%w: %.80q", runs.ErrNoRun, id)
}

func (r *request) openRun(id string) (*treeline.Run, error) {
	row, err := r.findRun(id)
	if err != nil {
		return nil, err
	}
	return r.s.store.OpenRun(r.Context(), row.Path)
}

func getRun(r *request, p runParams) (wire.Audit, error) {
	log, err := r.openRun(p.Run)
	if err != nil {
		return wire.Audit{}, err
	}
	defer log.Close()
	report, err := run.Audit(log.Log)
	if err != nil {
		return wire.Audit{}, err
	}
	return wire.NewAudit(report), nil
}

type recordsParams struct {
	runParams
	pageParams
}

// listRecords gives a part of a run log. The cursor counts records: a log only grows.
func listRecords(r *request, p recordsParams) (page recordPage, err error) {
	n, err := p.size()
	if err != nil {
		return page, err
	}
	from := 0
	if p.Cursor != "" {
		if from, err = strconv.Atoi(p.Cursor); err != nil || from < 0 {
			return page, badCursor()
		}
	}
	log, err := r.openRun(p.Run)
	if err != nil {
		return page, err
	}
	defer log.Close()
	_, ended := log.End()
	page = recordPage{Run: p.Run, Header: wire.Verbatim(log.HeaderRaw), Records: []json.RawMessage{}, Total: log.Len(), Ended: ended, Problems: []string{}}
	for _, p := range log.Problems() {
		page.Problems = append(page.Problems, p.String())
	}
	size := 0
	from = min(from, log.Len())
	for to := min(from+n, log.Len()); from < to && size < partsMost; from++ {
		record, err := log.At(from).Raw()
		if err != nil {
			return page, err
		}
		size += len(record)
		page.Records = append(page.Records, wire.Verbatim(record))
	}
	if from < log.Len() {
		next := strconv.Itoa(from)
		page.Next = &next
	}
	return page, nil
}
