package server

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/page"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/server/view"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/wire"
)

// runsMost is how many runs a page lists.
const runsMost = 200

func runsPage(r *request) error {
	q := r.URL.Query()
	return r.html(func(b *bytes.Buffer) error {
		p := page.RunsPage{Session: q.Get("session"), CWD: q.Get("cwd")}
		rows, problems, err := r.runRows(treeline.RunListOptions{Session: session.ID(p.Session), CWD: p.CWD})
		if err != nil {
			return err
		}
		p.Total, p.Problems = len(rows), problems
		rows = rows[:min(len(rows), runsMost)]
		l, err := r.listOf(sessionsOf(rows...))
		if err != nil {
			return err
		}
		for i := range rows {
			p.Rows = append(p.Rows, runRow(l, &rows[i]))
		}
		return r.s.site.Runs(b, p)
	})
}

// sessionsOf names the sessions of runs.
func sessionsOf(rows ...treeline.RunRow) (k find.Keys) {
	for i := range rows {
		if id := session.ID(rows[i].Header.SessionID); id != "" && !slices.Contains(k.IDs, id) {
			k.IDs = append(k.IDs, id)
		}
	}
	return k
}

func runRow(l *view.List, row *treeline.RunRow) page.RunRow {
	return page.RunRow{Run: wire.NewRun(*row), When: runCursor(row).When, Key: l.KeyByID(session.ID(row.Header.SessionID))}
}

// oneRunPage shows one run.
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
		log, err := r.s.store.OpenRun(r.Context(), row.Path)
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

// recent are the runs as they were listed a moment ago: a page of a session only shows which there are.
type recent struct {
	mu   sync.Mutex
	at   time.Time
	rows []treeline.RunRow
}

const recentTime = 5 * time.Second

func (c *recent) get(ctx context.Context, s *Server) ([]treeline.RunRow, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := s.opt.Clock()
	if !c.at.IsZero() && now.Sub(c.at) < recentTime {
		return c.rows, nil
	}
	rows, err := s.store.Runs(ctx, treeline.RunListOptions{Problem: func(error) {}})
	if err != nil {
		return nil, err
	}
	c.rows, c.at = slices.DeleteFunc(rows, func(r treeline.RunRow) bool { return r.Err != nil }), now
	return c.rows, nil
}
