package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/find"
	"github.com/treeline-dev/treeline/page"
	"github.com/treeline-dev/treeline/run"
	"github.com/treeline-dev/treeline/server/view"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/usage"
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

// usageParamsOf turns the query of a page into parameters of the API. Without a time it is the last month.
func usageParamsOf(q page.UsageQuery) usageParams {
	p := usageParams{Source: q.Source, CWD: q.CWD, Model: q.Model, spanParams: spanParams{cmp.Or(q.Since, "30d"), q.Until}}
	if q.Since == "all" {
		p.Since = ""
	}
	return p
}

func usagePage(r *request) error {
	q := page.ParseUsageQuery(r.URL.Query())
	l, err := r.listing()
	if err != nil {
		return err
	}
	if r.unchanged(fmt.Sprintf("%s-%d", r.s.listTag(l, r), r.minute())) {
		return errNotModified
	}
	return r.html(func(b *bytes.Buffer) error {
		p := usageParamsOf(q)
		sum, err := r.used(l, p)
		if err != nil {
			return err
		}
		shown := page.UsagePage{Query: q, Stats: wire.NewStats(sum)}
		p.By = []string{string(usage.Day)}
		for _, g := range *shown.Stats.Agents {
			p.Source = g.Name
			days, err := r.used(l, p)
			if err != nil {
				return err
			}
			shown.ByAgent = append(shown.ByAgent, page.Series{Name: g.Name, Days: *wire.NewStats(days).Days})
		}
		return r.s.site.Usage(b, shown)
	})
}

// usageCSV gives the numbers of the page for a spreadsheet: one line for each day, model, project and agent.
func usageCSV(r *request) error {
	l, err := r.listing()
	if err != nil {
		return err
	}
	r.w.Header().Set("Content-Disposition", `attachment; filename="usage.csv"`)
	return r.made("text/csv; charset=utf-8", func(b *bytes.Buffer) error {
		sum, err := r.used(l, usageParamsOf(page.ParseUsageQuery(r.URL.Query())))
		if err != nil {
			return err
		}
		w := csv.NewWriter(b)
		_ = w.Write([]string{"by", "name", "sessions", "messages", "input", "output", "cacheRead", "cacheWrite", "total", "cost"})
		add := func(by, name string, a wire.Amount) {
			cost := "" // not recorded
			if a.Cost != 0 {
				cost = strconv.FormatFloat(a.Cost, 'f', -1, 64)
			}
			_ = w.Write([]string{
				by, cell(name), strconv.Itoa(a.Sessions), strconv.Itoa(a.Messages), number(a.Tokens.Input), number(a.Tokens.Output),
				number(a.Tokens.CacheRead), number(a.Tokens.CacheWrite), number(a.Tokens.Total), cost,
			})
		}
		stats := wire.NewStats(sum)
		add("all", "", stats.Amount)
		for _, list := range []struct {
			by     string
			groups *[]wire.Group
		}{{"day", stats.Days}, {"model", stats.Models}, {"project", stats.Projects}, {"agent", stats.Agents}} {
			for _, g := range *list.groups {
				add(list.by, g.Name, g.Amount)
			}
		}
		w.Flush()
		return w.Error()
	})
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// cell keeps a spreadsheet from taking a name for a formula.
func cell(text string) string {
	if text != "" && (text[0] == '=' || text[0] == '+' || text[0] == '-' || text[0] == '@' || text[0] == '\t' || text[0] == '\r') {
		return "'" + text
	}
	return text
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
