package mcp

import (
	"slices"

	"github.com/treeline-dev/treeline"
	"github.com/treeline-dev/treeline/session"
	"github.com/treeline-dev/treeline/usage"
	"github.com/treeline-dev/treeline/wire"
)

type runArgs struct {
	Session string `json:"session" doc:"only runs of the session with this id"`
	Project string `json:"project" doc:"the directory whose runs to use, or \"all\"; default: the current project, or all projects if it has no sessions"`
	pageArgs
}

// runList is a page of the list of runs, the newest first. project is the directory whose runs are listed, null for all.
type runList struct {
	Project  *string    `json:"project"`
	Runs     []wire.Run `json:"runs"`
	Next     *string    `json:"next"`
	Total    int        `json:"total"`
	Problems []string   `json:"problems"`
}

func listRuns(c *call, a runArgs) (result runList, err error) {
	result = runList{Runs: []wire.Run{}, Problems: []string{}}
	space, n, err := a.bounds()
	if err != nil {
		return result, err
	}
	at, err := begin(a.Cursor, digest("runs", a.Session, a.Project))
	if err != nil {
		return result, err
	}
	if a.Cursor == "" && a.Session == "" {
		if at.Dir, err = c.dir(scopeArgs{Project: a.Project}); err != nil {
			return result, err
		}
	}
	if at.Dir != "" {
		result.Project = &at.Dir
	}
	problem := c.tell(&result.Problems)
	rows, err := c.store.Runs(c.ctx, treeline.RunListOptions{Session: session.ID(a.Session), CWD: at.Dir, Problem: problem})
	if err != nil {
		return result, err
	}
	rows = slices.DeleteFunc(rows, func(r treeline.RunRow) bool {
		if r.Err != nil {
			problem(r.Err)
		}
		return r.Err != nil
	})
	result.Total = len(rows)
	part, next, err := wire.PageOf(rows, wire.RunCursor, n, at.After)
	if err != nil {
		return result, err
	}
	for i, r := range part {
		j := wire.NewRun(*r)
		j.Prompt, j.Model = c.line(j.Prompt, promptWidth), c.line(j.Model, titleWidth)
		j.ID, j.Session, j.Path, j.CWD = name(j.ID), name(j.Session), c.where(j.Path), c.where(j.CWD)
		j.Outcome = maybe(j.Outcome)
		ok, err := space.take(j)
		if err != nil {
			return result, err
		}
		if !ok {
			last := wire.RunCursor(part[i-1]).String()
			next = &last
			break
		}
		result.Runs = append(result.Runs, j)
	}
	if next != nil {
		at.After = *next
		result.Next = at.cursor()
	}
	return result, nil
}

type usageArgs struct {
	By string `json:"by" one:"agent model project day" doc:"what to group by; default model. Days are newest first"`
	scopeArgs
	spanArgs
	Model string `json:"model" doc:"only what this model answered: a part of its name"`
	pageArgs
}

// usageSum is the total usage of sessions, and some of the groups. copies counts the logs that were left out because another one has the
// same id.
type usageSum struct {
	Project *string      `json:"project"`
	Sum     wire.Amount  `json:"sum"`
	Copies  int          `json:"copies"`
	By      string       `json:"by"`
	Groups  []wire.Group `json:"groups"`
	Total   int          `json:"total"`
	Next    *string      `json:"next"`
}

func sumUsage(c *call, a usageArgs) (result usageSum, err error) {
	if a.By == "" {
		a.By = string(usage.Model)
	}
	result = usageSum{By: a.By, Groups: []wire.Group{}}
	space, n, err := a.bounds()
	if err != nil {
		return result, err
	}
	at, err := begin(a.Cursor, digest("usage", a.By, a.Project, a.Agent, a.Since, a.Until, a.Model))
	if err != nil {
		return result, err
	}
	if a.Cursor == "" {
		if at.Dir, err = c.dir(a.scopeArgs); err != nil {
			return result, err
		}
	}
	if at.Dir != "" {
		result.Project = &at.Dir
	}
	opt := treeline.StatsOptions{
		Filter: treeline.Filter{Source: a.Agent, CWD: at.Dir, Model: a.Model}, By: []usage.Key{usage.Key(a.By)},
		Refresh: treeline.RefreshOptions{Problem: func(error) {}},
	}
	if opt.Filter.Since, opt.Filter.Until, err = a.parse(c.opt.Clock()); err != nil {
		return result, err
	}
	sum, err := c.store.Stats(c.ctx, opt)
	if err != nil {
		return result, err
	}
	stats := wire.NewStats(sum)
	result.Sum, result.Copies = stats.Amount, stats.Copies
	var groups []wire.Group
	for _, list := range []*[]wire.Group{stats.Agents, stats.Models, stats.Projects, stats.Days} {
		if list != nil {
			groups = *list
		}
	}
	if usage.Key(a.By) == usage.Day {
		slices.Reverse(groups) // the newest first
	}
	result.Total = len(groups)
	groups = groups[min(at.N, len(groups)):]
	for i := range groups[:min(n, len(groups))] {
		groups[i].Name = c.line(groups[i].Name, nameBytes/4)
		ok, err := space.take(groups[i])
		if err != nil {
			return result, err
		}
		if !ok {
			break
		}
		result.Groups = append(result.Groups, groups[i])
	}
	if at.N += len(result.Groups); at.N < result.Total {
		result.Next = at.cursor()
	}
	return result, nil
}
