package server

import (
	"bytes"
	"slices"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/page"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/server/view"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/wire"
)

// runsMost is the largest number of runs that a page lists.
const runsMost = 200

func runsPage(r *request) error {
	q := r.URL.Query()
	return r.html(func(b *bytes.Buffer) error {
		p := page.RunsPage{Session: q.Get("session"), CWD: q.Get("cwd")}
		list, err := r.runRows(treeline.RunPageOptions{Session: session.ID(p.Session), CWD: p.CWD}, runsMost)
		if err != nil {
			return err
		}
		if p.Total, p.Problems = page.Uncounted, list.problems; list.total != nil {
			p.Total = *list.total
		}
		l, err := r.listOf(sessionsOf(list.rows...))
		if err != nil {
			return err
		}
		for i := range list.rows {
			p.Rows = append(p.Rows, runRow(l, &list.rows[i]))
		}
		return r.s.site.Runs(b, p)
	})
}

// sessionsOf returns the keys of the sessions of runs.
func sessionsOf(rows ...treeline.RunRow) (k find.Keys) {
	for i := range rows {
		if id := session.ID(rows[i].Header.SessionID); id != "" && !slices.Contains(k.IDs, id) {
			k.IDs = append(k.IDs, id)
		}
	}
	return k
}

func runRow(l *view.List, row *treeline.RunRow) page.RunRow {
	return page.RunRow{Run: wire.NewRun(*row), When: row.When(), Key: l.KeyByID(session.ID(row.Header.SessionID))}
}

// oneRunPage shows a run.
func oneRunPage(r *request) error {
	return r.html(func(b *bytes.Buffer) error {
		row, err := r.findRun(r.PathValue("run"))
		if err != nil {
			return err
		}
		l, err := r.listOf(sessionsOf(*row))
		if err != nil {
			return err
		}
		log, err := r.openRow(row)
		if err != nil {
			return err
		}
		defer log.Close()
		report, err := run.Audit(log.Log)
		if err != nil {
			return err
		}
		return r.s.site.Run(b, page.RunPage{RunRow: runRow(l, row), Audit: wire.NewAudit(report), Log: log.Log})
	})
}

// runsOf returns the runs of a session that the client may see.
func (r *request) runsOf(id session.ID) (list []treeline.RunRow, err error) {
	if id == "" {
		return nil, nil
	}
	if r.paged() {
		found, err := r.runRows(treeline.RunPageOptions{Session: id}, runsMost)
		return found.rows, err
	}
	rows, err := r.s.recent.Get(r.Context(), r.s.store, r.s.opt.Clock)
	for i := range rows {
		if rows[i].Header.SessionID == string(id) && r.grant.Allows(rows[i].CWD()) {
			list = append(list, rows[i])
		}
	}
	return list, err
}
