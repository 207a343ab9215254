package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/internal/sorting"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/runs"
	"github.com/treeline-dev/treeline/server/view"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/wire"
)

type runsParams struct {
	Of  session.ID `query:"session" json:"-" doc:"only runs of the session with that id"`
	CWD string     `query:"cwd" json:"-" doc:"only runs of that directory"`
	pageParams
}

// runList is a page of the runs that the client may see, in the order of pages.
type runList struct {
	rows     []treeline.RunRow
	next     *string
	total    *int // nil: too many to count
	problems []string
}

// runRows lists at most n runs; 0 means all. In an archive with an index of its own, it looks at no others.
func (r *request) runRows(opt treeline.RunPageOptions, n int) (list runList, err error) {
	list.problems = []string{}
	if r.paged() {
		opt.Limit, opt.TotalMost, opt.Project = n, view.TotalMost, r.archive().May()
		page, err := r.s.store.RunPage(r.Context(), opt)
		if errors.Is(err, find.ErrCursor) {
			err = badCursor()
		}
		list.rows = r.goodRuns(page.Rows, &list.problems)
		if page.Next != "" {
			list.next = &page.Next
		}
		if page.Total >= 0 {
			list.total = &page.Total
		}
		return list, err
	}
	rows, err := r.s.store.Runs(r.Context(), treeline.RunListOptions{Session: opt.Session, CWD: opt.CWD, Problem: func(err error) {
		if !r.grant.Limited() { // a log that cannot be read has no known project
			list.problems = append(list.problems, err.Error())
		}
	}})
	if err != nil {
		return list, err
	}
	rows = r.goodRuns(rows, &list.problems)
	sorting.By(rows, func(a, b treeline.RunRow) int { return wire.RunCursor(&a).Compare(wire.RunCursor(&b)) })
	total := len(rows)
	list.total, list.rows = &total, rows
	if n > 0 {
		if list.rows, list.next, err = wire.PageOfSorted(rows, wire.RunCursor, n, opt.After); err != nil {
			err = badCursor()
		}
	}
	return list, err
}

// goodRuns returns the runs that can be read and that the client may see. It adds the errors of the others to problems.
func (r *request) goodRuns(rows []treeline.RunRow, problems *[]string) (good []treeline.RunRow) {
	for _, row := range rows {
		switch {
		case row.Err != nil && r.grant.Limited(), !r.grant.Allows(row.CWD()):
		case row.Err != nil:
			*problems = append(*problems, row.Path+": "+row.Err.Error())
		default:
			good = append(good, row)
		}
	}
	return good
}

func listRuns(r *request, p runsParams) (page runPage, err error) {
	n, err := p.size()
	if err != nil {
		return page, err
	}
	list, err := r.runRows(treeline.RunPageOptions{Session: p.Of, CWD: p.CWD, After: p.Cursor}, n)
	page = runPage{Runs: make([]wire.Run, len(list.rows)), Next: list.next, Total: list.total, Problems: list.problems}
	for i := range list.rows {
		page.Runs[i] = wire.NewRun(list.rows[i])
	}
	return page, err
}

type runParams struct {
	Run string `path:"run" json:"-" doc:"the id of a run"`
}

// findRun returns the run with an id, which must be complete. Like sessions, runs are found in a list and never by a path.
func (r *request) findRun(id string) (*treeline.RunRow, error) {
	list, err := r.runRows(treeline.RunPageOptions{Prefixes: []string{id}}, 0)
	if err != nil {
		return nil, err
	}
	for i := range list.rows {
		if list.rows[i].Header.RunID == id {
			return &list.rows[i], nil
		}
	}
	return nil, fmt.Errorf("%w: %.80q", runs.ErrNoRun, id)
}

func (r *request) openRun(id string) (*treeline.Run, error) {
	row, err := r.findRun(id)
	if err != nil {
		return nil, err
	}
	return r.openRow(row)
}

// openRow opens the run of a row. It refuses one that has become a run of another project since the list was read.
func (r *request) openRow(row *treeline.RunRow) (*treeline.Run, error) {
	log, err := r.s.store.OpenRun(r.Context(), row.Path)
	if err != nil {
		return nil, err
	}
	if !r.grant.Allows(log.Header.WorkDir()) {
		return nil, errors.Join(fmt.Errorf("%w: %.80q", runs.ErrNoRun, row.Header.RunID), log.Close())
	}
	return log, nil
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

// listRecords returns a page of a run log. The cursor is a number of records, since a log only grows.
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
